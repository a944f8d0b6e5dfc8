import type { Code } from "../../../src/kernel/codes.ts";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { appendPointer, shortenPointer } from "./pointer.ts";

/** Names and their values in the order sent. A name has several values only where the caller allowed a list. */
export type Pairs = ReadonlyMap<string, readonly string[]>;

export interface PairRules {
  readonly malformed: Extract<Code, "form_malformed" | "query_malformed">;
  /** Names that may come more than once. */
  readonly lists: ReadonlySet<string> | "all";
  /** A name may hold brackets: they are part of it and mean nothing else. */
  readonly brackets?: boolean;
}

/** Everything that may stand unescaped in a name or value. `;`, brackets and a second `=` mean different things to different parsers. */
const PLAIN = /^[A-Za-z0-9\-._~!$'()*+,:@/?%]*$/;
const PLAIN_OR_BRACKETS = /^[A-Za-z0-9\-._~!$'()*+,:@/?%[\]]*$/;

/** The form convention, strictly: `name=value` joined by `&`, each escaped once, `+` for a space. */
export function readPairs(text: string, rules: PairRules): Pairs {
  const pairs = new Map<string, string[]>();
  if (text === "") return pairs;
  const pieces = text.split("&", defaults.formFields + 1);
  if (pieces.length > defaults.formFields) throw malformed(rules, `more than ${defaults.formFields} pairs`);
  for (const [index, piece] of pieces.entries()) {
    const equals = piece.indexOf("=");
    if (equals < 1) throw malformed(rules, `pair ${index + 1} has no name or no equals sign`);
    const name = decode(piece.slice(0, equals), index, rules);
    const value = decode(piece.slice(equals + 1), index, rules);
    if (rules.brackets !== true && /[[\]]/.test(name))
      throw malformed(rules, `pair ${index + 1} uses brackets, which have no meaning here`);
    const values = pairs.get(name);
    if (values === undefined) pairs.set(name, [value]);
    else if (rules.lists === "all" || rules.lists.has(name)) values.push(value);
    else {
      const path = shortenPointer(appendPointer("", name));
      const message = "came more than once";
      throw new Denied("repeated_name", `a name ${message}`, { errors: [{ code: "repeated_name", path, message }] });
    }
  }
  return pairs;
}

function decode(raw: string, index: number, rules: PairRules): string {
  if (!(rules.brackets === true ? PLAIN_OR_BRACKETS : PLAIN).test(raw))
    throw malformed(rules, `pair ${index + 1} holds a character that must be escaped`);
  const spaced = raw.replaceAll("+", " ");
  if (!spaced.includes("%")) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    throw malformed(rules, `pair ${index + 1} holds a malformed escape or bytes that are not UTF-8`);
  }
}

function malformed(rules: PairRules, message: string): Denied {
  return new Denied(rules.malformed, message);
}
