import { parseLength } from "./head.ts";

/**
 * A request in the form in which nearly all come: whole in one read, a known method, known fields, each once and on one
 * line, a body by its Content-Length alone. Of anything else nothing is decided here: it is left to the general parser.
 */
export interface PlainHead {
  readonly method: "GET" | "POST";
  readonly target: string;
  readonly rawHeaders: readonly string[];
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
const VISIBLE = /^[\x20-\x7e]*$/;

/** Null where the bytes do not begin with a whole head of that form. */
export function readPlainHead(bytes: Buffer, mostBytes: number): PlainHead | null {
  const end = bytes.indexOf(END);
  if (end < 0 || end + END.length > mostBytes) return null;
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const start = START.exec(first);
  if (start === null) return null;
  const rawHeaders: string[] = [];
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(": ");
    const name = line.slice(0, Math.max(colon, 0));
    const lower = name.toLowerCase();
    const value = line.slice(colon + 2);
    if (!NAMES.has(lower) || lower in headers || !VISIBLE.test(value) || value !== value.trim()) return null;
    headers[lower] = value;
    rawHeaders.push(name, value);
  }
  const { host, connection = "keep-alive", "content-length": length } = headers;
  const method = start[1] === "POST" ? "POST" : "GET";
  if (host === undefined || connection.toLowerCase() !== "keep-alive") return null;
  const bodyBytes = length === undefined ? 0 : parseLength(length);
  if (bodyBytes === null || (method === "POST") !== (length !== undefined)) return null;
  return { method, target: start[2] ?? "", rawHeaders, headers, headBytes: end + END.length, bodyBytes };
}
