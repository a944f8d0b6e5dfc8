import { isJsonObject, type JsonValue } from "../../kernel/json.ts";
import type { PlainValue } from "./request.ts";

/**
 * What a field of an operation may hold, said as an allow-list: one of some words, a text over named ASCII characters,
 * a whole number in a range, or a switch. There are no patterns, so there is nothing to get wrong in one.
 */
export type FieldGrammar =
  | { readonly kind: "one_of"; readonly words: readonly string[] }
  | {
      readonly kind: "text";
      readonly first: ReadonlySet<string>;
      readonly rest: ReadonlySet<string>;
      readonly max: number;
    }
  | { readonly kind: "integer"; readonly min: number; readonly max: number }
  | { readonly kind: "boolean" };

const TEXT_MAX = 1_024;

/** The argument that a value becomes, or undefined when the grammar does not allow it. */
export function admitField(grammar: FieldGrammar, value: PlainValue): string | undefined {
  switch (grammar.kind) {
    case "one_of":
      return typeof value === "string" && grammar.words.includes(value) ? value : undefined;
    case "text":
      return typeof value === "string" && isAllowedText(grammar, value) ? value : undefined;
    case "integer":
      return typeof value === "number" && value >= grammar.min && value <= grammar.max ? String(value) : undefined;
    case "boolean":
      return typeof value === "boolean" ? String(value) : undefined;
  }
}

/** Reads one entry of a manifest's `fields`; undefined when it is not one of the four kinds, to the letter. */
export function readFieldGrammar(value: JsonValue): FieldGrammar | undefined {
  if (!isJsonObject(value)) return undefined;
  const names = Object.keys(value).sort().join(" ");
  switch (names) {
    case "one_of": {
      const words = value["one_of"];
      if (!Array.isArray(words) || words.length === 0) return undefined;
      return words.every(isPlainWord) ? { kind: "one_of", words } : undefined;
    }
    case "characters first max":
    case "characters max": {
      const rest = readCharacters(value["characters"]);
      const first = value["first"] === undefined ? rest : readCharacters(value["first"]);
      const { max } = value;
      if (rest === undefined || first === undefined || !isWhole(max, 1, TEXT_MAX)) return undefined;
      return { kind: "text", first, rest, max };
    }
    case "max min": {
      const { min, max } = value;
      // A negative number would begin with a dash.
      if (!isWhole(min, 0, Number.MAX_SAFE_INTEGER) || !isWhole(max, min, Number.MAX_SAFE_INTEGER)) return undefined;
      return { kind: "integer", min, max };
    }
    case "boolean":
      return value["boolean"] === true ? { kind: "boolean" } : undefined;
    default:
      return undefined;
  }
}

// A dash in front would be an option and two dots could leave a folder, whatever characters the manifest allows.
function isAllowedText(grammar: FieldGrammar & { readonly kind: "text" }, value: string): boolean {
  if (value.length === 0 || value.length > grammar.max || value.startsWith("-") || value.includes("..")) return false;
  for (let at = 0; at < value.length; at++) {
    if (!(at === 0 ? grammar.first : grammar.rest).has(value.charAt(at))) return false;
  }
  return true;
}

/** `a-z0-9._`: ranges within lower case, upper case or digits, and single visible ASCII characters. */
function readCharacters(value: JsonValue | undefined): ReadonlySet<string> | undefined {
  if (typeof value !== "string" || value.length === 0 || !isVisibleAscii(value)) return undefined;
  const set = new Set<string>();
  for (let at = 0; at < value.length; at++) {
    const from = value.charAt(at);
    const to = value.charAt(at + 2);
    if (value.charAt(at + 1) !== "-" || to === "") {
      set.add(from);
      continue;
    }
    const family = ["abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"].find((all) =>
      all.includes(from),
    );
    if (family === undefined || !family.includes(to) || from > to) return undefined;
    for (const each of family) if (each >= from && each <= to) set.add(each);
    at += 2;
  }
  return set;
}

function isPlainWord(value: JsonValue): value is string {
  return typeof value === "string" && value.length > 0 && isVisibleAscii(value) && !value.startsWith("-");
}

function isVisibleAscii(text: string): boolean {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) < 0x21 || text.charCodeAt(at) > 0x7e) return false;
  return true;
}

export function isWhole(value: JsonValue | undefined, min: number, max: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
}
