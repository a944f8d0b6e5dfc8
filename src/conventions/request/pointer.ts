import { defaults } from "../../kernel/defaults.ts";
import type { JsonValue } from "../../kernel/json.ts";

/** RFC 6901: one more reference token. Most names need no escaping, so look before replacing. */
export function appendPointer(path: string, name: string): string {
  if (!name.includes("~") && !name.includes("/")) return `${path}/${name}`;
  return `${path}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/** RFC 6901: the member that a pointer names; undefined where there is none. An inherited name is no member. */
export function followPointer(value: JsonValue, pointer: string): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const token of pointer.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, JsonValue>>)[name];
  }
  return found;
}

/** A pointer into hostile input goes back to its sender: bounded, and marked where it was cut. */
export function shortenPointer(path: string): string {
  return path.length <= defaults.schemaFindingPathLength ? path : `${path.slice(0, defaults.schemaFindingPathLength)}…`;
}
