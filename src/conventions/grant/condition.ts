import type { JsonObject, JsonValue } from "../../kernel/json.ts";

/** One bound on one argument, on the value that is bound into the request and never on how the agent wrote it. */
export type Condition =
  | { readonly kind: "one_of"; readonly input: string; readonly values: readonly Scalar[] }
  | { readonly kind: "prefix"; readonly input: string; readonly prefix: string }
  /** From zero up to this. */
  | { readonly kind: "at_most"; readonly input: string; readonly maximum: number };

/** What a person put on the arguments of one action while approving a session. */
export type ActionCondition = Condition & { readonly action: string };

export type Scalar = string | number | boolean;

/** A missing argument, one of another type, and whatever only looks like a value are all excluded. */
export function holds(condition: Condition, input: JsonObject): boolean {
  const value = Object.hasOwn(input, condition.input) ? input[condition.input] : undefined;
  switch (condition.kind) {
    case "one_of":
      return condition.values.some((allowed) => allowed === value);
    case "prefix":
      return typeof value === "string" && value.startsWith(condition.prefix) && staysBelow(value);
    case "at_most":
      return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= condition.maximum;
  }
}

/** A prefix bounds a place only where nothing behind it can climb out again, in any of the ways servers read a path. */
function staysBelow(value: string): boolean {
  if ([...value].some((letter) => letter === "\\" || letter === "%" || letter < " " || letter === "\u007f"))
    return false;
  return value.split("/").every((segment) => segment !== "." && segment !== "..");
}

/** `owner=acme`, `repo in site,docs`, `path^=docs/`, `count<=10`, as a person types it. Null where it is none of them. */
export function readCondition(text: string): Draft | null {
  const found = /^([A-Za-z_][A-Za-z0-9_.-]{0,127})(\^=|<=|=| in )(.{1,1000})$/su.exec(text);
  if (found === null) return null;
  const [, input = "", sign = "", words = ""] = found;
  switch (sign) {
    case "^=":
      return { kind: "prefix", input, words: [words] };
    case "<=":
      return { kind: "at_most", input, words: [words] };
    case "=":
      return { kind: "one_of", input, words: [words] };
    default:
      return { kind: "one_of", input, words: words.split(",").map((word) => word.trim()) };
  }
}

/** A condition before anybody knows the type of its argument. */
export interface Draft {
  readonly kind: Condition["kind"];
  readonly input: string;
  readonly words: readonly string[];
}

/** Typed against the argument that it bounds; a sentence where the two do not fit. */
export function typeCondition({ kind, input, words }: Draft, type: JsonValue | undefined): Condition | string {
  if (words.some((word) => word === "")) return `${input} is compared with nothing`;
  if (type === undefined) return `there is no argument called ${input} to compare`;
  switch (kind) {
    case "prefix":
      return type === "string"
        ? { kind, input, prefix: words[0] ?? "" }
        : `${input} is not text, so that it has no beginning`;
    case "at_most": {
      const maximum = wholeNumber(words[0] ?? "");
      if (type !== "integer" && type !== "number") return `${input} is not a number`;
      return maximum === null ? `${words[0]} is not a whole number` : { kind, input, maximum };
    }
    case "one_of": {
      const values = words.map((word) => scalarOf(word, type));
      const wrong = words.find((_word, index) => values[index] === null);
      if (wrong !== undefined) return `${wrong} is not a value of ${input}`;
      return { kind, input, values: [...new Set(values as Scalar[])].sort((a, b) => (String(a) < String(b) ? -1 : 1)) };
    }
  }
}

function scalarOf(word: string, type: JsonValue | undefined): Scalar | null {
  if (type === "string") return word;
  if (type === "integer" || type === "number") return wholeNumber(word);
  if (type === "boolean") return word === "true" ? true : word === "false" ? false : null;
  return null;
}

function wholeNumber(word: string): number | null {
  if (!/^(0|[1-9][0-9]{0,15})$/.test(word)) return null;
  const value = Number(word);
  return Number.isSafeInteger(value) ? value : null;
}

export function conditionWords(condition: Condition): string {
  switch (condition.kind) {
    case "one_of":
      return condition.values.length === 1
        ? `${condition.input}=${condition.values[0]}`
        : `${condition.input} in ${condition.values.join(",")}`;
    case "prefix":
      return `${condition.input}^=${condition.prefix}`;
    case "at_most":
      return `${condition.input}<=${condition.maximum}`;
  }
}
