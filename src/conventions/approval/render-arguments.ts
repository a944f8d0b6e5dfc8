import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { nameOf } from "./diff-values.ts";
import { quote } from "./render-line.ts";

/** Every argument, whole: one value a line with its path, and the name it has on the wire where that is another. */
export function argumentLines(input: JsonObject, sentAs: JsonObject): readonly string[] {
  return Object.keys(input).flatMap((name) => {
    const leaves = leavesOf(nameOf(name), input[name] ?? null);
    if (!Object.hasOwn(sentAs, name)) return leaves;
    const wire = `goes out as ${quote(String(sentAs[name]))}`;
    return leaves.length === 1 ? [`${leaves[0]}, ${wire}`] : [...leaves, `${nameOf(name)} ${wire}`];
  });
}

/** One line a value, its whole path before it; nothing is cut, nothing is left out. */
export function leavesOf(path: string, value: JsonValue): readonly string[] {
  if (typeof value === "string") return [`${path} = ${quote(value)}`];
  if (value === null || typeof value !== "object") return [`${path} = ${JSON.stringify(value)}`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${path} = [] (an empty list)`];
    return value.flatMap((one: JsonValue, index) => leavesOf(`${path}[${index}]`, one));
  }
  const members = Object.entries(value as JsonObject);
  if (members.length === 0) return [`${path} = {} (an empty object)`];
  return members.flatMap(([name, one]) => leavesOf(`${path}.${nameOf(name)}`, one));
}
