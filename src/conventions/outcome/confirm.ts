import { canonicalJson } from "../../kernel/canonical-json.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";

/**
 * Whether a later read shows what was asked for. Every member that both sides name must be the same, and at least one of
 * them must be a value that the action set rather than a name it was looked up by: a read that merely finds the resource
 * proves nothing about what was done to it. The receipt may tell under which other name the provider keeps such a value.
 */
export function showsExpected(set: JsonObject, keys: JsonObject, shown: JsonValue, receipt: JsonValue = null): boolean {
  if (!isJsonObject(shown)) return false;
  const named = [...Object.entries(set), ...Object.entries(keys)].filter(([name]) => Object.hasOwn(shown, name));
  if (!named.every(([name, value]) => same(value, shown[name]))) return false;
  return Object.entries(set).some(([name, value]) => Object.hasOwn(shown, name) || isKeptAs(value, shown, receipt));
}

/** The receipt and the read show the value under one name. Only text that nothing else would be is told apart so. */
function isKeptAs(value: JsonValue, shown: JsonObject, receipt: JsonValue): boolean {
  if (typeof value !== "string" || value.length < MIN_TELLING || !isJsonObject(receipt)) return false;
  return Object.keys(receipt).some((name) => receipt[name] === value && shown[name] === value);
}

const MIN_TELLING = 8;

function same(left: JsonValue | undefined, right: JsonValue | undefined): boolean {
  if (left === undefined || right === undefined) return false;
  return canonicalJson(left) === canonicalJson(right);
}
