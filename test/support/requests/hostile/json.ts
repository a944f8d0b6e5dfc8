import type { Code } from "../../../../src/kernel/codes.ts";
import { GOOD_JSON, type Hostile, JSON_TYPE, PROMOTE, sized } from "./entry.ts";

const start = GOOD_JSON.slice(0, -1);

function bad(name: string, body: string | Buffer, code: Code = "json_malformed", path?: string): Hostile {
  const where = path === undefined ? {} : { path };
  return { name: `JSON: ${name}`, status: 400, code, finding: code, ...where, send: sized(PROMOTE, [JSON_TYPE], body) };
}

function unfit(name: string, body: string, finding: Code, path: string): Hostile {
  const rest = { status: 422, code: "schema_violation", finding, path } as const;
  return { name: `schema: ${name}`, ...rest, send: sized(PROMOTE, [JSON_TYPE], body) };
}

function raw(...bytes: readonly (string | number)[]): Buffer {
  return Buffer.concat(bytes.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.of(part))));
}

export const jsonEntries: readonly Hostile[] = [
  bad("no bytes", ""),
  bad("white space alone", " \n\t "),
  bad("a repeated member", `${start},"release":"r2"}`, "json_duplicate_member", "/release"),
  bad("a repeated member, equal value", `${start},"release":"r1"}`, "json_duplicate_member", "/release"),
  bad("a repeated member spelled with an escape", `${start},"rel\\u0065ase":"r2"}`, "json_duplicate_member"),
  bad("a repeated member deep inside", `${start},"owner":{"id":1,"id":2}}`, "json_duplicate_member", "/owner/id"),
  bad("a repeated empty name", `{"":1,"":2}`, "json_duplicate_member"),
  bad("__proto__ twice", `{"__proto__":1,"__proto__":2}`, "json_duplicate_member"),
  bad("a second document", `${GOOD_JSON}{}`),
  bad("trailing text", `${GOOD_JSON} x`),
  bad("a trailing comma", `${start},}`),
  bad("a trailing NUL", `${GOOD_JSON}\u0000`),
  bad("a line comment", `${GOOD_JSON}// note`),
  bad("a block comment", `{/* note */${GOOD_JSON.slice(1)}`),
  bad("NaN", `${start},"build":NaN}`),
  bad("Infinity", `${start},"build":Infinity}`),
  bad("undefined", `${start},"build":undefined}`),
  bad("an unquoted name", `{environment:"staging"}`),
  bad("single quotes", `{'environment':'staging'}`),
  bad("a byte order mark", raw(0xef, 0xbb, 0xbf, GOOD_JSON)),
  bad("UTF-16", Buffer.from(GOOD_JSON, "utf16le")),
  bad("Latin-1", raw(start, ',"note":"', 0xe9, '"}')),
  bad("an overlong encoding", raw(start, ',"note":"', 0xc0, 0xaf, '"}')),
  bad("an encoded surrogate", raw(start, ',"note":"', 0xed, 0xa0, 0x80, '"}')),
  bad("a truncated sequence", raw(start, ',"note":"', 0xe2, 0x82, '"}')),
  bad("a code point past U+10FFFF", raw(start, ',"note":"', 0xf4, 0x90, 0x80, 0x80, '"}')),
  bad("a lone high surrogate", `${start},"note":"\\ud800"}`),
  bad("a lone low surrogate", `${start},"note":"\\udc00"}`),
  bad("surrogates in the wrong order", `${start},"note":"\\udc00\\ud800"}`),
  bad("a lone surrogate in a name", `${start},"\\ud800":1}`),
  bad("a raw control character", `${start},"note":"a\u0001"}`),
  bad("a raw tab in a string", `${start},"note":"a\tb"}`),
  bad("an unknown escape", `${start},"note":"\\x41"}`),
  bad("a short escape", `${start},"note":"\\u12"}`),
  bad("an unclosed string", `${start},"note":"`),
  bad("an unclosed object", start),
  bad("a leading zero", `${start},"build":01}`),
  bad("a leading plus", `${start},"build":+1}`),
  bad("a hexadecimal number", `${start},"build":0x1}`),
  bad("a bare fraction", `${start},"weight":.5}`),
  bad("a number that ends in a point", `${start},"weight":1.}`),
  bad("an exponent without digits", `${start},"weight":1e}`),
  bad("a form feed as white space", `${start}\f}`),
  bad("a no-break space as white space", `${start}\u00a0}`),
  bad("a word in capitals", `${start},"forced":True}`),
  bad("nesting of 33", `${start},"owner":${"[".repeat(32)}${"]".repeat(32)}}`, "json_too_deep"),
  bad("nesting of 2000", "[".repeat(2000), "json_too_deep"),
  bad("an integer past 2^53", `${start},"build":9007199254740993}`, "json_number_out_of_range", "/build"),
  bad("an integer of 400 digits", `${start},"build":${"9".repeat(400)}}`, "json_number_out_of_range"),
  bad("an exponent that overflows", `${start},"weight":1e999}`, "json_number_out_of_range", "/weight"),
  bad("an exponent that vanishes", `${start},"weight":1e-999}`, "json_number_out_of_range", "/weight"),
  unfit("an unknown member", `${start},"admin":true}`, "unknown_member", "/admin"),
  unfit("a member in other case", `${start},"Release":"r2"}`, "unknown_member", "/Release"),
  unfit("__proto__", `${start},"__proto__":{"forced":true}}`, "unknown_member", "/__proto__"),
  unfit("constructor", `${start},"constructor":{}}`, "unknown_member", "/constructor"),
  unfit("an unknown member inside", `${start},"owner":{"id":1,"x":2}}`, "unknown_member", "/owner/x"),
  unfit("a missing member", `{"environment":"staging"}`, "missing_member", "/release"),
  unfit("an inherited name is not present", `{"environment":"staging","toString":1}`, "missing_member", "/release"),
  unfit("an array for the object", "[]", "wrong_type", ""),
  unfit("null for the object", "null", "wrong_type", ""),
  unfit("a string for the object", '"x"', "wrong_type", ""),
  unfit("null for a string", `{"environment":"staging","release":null}`, "wrong_type", "/release"),
  unfit("a number for a string", `{"environment":"staging","release":1}`, "wrong_type", "/release"),
  unfit("a boolean for a string", `{"environment":"staging","release":true}`, "wrong_type", "/release"),
  unfit("an array for a string", `{"environment":"staging","release":["r1"]}`, "wrong_type", "/release"),
  unfit(
    "an empty string where one character is least",
    `{"environment":"staging","release":""}`,
    "value_not_allowed",
    "/release",
  ),
  unfit("a string for an integer", `${start},"build":"1"}`, "wrong_type", "/build"),
  unfit("a fraction for an integer", `${start},"build":1.5}`, "wrong_type", "/build"),
  unfit("an integer written as a fraction", `${start},"build":1.0}`, "wrong_type", "/build"),
  unfit("an integer written with an exponent", `${start},"build":1e2}`, "wrong_type", "/build"),
  unfit("minus zero for an integer", `${start},"build":-0}`, "wrong_type", "/build"),
  unfit("an integer past 2^53 with an exponent", `${start},"build":1e300}`, "wrong_type", "/build"),
  unfit("zero under the minimum", `${start},"build":0}`, "value_not_allowed", "/build"),
  unfit("1 for a boolean", `${start},"forced":1}`, "wrong_type", "/forced"),
  unfit('"true" for a boolean', `${start},"forced":"true"}`, "wrong_type", "/forced"),
  unfit("a value outside the enum", `{"environment":"Production","release":"r1"}`, "value_not_allowed", "/environment"),
  unfit("a text over its length", `${start},"note":"${"é".repeat(21)}"}`, "value_not_allowed", "/note"),
  unfit("an item against its pattern", `${start},"tags":["a","B"]}`, "value_not_allowed", "/tags/1"),
  unfit("an item with a line end after a match", `${start},"tags":["a\\n"]}`, "value_not_allowed", "/tags/0"),
  unfit("too many items", `${start},"tags":["a","b","c","d"]}`, "value_not_allowed", "/tags"),
  unfit("a day that is not", `${start},"start":"2026-02-29"}`, "value_not_allowed", "/start"),
  unfit(
    "what no schema can say",
    `{"environment":"production","release":"r1","forced":true}`,
    "value_not_allowed",
    "/forced",
  ),
];
