import { compileSchema } from "../../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../../packages/request/src/schema-type.ts";
import { list, object, text, textOrNull } from "../../../../packages/request/src/shape.ts";
import { approvalStates } from "../../../conventions/approval/state.ts";
import type { JsonObject } from "../../../kernel/json.ts";

const ending = object({
  approval_id: text,
  state: { enum: approvalStates.filter((state) => state !== "pending") },
  decided_by: textOrNull,
  reason: textOrNull,
});
export type Ending = FromSchema<typeof ending>;

const check = compileSchema(object({ endings: list(ending) }));

/** How questions of a gateway ended, as it sealed that. Undefined for anything else: it may be owned by somebody. */
export function readEndings(content: JsonObject): readonly Ending[] | undefined {
  return check(content).length === 0 ? (content["endings"] as unknown as readonly Ending[]) : undefined;
}
