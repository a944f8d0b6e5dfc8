import { denyJson, type JsonTrouble } from "./deny.ts";
import { locate } from "./locate.ts";

export const QUOTE = 0x22;
const BACKSLASH = 0x5c;
export const MINUS = 0x2d;
const DOT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
/** Decimal digits that always fit a double exactly. */
const SAFE_DIGITS = 15;
const NAME_SLOTS = 64;
const NAME_LENGTH = 40;

export interface TokenLimits {
  /** Takes numbers that a double rounds (none of them an integer for a schema) and lone surrogates: others wrote them, and we pass them on. */
  readonly foreign?: boolean;
  /** Takes an integer that a double would round as its digits, a text: exact, and equal to nothing but itself. */
  readonly longIntegersAsText?: boolean;
}

/** The words of a JSON text, read one after another: strings, names, numbers. What they make up is the parser's. */
export class Tokens {
  readonly #text: string;
  readonly #foreign: boolean;
  readonly #asText: boolean;
  #at = 0;
  readonly #names: (string | undefined)[] = new Array(NAME_SLOTS);
  /** Set by a number that is an integer in value alone, and taken back by whoever notes it. */
  isFloat = false;

  constructor(text: string, { foreign = false, longIntegersAsText = false }: TokenLimits) {
    this.#text = text;
    this.#foreign = foreign;
    this.#asText = longIntegersAsText;
  }

  /** Where the next code unit stands. */
  get at(): number {
    return this.#at;
  }

  skipOne(): void {
    this.#at++;
  }

  /** Leaves the position at the next token and returns its code unit, NaN at the end. */
  skipSpace(): number {
    const text = this.#text;
    let code = text.charCodeAt(this.#at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) code = text.charCodeAt(++this.#at);
    return code;
  }

  readWord<Value extends boolean | null>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) this.refuse("a value");
    this.#at += word.length;
    return value;
  }

  readNumber(first: number): number | string {
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
        this.isFloat = true;
        return -0;
      }
      if (at - digits > SAFE_DIGITS) {
        // The running sum may have rounded; the conversion of the whole text does so once, and shows it.
        whole = Number(text.slice(digits, at));
        if (at - digits > SAFE_DIGITS + 1 || !Number.isSafeInteger(whole)) {
          if (this.#asText) return text.slice(start, at);
          if (!this.#foreign) this.denyAt(start, { kind: "number", expected: "an integer within ±(2^53−1)" });
          this.isFloat = true;
        }
      }
      return first === MINUS ? -whole : whole;
    }
    return this.#readFraction(start, at, code);
  }

  #readFraction(start: number, from: number, first: number): number {
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
    if (lost && !this.#foreign)
      this.denyAt(start, { kind: "number", expected: "a number within the range of a double" });
    this.isFloat = Number.isInteger(value);
    this.#at = at;
    return value;
  }

  #skipDigits(from: number): number {
    let at = from;
    for (let code = this.#text.charCodeAt(at); code >= ZERO && code <= NINE; ) code = this.#text.charCodeAt(++at);
    if (at === from) this.#refuseAt(at, "a digit");
    return at;
  }

  readString(): string {
    const text = this.#text;
    const start = this.#at + 1;
    for (let at = start; ; at++) {
      const code = text.charCodeAt(at);
      if (code === QUOTE) {
        this.#at = at + 1;
        return text.slice(start, at);
      }
      if (code === BACKSLASH) return this.#readEscaped(start, at);
      // NaN, at the end of the text, fails this comparison too.
      if (!(code >= 0x20)) this.#refuseAt(at, at < text.length ? "an escaped control character" : "a closing quote");
    }
  }

  /** Names repeat from object to object: one met before in this text is taken again instead of being made anew. */
  readName(): string {
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
    return this.readString();
  }

  #readEscaped(start: number, firstEscape: number): string {
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

  refuse(expected: string): never {
    return this.#refuseAt(this.#at, expected);
  }

  deny(trouble: JsonTrouble): never {
    return this.denyAt(this.#at, trouble);
  }

  denyAt(at: number, trouble: JsonTrouble): never {
    return denyJson(this.#text.slice(0, at), locate(this.#text, at), trouble);
  }

  #refuseAt(at: number, expected: string): never {
    return this.denyAt(at, { kind: "malformed", expected });
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
