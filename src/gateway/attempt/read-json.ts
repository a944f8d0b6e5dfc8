import type { Answered } from "../../conventions/outcome/observation.ts";
import { parseJsonValue } from "../../conventions/request/json/parse.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";

/** The body as strict JSON; null for anything else. */
export function readJson({ body, withheld }: Answered): JsonValue {
  if (withheld !== null || body.byteLength === 0) return null;
  try {
    return parseJsonValue(body);
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}
