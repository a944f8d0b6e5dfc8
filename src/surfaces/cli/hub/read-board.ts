import { renderOperation, renderShortly } from "../../../conventions/operation/render.ts";
import type { OperationDetail } from "../../../conventions/operation/summary.ts";
import { readId } from "../../../kernel/ids.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";

export type BoardedOperation = OperationDetail;

/** The operations that a gateway sealed, as ones that can be shown. Undefined for anything else: it may be owned by somebody. */
export function readBoard({ operations }: JsonObject): readonly BoardedOperation[] | undefined {
  if (!Array.isArray(operations)) return undefined;
  const list = operations.filter((one: JsonValue) => isJsonObject(one) && readId("op", String(one["operation_id"])));
  if (list.length !== operations.length) return undefined;
  const found = list as unknown as readonly BoardedOperation[];
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
