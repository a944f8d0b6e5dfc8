/**
 * The head of an answer, line by line, in the plain grammar of RFC 9112. What a careful server never writes is refused and not
 * repaired: docs/http-transport.md says where this is stricter than Node's own parser.
 */
export interface AnswerHead {
  readonly status: number;
  /** Names in lower case and values, in turns, as they came. */
  readonly fields: readonly string[];
  /** How the end of the body is known; `none` where the method or the status has no body. */
  readonly framing: "none" | "length" | "chunked";
  /** Of a body of stated length; 0 for any other. */
  readonly length: number;
  /** Whether the server lets the connection be used again. */
  readonly keeps: boolean;
  /** For how long, where it says so. */
  readonly keepsMs: number | null;
}

export interface AnswerFault {
  readonly reason: "response_malformed" | "response_too_large";
  /** Words of ours alone. */
  readonly detail: string;
}

export interface StatusLine {
  readonly minor: number;
  readonly status: number;
}

/** Every answer begins so: what does not is refused before its first line is whole. */
export const BEGINNING = "HTTP/1.";

const STATUS = /^HTTP\/1\.([01]) ([1-9][0-9]{2})(?: [\t\x20-\x7e\x80-\xff]*)?$/;
const FIELD = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):([\t\x20-\x7e\x80-\xff]*)$/;
/** More digits than this have no safe number. */
const LENGTH = /^[0-9]{1,15}$/;
const KEEP_MS = /(?:^|[,;\t ])timeout=([0-9]{1,6})(?:$|[,;\t ])/i;

export function readStatusLine(line: string): StatusLine | null {
  const [, minor, status] = STATUS.exec(line) ?? [];
  return status === undefined ? null : { minor: Number(minor), status: Number(status) };
}

/** Adds the name and the value; false where the line is no field. */
export function readField(line: string, fields: string[]): boolean {
  if (!FIELD.test(line)) return false;
  const colon = line.indexOf(":");
  const lower = line.slice(0, colon).toLowerCase();
  const value = line.slice(colon + 1);
  // Parsers do not agree about a coding with a tab beside it.
  if (lower === "transfer-encoding" && value.includes("\t")) return false;
  fields.push(lower, trimBlanks(value));
  return true;
}

/** What all fields together say, or what is wrong with them. The method is that of the request. */
export function readHead(
  { minor, status }: StatusLine,
  fields: readonly string[],
  method: string,
): AnswerHead | string {
  let length: string | null = null;
  let coding: string | null = null;
  let closes = minor === 0;
  let keepsMs: number | null = null;
  for (let index = 0; index < fields.length; index += 2) {
    const value = fields[index + 1] ?? "";
    switch (fields[index]) {
      case "content-length":
        if (length !== null || !LENGTH.test(value)) return "content_length";
        length = value;
        break;
      case "transfer-encoding":
        // A coding below chunked would hide the body from the scan for the credential.
        if (coding !== null || minor === 0 || value.toLowerCase() !== "chunked") return "transfer_encoding";
        coding = value;
        break;
      case "connection":
      case "proxy-connection":
        closes ||= value.split(",").some((option) => trimBlanks(option).toLowerCase() === "close");
        break;
      case "keep-alive":
        keepsMs = keepMsOf(value) ?? keepsMs;
        break;
    }
  }
  if (length !== null && coding !== null) return "content_length_and_transfer_encoding";
  const stated = Number(length ?? 0);
  const announces = stated > 0 || coding !== null;
  // Nothing but the answer that counts may follow an informational one.
  if (status < 200)
    return announces || closes ? "informational" : { status, fields, framing: "none", length: 0, keeps: true, keepsMs };
  if (method === "HEAD" || status === 204 || status === 304) {
    // A server that announces a body where there can be none may send it: it would be read as the next answer.
    const keeps = !closes && (method === "HEAD" || !announces);
    return { status, fields, framing: "none", length: 0, keeps, keepsMs };
  }
  // A body that ends with the connection cannot be told from one that was cut off.
  if (length === null && coding === null) return "length_not_stated";
  return { status, fields, framing: coding === null ? "length" : "chunked", length: stated, keeps: !closes, keepsMs };
}

function keepMsOf(value: string): number | null {
  const seconds = KEEP_MS.exec(value)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1_000;
}

/** Blanks and tabs alone. No pattern: one that looks for the end takes a long time over many blanks in the middle. */
function trimBlanks(value: string): string {
  let start = 0;
  let end = value.length;
  while (start < end && isBlank(value.charCodeAt(start))) start++;
  while (start < end && isBlank(value.charCodeAt(end - 1))) end--;
  return value.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}
