import { type HeadMemory, parseLength, type RequestHead } from "./head.ts";

/**
 * A request in the form in which nearly all come: whole in one read, a known method, known fields, each once and on one
 * line, a body by its Content-Length alone. Of anything else nothing is decided here: it is left to the general parser.
 */
export interface PlainHead extends RequestHead {
  readonly method: "GET" | "POST";
  readonly memory: HeadMemory;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Of the head with its empty line. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}

/** What clients write of themselves, and what the planes read. Any other field may mean something: it is not plain. */
const NAMES = new Set([
  "accept",
  "accept-encoding",
  "accept-language",
  "connection",
  "content-length",
  "content-type",
  "host",
  "prefer",
  "sec-fetch-mode",
  "traceparent",
  "tracestate",
  "user-agent",
]);

const END = Buffer.from("\r\n\r\n", "latin1");
const START = /^(GET|POST) (\/[A-Za-z0-9\-._~!$&'()*+,;=:@%/?]*) HTTP\/1\.1$/;
/** A line ends with both characters, and neither stands anywhere else. */
const LINES = /^(?:[\x20-\x7e]|\r\n)*$/;
const LINE_END = "\r\n";

/** Null where the bytes do not begin with a whole head of that form. */
export function readPlainHead(bytes: Buffer, mostBytes: number): PlainHead | null {
  const end = bytes.indexOf(END);
  if (end < 0 || end + END.length > mostBytes) return null;
  const text = bytes.toString("latin1", 0, end) + LINE_END;
  if (!LINES.test(text)) return null;
  let lineEnd = text.indexOf(LINE_END);
  const start = START.exec(text.slice(0, lineEnd));
  if (start === null) return null;
  const rawHeaders: string[] = [];
  const headers: Record<string, string> = {};
  for (;;) {
    const at = lineEnd + LINE_END.length;
    if (at === text.length) break;
    lineEnd = text.indexOf(LINE_END, at);
    const colon = text.indexOf(": ", at);
    const name = text.slice(at, Math.max(colon, at));
    const lower = name.toLowerCase();
    const value = text.slice(colon + 2, Math.max(lineEnd, colon + 2));
    if (!NAMES.has(lower) || lower in headers || value !== value.trim()) return null;
    headers[lower] = value;
    rawHeaders.push(name, value);
  }
  const { host, connection = "keep-alive", "content-length": length } = headers;
  const method = start[1] === "POST" ? "POST" : "GET";
  if (host === undefined || connection.toLowerCase() !== "keep-alive") return null;
  const bodyBytes = length === undefined ? 0 : parseLength(length);
  if (bodyBytes === null || (method === "POST") !== (length !== undefined)) return null;
  const memory = { judged: null };
  return { method, target: start[2] ?? "", rawHeaders, memory, headers, headBytes: end + END.length, bodyBytes };
}
