import { compileSchema } from "../../../../packages/request/src/schema.ts";
import { count, object } from "../../../../packages/request/src/shape.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { type SessionRecord, sessionsAnswer } from "../../operator/answers.ts";

const check = compileSchema(object({ sessions: sessionsAnswer, live: count }));

/** The sessions that a gateway sealed. Undefined for anything else: it may be owned by somebody. */
export function readSessions(content: JsonObject): readonly SessionRecord[] | undefined {
  return check(content).length === 0 ? (content["sessions"] as unknown as readonly SessionRecord[]) : undefined;
}
