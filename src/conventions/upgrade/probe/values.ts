import { followPointer } from "../../../../packages/request/src/pointer.ts";
import { isJsonObject, type JsonValue } from "../../../kernel/json.ts";

/** `$name` stands for a value of the account or one taken from an earlier answer; `$$` is a dollar sign. */
export function referencesIn(value: JsonValue): readonly string[] {
  if (typeof value === "string") {
    const name = referenceOf(value);
    return name === undefined ? [] : [name];
  }
  if (Array.isArray(value)) return value.flatMap(referencesIn);
  return isJsonObject(value) ? Object.values(value).flatMap(referencesIn) : [];
}

/** Undefined when a name has no value yet, because the step that should have given it did not. */
export function fillValue(value: JsonValue, values: ReadonlyMap<string, string>): JsonValue | undefined {
  if (typeof value === "string") {
    const name = referenceOf(value);
    if (name !== undefined) return values.get(name);
    return value.startsWith("$$") ? value.slice(1) : value;
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => fillValue(item, values));
    return items.includes(undefined) ? undefined : (items as JsonValue[]);
  }
  if (!isJsonObject(value)) return value;
  const members: Record<string, JsonValue> = Object.create(null);
  for (const [name, member] of Object.entries(value)) {
    const filled = fillValue(member, values);
    if (filled === undefined) return undefined;
    members[name] = filled;
  }
  return members;
}

/** RFC 6901 into an answer; a number is as good an identifier as a text. */
export function valueAt(body: JsonValue | undefined, pointer: string): string | undefined {
  const node = followPointer(body, pointer);
  return typeof node === "string" || typeof node === "number" ? String(node) : undefined;
}

function referenceOf(text: string): string | undefined {
  return /^\$[a-z][a-z0-9_]{0,63}$/.test(text) ? text.slice(1) : undefined;
}
