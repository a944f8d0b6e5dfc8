import type { JsonValue } from "../../kernel/json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Without so many digits in a row, or such an exponent, no double can be another number than was written. */
const SUSPECT = /[0-9]{16}|[eE]\+?[0-9]{3}/;
const INTEGER = /^-?[0-9]+$/;
const IN_NUMBER = "+-.eE0123456789";

/**
 * Whether every number of a JSON text, read and written again, is the one that stands there. An identifier past 2^53 is
 * not: it would come out as another one, and whoever reads it would act on that.
 */
export function hasExactNumbers(text: string): boolean {
  if (!SUSPECT.test(text)) return true;
  let quoted = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (quoted) {
      if (code === BACKSLASH) at++;
      else if (code === QUOTE) quoted = false;
    } else if (code === QUOTE) quoted = true;
    else if (isDigit(code)) {
      const end = endOfNumber(text, at);
      if (!isExact(text.slice(text[at - 1] === "-" ? at - 1 : at, end))) return false;
      at = end - 1;
    }
  }
  return true;
}

/** The text as JSON, in which a number that would come out as another one is the text that stood there. */
export function parseExactly(text: string): JsonValue {
  if (hasExactNumbers(text)) return JSON.parse(text) as JsonValue;
  return parseWithSource(text, (_name, value, { source }) =>
    typeof value === "number" && source !== undefined && !isExact(source) ? source : value,
  );
}

type Reviver = (name: string, value: JsonValue, context: { readonly source?: string }) => JsonValue;
/** As the language has it since 2025; its declarations know of no third argument. */
const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => JsonValue;

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function endOfNumber(text: string, from: number): number {
  let end = from + 1;
  while (end < text.length && IN_NUMBER.includes(text.charAt(end))) end++;
  return end;
}

/** What a fraction loses is less than whoever wrote it could count on. */
function isExact(literal: string): boolean {
  const value = Number(literal);
  if (!INTEGER.test(literal)) return Number.isFinite(value);
  return Number.isSafeInteger(value) || String(value) === literal;
}
