import type { JsonValue } from "../../../kernel/json.ts";
import { type ReadLimits, SyntaxTrouble } from "./source.ts";

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const INTEGER = /^-?[0-9]+$/;

/**
 * Strict JSON that remembers where each object and array began. The reader of requests works on bytes and keeps no
 * places; a reviewer of a document of 50,000 lines needs them. An answer that is compared (`long: "text"`) has an
 * integer that a double would round as its digits: two identifiers would be one otherwise.
 */
export function readJson(
  text: string,
  limits: ReadLimits,
  remember: (node: object, offset: number) => void,
  long: "number" | "text" = "number",
): JsonValue {
  let at = 0;
  let nodes = 0;

  const fail = (message: string, offset = at): never => {
    throw new SyntaxTrouble("malformed", offset, message);
  };
  const skip = (): void => {
    for (;;) {
      const code = text.charCodeAt(at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
      at++;
    }
  };
  const count = (): void => {
    if (++nodes > limits.nodes) throw new SyntaxTrouble("too_many", at, `more than ${limits.nodes} values`);
  };

  const value = (depth: number): JsonValue => {
    if (depth > limits.depth) throw new SyntaxTrouble("too_deep", at, `more than ${limits.depth} levels`);
    count();
    switch (text.charAt(at)) {
      case "{":
        return object(depth);
      case "[":
        return array(depth);
      case '"':
        return string();
      case "t":
        return word("true", true);
      case "f":
        return word("false", false);
      case "n":
        return word("null", null);
    }
    return number();
  };

  const object = (depth: number): JsonValue => {
    const start = at++;
    const members = Object.create(null) as Record<string, JsonValue>;
    remember(members, start);
    skip();
    if (text.charAt(at) === "}") {
      at++;
      return members;
    }
    for (;;) {
      skip();
      const nameAt = at;
      if (text.charAt(at) !== '"') fail("a member name in double quotes was expected");
      const name = string();
      if (name in members) {
        throw new SyntaxTrouble("duplicate", nameAt, `the member ${JSON.stringify(name)} stands here a second time`);
      }
      skip();
      if (text.charAt(at) !== ":") fail("a colon was expected");
      at++;
      skip();
      members[name] = value(depth + 1);
      skip();
      const next = text.charAt(at);
      if (next !== "," && next !== "}") fail("a comma or a closing brace was expected");
      at++;
      if (next === "}") return members;
    }
  };

  const array = (depth: number): JsonValue => {
    const start = at++;
    const items: JsonValue[] = [];
    remember(items, start);
    skip();
    if (text.charAt(at) === "]") {
      at++;
      return items;
    }
    for (;;) {
      skip();
      items.push(value(depth + 1));
      skip();
      const next = text.charAt(at);
      if (next !== "," && next !== "]") fail("a comma or a closing bracket was expected");
      at++;
      if (next === "]") return items;
    }
  };

  const string = (): string => {
    const start = at++;
    let plain = true;
    for (;;) {
      const code = text.charCodeAt(at);
      if (Number.isNaN(code)) fail("the text ends inside a string", start);
      if (code === 0x22) break;
      if (code < 0x20) fail("a control character stands unescaped in a string");
      if (code === 0x5c) {
        plain = false;
        at++;
      }
      at++;
    }
    at++;
    const found = plain ? text.slice(start + 1, at - 1) : unescapeToken(text.slice(start, at), start);
    if (!found.isWellFormed()) fail("a string holds half a surrogate pair", start);
    return found;
  };

  const unescapeToken = (token: string, start: number): string => {
    try {
      return JSON.parse(token) as string;
    } catch {
      return fail("a string holds an escape that JSON does not have", start);
    }
  };

  const number = (): number | string => {
    NUMBER.lastIndex = at;
    const token = NUMBER.exec(text)?.[0];
    if (token === undefined) return fail(at >= text.length ? "the text ends too early" : "a value was expected");
    at += token.length;
    const found = Number(token);
    if (long === "text" && INTEGER.test(token) && !Number.isSafeInteger(found)) return token;
    return Number.isFinite(found) ? found : fail("a number is too large", at - token.length);
  };

  const word = <Value extends JsonValue>(name: string, meaning: Value): Value => {
    if (!text.startsWith(name, at)) fail("a value was expected");
    at += name.length;
    return meaning;
  };

  skip();
  const root = value(1);
  skip();
  if (at < text.length) fail("something follows the end of the document");
  return root;
}
