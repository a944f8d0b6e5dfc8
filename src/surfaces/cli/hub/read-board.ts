import { compileSchema } from "../../../../packages/request/src/schema.ts";
import { count, object } from "../../../../packages/request/src/shape.ts";
import { renderOperation, renderShortly } from "../../../conventions/operation/render.ts";
import type { OperationDetail } from "../../../conventions/operation/summary.ts";
import { readId } from "../../../kernel/ids.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { operationsAnswer } from "../../operator/answers.ts";

export type BoardedOperation = OperationDetail;

const check = compileSchema(object({ operations: operationsAnswer, open: count }));

/** The operations that a gateway sealed, as ones that can be shown. Undefined for anything else: it may be owned by somebody. */
export function readBoard(content: JsonObject): readonly BoardedOperation[] | undefined {
  if (check(content).length > 0) return undefined;
  const found = content["operations"] as unknown as readonly BoardedOperation[];
  if (!found.every(({ operation_id }) => readId("op", operation_id))) return undefined;
  try {
    for (const one of found) {
      renderOperation(one);
      renderShortly(one);
    }
    return found;
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}
