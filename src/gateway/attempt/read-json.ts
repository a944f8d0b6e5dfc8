import { isNestedWithin } from "../../../packages/request/src/json/depth.ts";
import { parseJsonValue } from "../../../packages/request/src/json/parse.ts";
import type { Answered } from "../../conventions/outcome/observation.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";

/**
 * The body as strict JSON; null for anything else, and for what would take many times its size. An integer that a double
 * would round is the text of its digits: whoever follows it as an identifier has it whole, and whoever wants a number has none.
 */
export function readJson({ body, withheld }: Answered): JsonValue {
  if (withheld !== null || body.byteLength === 0 || isCostly(body)) return null;
  try {
    return parseJsonValue(body, { longIntegersAsText: true });
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

/** A small one cannot be. What nests and quotes is ASCII, whatever stands between. */
function isCostly(body: Buffer): boolean {
  if (body.byteLength <= defaults.smallAnswerBytes) return false;
  return !isNestedWithin(body.toString("latin1"), defaults.jsonDepth, defaults.jsonContainers);
}
