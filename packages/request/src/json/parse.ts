/**
 * Strict JSON over bytes: one text has one meaning here, or none. Beyond RFC 8259 it refuses repeated names (however
 * they are spelled), byte order marks, ill-formed UTF-8, lone surrogates, deep nesting and integers that a double loses.
 * The bytes are checked and decoded once by native code; the grammar then runs over the flat string.
 */
import { isAscii, isUtf8 } from "node:buffer";
import { defaults } from "../../../../src/kernel/defaults.ts";
import type { JsonValue } from "../../../../src/kernel/json.ts";
import { plainSpelling, type ValueSpelling } from "../schema.ts";
import { denyJson } from "./deny.ts";
import { MINUS, NINE, QUOTE, type TokenLimits, Tokens, ZERO } from "./tokens.ts";
import { firstIllFormedByte } from "./utf8.ts";

export interface JsonLimits extends TokenLimits {
  readonly depth?: number;
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
  const parser = new Parser(new Tokens(text, limits), limits.depth ?? defaults.jsonDepth);
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

const COMMA = 0x2c;
const COLON = 0x3a;

class Parser {
  readonly #tokens: Tokens;
  readonly #depth: number;
  /** The names and indexes of numbers that are integers in value alone; almost always empty. */
  readonly #floats = new Map<object, Set<string | number>>();

  constructor(tokens: Tokens, depth: number) {
    this.#tokens = tokens;
    this.#depth = depth;
  }

  parseText(): JsonValue {
    const value = this.#parseValue(0);
    if (!Number.isNaN(this.#tokens.skipSpace())) this.#tokens.refuse("the end of the text");
    return value;
  }

  #parseValue(depth: number): JsonValue {
    const tokens = this.#tokens;
    const code = tokens.skipSpace();
    switch (code) {
      case QUOTE:
        return tokens.readString();
      case 0x7b:
        return this.#parseObject(depth);
      case 0x5b:
        return this.#parseArray(depth);
      case 0x74:
        return tokens.readWord("true", true);
      case 0x66:
        return tokens.readWord("false", false);
      case 0x6e:
        return tokens.readWord("null", null);
    }
    if (code === MINUS || (code >= ZERO && code <= NINE)) return tokens.readNumber(code);
    return tokens.refuse("a value");
  }

  spelling(): ValueSpelling {
    const [root, floats] = [this.#tokens.isFloat, this.#floats];
    if (!root && floats.size === 0) return plainSpelling;
    return { isFloat: (holder, key) => (holder === undefined ? root : (floats.get(holder)?.has(key) ?? false)) };
  }

  #noteFloat(holder: object, key: string | number): void {
    this.#tokens.isFloat = false;
    const keys = this.#floats.get(holder);
    if (keys === undefined) this.#floats.set(holder, new Set([key]));
    else keys.add(key);
  }

  #parseObject(depth: number): JsonValue {
    const tokens = this.#tokens;
    if (depth >= this.#depth) tokens.deny({ kind: "too_deep", limit: this.#depth });
    const object = new Bare();
    tokens.skipOne();
    if (tokens.skipSpace() === 0x7d) {
      tokens.skipOne();
      return object;
    }
    for (;;) {
      if (tokens.skipSpace() !== QUOTE) tokens.refuse("a member name in quotes");
      const start = tokens.at;
      const name = tokens.readName();
      // Names are compared after decoding, so an escaped spelling cannot hide a repetition.
      if (object[name] !== undefined) tokens.denyAt(start, { kind: "duplicate", name });
      if (tokens.skipSpace() !== COLON) tokens.refuse("a colon");
      tokens.skipOne();
      object[name] = this.#parseValue(depth + 1);
      if (tokens.isFloat) this.#noteFloat(object, name);
      const code = tokens.skipSpace();
      if (code === COMMA) tokens.skipOne();
      else if (code === 0x7d) {
        tokens.skipOne();
        return object;
      } else tokens.refuse("a comma or the end of the object");
    }
  }

  #parseArray(depth: number): JsonValue {
    const tokens = this.#tokens;
    if (depth >= this.#depth) tokens.deny({ kind: "too_deep", limit: this.#depth });
    const items: JsonValue[] = [];
    tokens.skipOne();
    if (tokens.skipSpace() === 0x5d) {
      tokens.skipOne();
      return items;
    }
    for (;;) {
      items.push(this.#parseValue(depth + 1));
      if (tokens.isFloat) this.#noteFloat(items, items.length - 1);
      const code = tokens.skipSpace();
      if (code === COMMA) tokens.skipOne();
      else if (code === 0x5d) {
        tokens.skipOne();
        return items;
      } else tokens.refuse("a comma or the end of the array");
    }
  }
}
