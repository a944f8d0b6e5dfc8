import { Denied } from "../../kernel/failure.ts";

/** Who the request is for, who it is from, how it is framed and how it travels are never an action's to say. */
const FORBIDDEN = new Set([
  ...["host", "authorization", "cookie", "cookie2", "set-cookie", "origin", "referer", "date", "via", "forwarded"],
  ...["content-length", "content-type", "content-encoding", "transfer-encoding", "content-transfer-encoding"],
  ...["connection", "keep-alive", "te", "trailer", "upgrade", "expect", "http2-settings", "alt-used", "early-data"],
  ...["accept-encoding", "accept-charset", "max-forwards", "x-real-ip", "x-http-method-override", "x-method-override"],
  ...["x-http-method", "x-original-url", "x-rewrite-url"],
]);
const FORBIDDEN_PREFIXES = ["proxy-", "sec-", "x-forwarded-", "access-control-"];
const NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/;
const VALUE = /^[\x20-\x7e]*$/;

export function isHeaderName(name: string): boolean {
  return NAME.test(name);
}

export function isForbiddenHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return FORBIDDEN.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix));
}

/** One line of printable ASCII, without blanks at its ends: nothing that a parser on the way could read as another field. */
export function checkHeaderValue(name: string, text: string): string {
  if (VALUE.test(text) && text === text.trim() && text.length <= 4096) return text;
  throw new Denied(
    "header_value_refused",
    `"${name}" must be printable ASCII without blanks at its ends, 4096 characters at most`,
  );
}
