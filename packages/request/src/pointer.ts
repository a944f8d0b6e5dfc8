import { defaults } from "../../../src/kernel/defaults.ts";
import { isJsonObject, type JsonValue } from "../../../src/kernel/json.ts";

/** RFC 6901: one more reference token. */
export function appendPointer(path: string, name: string): string {
  return `${path}/${writeToken(name)}`;
}

/** RFC 6901: a name as one reference token. Most names need no escaping, so look before replacing. */
export function writeToken(name: string): string {
  if (!name.includes("~") && !name.includes("/")) return name;
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** RFC 6901: the name that one reference token writes. */
export function readToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** RFC 6901: the names that a pointer leads along. */
export function pointerNames(pointer: string): readonly string[] {
  return pointer.split("/").slice(1).map(readToken);
}

/** As `followPointer`, for names that were read before. */
export function followNames(value: JsonValue | undefined, names: readonly string[]): JsonValue | undefined {
  return names.reduce(memberOf, value);
}

/** RFC 6901: the member that a pointer names; undefined where there is none. */
export function followPointer(value: JsonValue | undefined, pointer: string): JsonValue | undefined {
  return followNames(value, pointerNames(pointer));
}

/** One step: an own member of an object, or of a list an element by its plain index. An inherited name is no member. */
export function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (Array.isArray(value)) return INDEX.test(name) ? value[Number(name)] : undefined;
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

const INDEX = /^(?:0|[1-9][0-9]{0,8})$/;

/** A pointer into hostile input goes back to its sender: bounded, and marked where it was cut. */
export function shortenPointer(path: string): string {
  return path.length <= defaults.schemaFindingPathLength ? path : `${path.slice(0, defaults.schemaFindingPathLength)}…`;
}
