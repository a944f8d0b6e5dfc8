import { type Code, codes } from "../kernel/codes.ts";
import { Denied } from "../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";

/** Reads values of one of our own files, field by field. Whatever is not exactly as written by us is refused. */
export interface PageShape {
  /** Exactly these members, none missing and none more but for those named in `optional`. */
  members<Name extends string, Optional extends string = never>(
    value: JsonValue | undefined,
    where: string,
    names: readonly Name[],
    optional?: readonly Optional[],
  ): Record<Name, JsonValue> & { readonly [name in Optional]?: JsonValue };
  text(value: JsonValue | undefined, where: string, maxLength: number, pattern?: RegExp): string;
  oneOf<Word extends string>(value: JsonValue | undefined, where: string, words: readonly Word[]): Word;
  integer(value: JsonValue | undefined, where: string, min: number, max: number): number;
  flag(value: JsonValue | undefined, where: string): boolean;
  bytes(value: JsonValue | undefined, where: string, minLength: number, maxLength: number): Buffer;
  list<Item>(
    value: JsonValue | undefined,
    where: string,
    maxItems: number,
    read: (item: JsonValue, where: string) => Item,
  ): readonly Item[];
  refuse(where: string, expected: string): never;
}

export function shapeOf(code: Code, what: string): PageShape {
  const refuse = (where: string, expected: string): never => {
    const message = `${what} is not as gw wrote it: ${where || "the whole"} should be ${expected}.`;
    throw new Denied(code, message, { next: codes[code].mend });
  };
  const shape: PageShape = {
    refuse,
    members(value, where, names, optional = []) {
      if (!isJsonObject(value)) return refuse(where, "an object");
      const allowed: readonly string[] = [...names, ...optional];
      const whole = names.every((name) => Object.hasOwn(value, name));
      if (!whole || Object.keys(value).some((name) => !allowed.includes(name))) {
        return refuse(where, `an object of ${names.join(", ")}`);
      }
      return value as ReturnType<typeof shape.members<(typeof names)[number], (typeof optional)[number]>>;
    },
    text(value, where, maxLength, pattern) {
      if (typeof value !== "string" || value.length > maxLength || !value.isWellFormed()) {
        return refuse(where, `text of at most ${maxLength} characters`);
      }
      return pattern === undefined || pattern.test(value) ? value : refuse(where, `text like ${pattern.source}`);
    },
    oneOf(value, where, words) {
      const found = words.find((word) => word === value);
      return found ?? refuse(where, words.join(" or "));
    },
    integer(value, where, min, max) {
      const fits = typeof value === "number" && Number.isSafeInteger(value) && value >= min && value <= max;
      return fits ? value : refuse(where, `an integer from ${min} to ${max}`);
    },
    flag(value, where) {
      return typeof value === "boolean" ? value : refuse(where, "true or false");
    },
    bytes(value, where, minLength, maxLength) {
      if (typeof value !== "string" || value.length > Math.ceil((maxLength * 4) / 3)) return refuse(where, "base64url");
      const bytes = Buffer.from(value, "base64url");
      const exact = bytes.toString("base64url") === value;
      return exact && bytes.length >= minLength && bytes.length <= maxLength ? bytes : refuse(where, "base64url");
    },
    list(value, where, maxItems, read) {
      if (!Array.isArray(value) || value.length > maxItems) return refuse(where, `a list of at most ${maxItems}`);
      return value.map((item: JsonValue, index) => read(item, `${where}/${index}`));
    },
  };
  return shape;
}

/** Members in canonical order, two spaces of indent: one text a value, so that a file can be compared with its meaning. */
export function filePage(value: JsonObject): string {
  return `${JSON.stringify(ordered(value), null, 2)}\n`;
}

/** Parses the page and requires that it is the one page of its value: no duplicate members, no odd numbers or escapes. */
export function parsePage(page: string, shape: PageShape): JsonValue {
  let value: JsonValue;
  try {
    value = JSON.parse(page) as JsonValue;
  } catch {
    return shape.refuse("", "JSON");
  }
  if (!isJsonObject(value) || filePage(value) !== page) return shape.refuse("", "in the form gw writes, byte for byte");
  return value;
}

function ordered(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(ordered);
  if (!isJsonObject(value)) return value;
  // A prototype-less object keeps `__proto__` a name like any other; integer-like names cannot occur in our shapes.
  const sorted: Record<string, JsonValue> = Object.create(null);
  for (const name of Object.keys(value).sort()) sorted[name] = ordered(value[name] ?? null);
  return sorted;
}
