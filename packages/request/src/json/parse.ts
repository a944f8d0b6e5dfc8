/**
 * Strict JSON over bytes: one text has one meaning here, or none. Beyond RFC 8259 it refuses repeated names (however
 * they are spelled), byte order marks, ill-formed UTF-8, lone surrogates, deep nesting and integers that a double loses.
 * The bytes are checked and decoded once by native code; the grammar then runs over the flat string.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { defaults } from "../../../../src/kernel/defaults.ts";
import type { JsonValue } from "../../../../src/kernel/json.ts";
import type { ValueSpelling } from "../schema.ts";
import { denyJson, type JsonTrouble } from "./deny.ts";
import { locate } from "./locate.ts";
import { firstIllFormedByte } from "./utf8.ts";

export interface JsonLimits {
  readonly depth?: number;
  /** Takes numbers that a double rounds (none of them an integer for a schema) and lone surrogates: others wrote them, and we pass them on. */
  readonly foreign?: boolean;
}

export interface JsonDocument {
  readonly value: JsonValue;
  /** What the value alone no longer tells; hand it to the schema check. */
  readonly spelling: ValueSpelling;
}

export function parseJson(bytes: Uint8Array, limits: JsonLimits = {}): JsonDocument {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (!isUtf8(buffer)) {
    const offset = firstIllFormedByte(buffer);
    return denyJson(buffer.toString("utf8", 0, offset), "", { kind: "malformed", expected: "well-formed UTF-8" });
  }
  const text = buffer.toString(isAscii(buffer) ? "latin1" : "utf8");
  const parser = new Parser(text, limits.depth ?? defaults.jsonDepth, limits.foreign === true);
  const value = parser.parseText();
  return { value, spelling: parser.spelling() };
}

/** For readers that need the value alone. */
export function parseJsonValue(bytes: Uint8Array, limits: JsonLimits = {}): JsonValue {
  return parseJson(bytes, limits).value;
}

type Members = { [name: string]: JsonValue };

/** `new Bare()` is an object without inherited names that still has fast properties, unlike Object.create(null). */
const Bare = function Bare() {} as unknown as new () => Members;
Bare.prototype = Object.freeze(Object.create(null));

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
/** Decimal digits that always fit a double exactly. */
const SAFE_DIGITS = 15;
const NAME_SLOTS = 64;
const NAME_LENGTH = 40;

class Parser {
  readonly #text: string;
  readonly #depth: number;
  readonly #foreign: boolean;
  #at = 0;
  readonly #names: (string | undefined)[] = new Array(NAME_SLOTS);
  /** Set by a number that is an integer in value alone, and taken up by whatever holds it. */
  #float = false;
  /** The names and indexes of such numbers; almost always empty. */
  readonly #floats = new Map<object, Set<string | number>>();

  constructor(text: string, depth: number, foreign: boolean) {
    this.#text = text;
    this.#depth = depth;
    this.#foreign = foreign;
  }

  parseText(): JsonValue {
    const value = this.#parseValue(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#refuse("the end of the text");
    return value;
  }

  #parseValue(depth: number): JsonValue {
    const code = this.#skipSpace();
    switch (code) {
      case QUOTE:
        return this.#parseString();
      case 0x7b:
        return this.#parseObject(depth);
      case 0x5b:
        return this.#parseArray(depth);
      case 0x74:
        return this.#parseWord("true", true);
      case 0x66:
        return this.#parseWord("false", false);
      case 0x6e:
        return this.#parseWord("null", null);
    }
    if (code === MINUS || (code >= ZERO && code <= NINE)) return this.#parseNumber(code);
    return this.#refuse("a value");
  }

  spelling(): ValueSpelling {
    const [root, floats] = [this.#float, this.#floats];
    if (!root && floats.size === 0) return plain;
    return { isFloat: (holder, key) => (holder === undefined ? root : (floats.get(holder)?.has(key) ?? false)) };
  }

  #noteFloat(holder: object, key: string | number): void {
    this.#float = false;
    const keys = this.#floats.get(holder);
    if (keys === undefined) this.#floats.set(holder, new Set([key]));
    else keys.add(key);
  }

  #parseObject(depth: number): JsonValue {
    if (depth >= this.#depth) this.#deny({ kind: "too_deep", limit: this.#depth });
    const object = new Bare();
    this.#at++;
    if (this.#skipSpace() === 0x7d) {
      this.#at++;
      return object;
    }
    for (;;) {
      if (this.#skipSpace() !== QUOTE) this.#refuse("a member name in quotes");
      const start = this.#at;
      const name = this.#parseName();
      // Names are compared after decoding, so an escaped spelling cannot hide a repetition.
      if (object[name] !== undefined) {
        this.#at = start;
        this.#deny({ kind: "duplicate", name });
      }
      if (this.#skipSpace() !== COLON) this.#refuse("a colon");
      this.#at++;
      object[name] = this.#parseValue(depth + 1);
      if (this.#float) this.#noteFloat(object, name);
      const code = this.#skipSpace();
      if (code === COMMA) this.#at++;
      else if (code === 0x7d) {
        this.#at++;
        return object;
      } else this.#refuse("a comma or the end of the object");
    }
  }

  #parseArray(depth: number): JsonValue {
    if (depth >= this.#depth) this.#deny({ kind: "too_deep", limit: this.#depth });
    const items: JsonValue[] = [];
    this.#at++;
    if (this.#skipSpace() === 0x5d) {
      this.#at++;
      return items;
    }
    for (;;) {
      items.push(this.#parseValue(depth + 1));
      if (this.#float) this.#noteFloat(items, items.length - 1);
      const code = this.#skipSpace();
      if (code === COMMA) this.#at++;
      else if (code === 0x5d) {
        this.#at++;
        return items;
      } else this.#refuse("a comma or the end of the array");
    }
  }

  #parseWord<Value extends boolean | null>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) this.#refuse("a value");
    this.#at += word.length;
    return value;
  }

  #parseNumber(first: number): number {
    const text = this.#text;
    const start = this.#at;
    let at = first === MINUS ? start + 1 : start;
    const digits = at;
    let whole = 0;
    let code = text.charCodeAt(at);
    if (code === ZERO) code = text.charCodeAt(++at);
    else if (code > ZERO && code <= NINE) {
      for (; code >= ZERO && code <= NINE; code = text.charCodeAt(++at)) whole = whole * 10 + (code - ZERO);
    } else return this.#refuseAt(at, "a digit");
    if (code !== DOT && (code | 0x20) !== 0x65) {
      this.#at = at;
      if (first === MINUS && whole === 0) {
        this.#float = true;
        return -0;
      }
      if (at - digits > SAFE_DIGITS) {
        // The running sum may have rounded; the conversion of the whole text does so once, and shows it.
        whole = Number(text.slice(digits, at));
        if (at - digits > SAFE_DIGITS + 1 || !Number.isSafeInteger(whole)) {
          if (!this.#foreign) {
            this.#at = start;
            this.#deny({ kind: "number", expected: "an integer within ±(2^53−1)" });
          }
          this.#float = true;
        }
      }
      return first === MINUS ? -whole : whole;
    }
    return this.#parseFraction(start, at, code);
  }

  #parseFraction(start: number, from: number, first: number): number {
    let at = from;
    let code = first;
    if (code === DOT) {
      at = this.#skipDigits(at + 1);
      code = this.#text.charCodeAt(at);
    }
    if ((code | 0x20) === 0x65) {
      code = this.#text.charCodeAt(at + 1);
      at = this.#skipDigits(code === MINUS || code === 0x2b ? at + 2 : at + 1);
    }
    const literal = this.#text.slice(start, at);
    const value = Number(literal);
    const lost = !Number.isFinite(value) || (value === 0 && /^-?[0.]*[1-9]/.test(literal));
    if (lost && !this.#foreign) {
      this.#at = start;
      this.#deny({ kind: "number", expected: "a number within the range of a double" });
    }
    this.#float = Number.isInteger(value);
    this.#at = at;
    return value;
  }

  #skipDigits(from: number): number {
    let at = from;
    for (let code = this.#text.charCodeAt(at); code >= ZERO && code <= NINE; ) code = this.#text.charCodeAt(++at);
    if (at === from) this.#refuseAt(at, "a digit");
    return at;
  }

  #parseString(): string {
    const text = this.#text;
    const start = this.#at + 1;
    for (let at = start; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return text.slice(start, at);
      }
      if (code === BACKSLASH) return this.#parseEscaped(start, at);
      // NaN, at the end of the text, fails this comparison too.
      if (!(code >= 0x20)) this.#refuseAt(at, at < text.length ? "an escaped control character" : "a closing quote");
    }
  }

  /** Names repeat from object to object: one met before in this text is taken again instead of being made anew. */
  #parseName(): string {
    const text = this.#text;
    const start = this.#at + 1;
    let hash = 0;
    for (let at = start; at - start <= NAME_LENGTH; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        const slot = hash & (NAME_SLOTS - 1);
        const known = this.#names[slot];
        this.#at = at + 1;
        if (known !== undefined && known.length === at - start && text.startsWith(known, start)) return known;
        const name = text.slice(start, at);
        this.#names[slot] = name;
        return name;
      }
      if (code === BACKSLASH || !(code >= 0x20)) break;
      hash = (hash * 31 + code) | 0;
    }
    return this.#parseString();
  }

  #parseEscaped(start: number, firstEscape: number): string {
    const text = this.#text;
    let result = text.slice(start, firstEscape);
    let at = firstEscape;
    for (;;) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return result;
      }
      if (code === BACKSLASH) {
        const plain = escapes[text.charAt(at + 1)];
        if (plain !== undefined) {
          result += plain;
          at += 2;
        } else {
          const unit = this.#readUnit(at);
          at += 6;
          if ((unit & 0xf800) !== 0xd800) result += String.fromCharCode(unit);
          else {
            const low = unit < 0xdc00 && text.startsWith("\\u", at) ? this.#readUnit(at) : 0;
            const isPair = (low & 0xfc00) === 0xdc00;
            if (!isPair && !this.#foreign) this.#refuseAt(at - 6, "a pair of surrogates, the high one first");
            result += isPair ? String.fromCharCode(unit, low) : String.fromCharCode(unit);
            if (isPair) at += 6;
          }
        }
      } else {
        const run = at;
        for (let next = code; next !== QUOTE && next !== BACKSLASH; next = text.charCodeAt(++at)) {
          if (!(next >= 0x20))
            this.#refuseAt(at, at < text.length ? "an escaped control character" : "a closing quote");
        }
        result += text.slice(run, at);
      }
    }
  }

  #readUnit(at: number): number {
    const text = this.#text;
    if (text.charAt(at + 1) !== "u") this.#refuseAt(at, "a known escape");
    let unit = 0;
    for (let index = at + 2; index < at + 6; index++) {
      const digit = hexDigit(text.charCodeAt(index));
      if (digit < 0) this.#refuseAt(at, "four hexadecimal digits after \\u");
      unit = unit * 16 + digit;
    }
    return unit;
  }

  /** Leaves the position at the next token and returns its code unit, NaN at the end. */
  #skipSpace(): number {
    const text = this.#text;
    let code = text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++this.#at);
    return code;
  }

  #refuse(expected: string): never {
    return this.#deny({ kind: "malformed", expected });
  }

  #refuseAt(at: number, expected: string): never {
    this.#at = at;
    return this.#refuse(expected);
  }

  #deny(trouble: JsonTrouble): never {
    const before = this.#text.slice(0, this.#at);
    return denyJson(before, locate(this.#text, this.#at), trouble);
  }
}

const escapes: Readonly<Record<string, string>> = Object.assign(Object.create(null), {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
});

function hexDigit(code: number): number {
  if (code >= ZERO && code <= NINE) return code - ZERO;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

const plain: ValueSpelling = { isFloat: () => false };
