import { Denied } from "../../kernel/failure.ts";

/** What an argument's percent sign means: `refuse` takes unencoded text only, `literal` says that `%2F` is four characters of text. */
export type PercentRule = "refuse" | "literal";

const UNRESERVED = /^[A-Za-z0-9\-._~]*$/;
const ESCAPE = /%[0-9A-Fa-f]{2}/;
const LEFT_OVER = /[!'()*]/g;
const FORM_PLAIN = /^[A-Za-z0-9\-._*]*$/;
const FORM_LEFT_OVER = /%20|[!'()~]/g;

/** RFC 3986 component encoding: everything but the unreserved characters becomes escapes of its UTF-8 bytes, once. */
export function encodeComponent(text: string): string {
  if (UNRESERVED.test(text)) return text;
  if (!text.isWellFormed()) throw new Denied("text_malformed", "text with a lone surrogate has no UTF-8 form");
  return encodeURIComponent(text).replace(LEFT_OVER, escapeAscii);
}

/** The form convention: a space is `+`, a plus is `%2B`, as URLSearchParams writes it. */
export function encodeFormComponent(text: string): string {
  if (FORM_PLAIN.test(text)) return text;
  if (!text.isWellFormed()) throw new Denied("text_malformed", "text with a lone surrogate has no UTF-8 form");
  return encodeURIComponent(text).replace(FORM_LEFT_OVER, (found) => (found === "%20" ? "+" : escapeAscii(found)));
}

/** Arguments are unencoded text. An escape in them is either a mistake or an attempt to be decoded twice. */
export function refuseEncoded(name: string, text: string, rule: PercentRule): void {
  if (rule === "literal" || !ESCAPE.test(text)) return;
  throw new Denied(
    "already_encoded",
    `"${name}" holds a percent escape; send plain text, it is encoded exactly once here`,
  );
}

/** Text that a decoder further on could read as `.` or `..`, whole or between separators, even though it is encoded here. */
export function climbs(text: string): boolean {
  if (!text.includes(".")) return false;
  return text.split(/[/\\]/).some((piece) => piece === "." || piece === "..");
}

export function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) return true;
  }
  return false;
}

function escapeAscii(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
