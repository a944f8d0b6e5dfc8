import { canonicalJson } from "../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";

/**
 * Whether a later read shows what was asked for. Every member that both sides name must be the same, and at least one of
 * them must be a value that the action set rather than a name it was looked up by: a read that merely finds the resource
 * proves nothing about what was done to it.
 */
export function showsExpected(set: JsonObject, keys: JsonObject, shown: JsonValue): boolean {
  if (!isJsonObject(shown)) return false;
  const matches = Object.keys(set).filter((name) => Object.hasOwn(shown, name));
  if (matches.length === 0) return false;
  return (
    matches.every((name) => same(set[name], shown[name])) &&
    Object.keys(keys).every((name) => !Object.hasOwn(shown, name) || same(keys[name], shown[name]))
  );
}

function same(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  return canonicalJson(left) === canonicalJson(right);
}
