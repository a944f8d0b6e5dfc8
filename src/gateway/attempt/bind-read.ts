import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { bindDefinition } from "../outbound/admit.ts";
import type { Definition, Outbound } from "../outbound/outbound.ts";

/** A read bound by name from what is known; null where a required input is not known. */
export function bindRead(reader: Definition, known: JsonObject): Outbound | null {
  const input: Record<string, JsonValue> = {};
  for (const { name, optional, constant } of reader.action.inputs) {
    if (constant !== undefined) continue;
    const value = known[name];
    if (value !== undefined) input[name] = value;
    else if (!optional) return null;
  }
  return bindDefinition(reader, input);
}
