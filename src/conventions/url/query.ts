import { Denied } from "../../kernel/failure.ts";
import { encodeFormComponent, type PercentRule, refuseEncoded } from "./encode.ts";

/** The one serialization of a list: `repeat` writes the name once per element, `comma` joins the elements with commas. */
export type ListStyle = "repeat" | "comma";

export type Scalar = string | number | boolean;

export interface QueryPair {
  readonly name: string;
  readonly value: Scalar | readonly Scalar[];
  readonly percent: PercentRule;
  /** Null for a scalar: a list is then refused rather than repeated. */
  readonly list: ListStyle | null;
}

/** Writes query or form text. A name comes once, and only a declared list gives a name more than one value. */
export function buildQuery(pairs: readonly QueryPair[]): string {
  const seen = new Set<string>();
  const parts: string[] = [];
  for (const pair of pairs) {
    if (seen.has(pair.name)) throw new Denied("parameter_repeated", `the parameter "${pair.name}" was given twice`);
    seen.add(pair.name);
    const name = encodeFormComponent(pair.name);
    for (const value of textsOf(pair)) parts.push(`${name}=${encodeFormComponent(value)}`);
  }
  return parts.join("&");
}

/** Numbers as ECMAScript writes them, booleans as `true` and `false`; what has no text is refused. */
export function scalarText(name: string, value: Scalar): string {
  if (typeof value === "number" && !Number.isFinite(value)) {
    throw new Denied("value_not_allowed", `"${name}" is not a finite number`);
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    throw new Denied(
      "value_not_allowed",
      `"${name}" must be text, a number or a boolean here; null and objects have no form`,
    );
  }
  return typeof value === "string" ? value : String(value);
}

function textsOf(pair: QueryPair): readonly string[] {
  const { name, value, percent, list } = pair;
  if (!isList(value)) return [checked(name, value, percent)];
  if (list === null) throw new Denied("parameter_repeated", `"${name}" takes one value, not a list`);
  if (value.length === 0)
    throw new Denied("value_not_allowed", `"${name}" is an empty list, which a query cannot say; leave it out`);
  const texts = value.map((element) => checked(name, element, percent));
  if (list === "repeat") return texts;
  if (texts.some((text) => text === "" || text.includes(","))) {
    throw new Denied(
      "value_not_allowed",
      `an element of "${name}" is empty or holds a comma, and commas part its elements`,
    );
  }
  return [texts.join(",")];
}

function checked(name: string, value: Scalar, percent: PercentRule): string {
  const text = scalarText(name, value);
  refuseEncoded(name, text, percent);
  return text;
}

function isList(value: Scalar | readonly Scalar[]): value is readonly Scalar[] {
  return Array.isArray(value);
}
