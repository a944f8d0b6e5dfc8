import type { LentCredential, OutboundHttp } from "../../../gateway/ports.ts";
import type { Read } from "./target.ts";

/** Fields that frame the message or belong to the connection: the transport writes these itself. */
const OURS = new Set([
  "accept-encoding",
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/** Checks everything about the header section that can be known before a connection is opened. */
export function checkRequestHeaders(
  headers: OutboundHttp["headers"],
  credential: LentCredential | null,
): Read<readonly string[]> {
  const flat: string[] = ["accept-encoding", "identity"];
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const fault = faultOfName(name, seen) ?? faultOfValue(value.length, (index) => value.charCodeAt(index), 0x7e);
    if (fault !== undefined) return { kind: "refused", why: `header field ${JSON.stringify(name)} ${fault}` };
    flat.push(name, value);
  }
  if (credential !== null) {
    const fault =
      faultOfName(credential.headerName, seen) ??
      credential.headerValue.use((bytes) => faultOfValue(bytes.byteLength, (index) => bytes[index] ?? 0, 0xff));
    if (fault !== undefined) return { kind: "refused", why: `credential ${JSON.stringify(credential.label)} ${fault}` };
  }
  return { kind: "ok", value: flat };
}

/** The only place where the secret becomes text. The array is handed to the socket's writer at once and kept nowhere. */
export function withCredential(flat: readonly string[], credential: LentCredential | null): string[] {
  if (credential === null) return [...flat];
  return [...flat, credential.headerName, credential.headerValue.use((bytes) => bytes.toString("latin1"))];
}

function faultOfName(name: string, seen: Set<string>): string | undefined {
  if (!isToken(name)) return "has a name that is not a token";
  const lower = name.toLowerCase();
  if (OURS.has(lower)) return "is written by the transport itself";
  if (seen.has(lower)) return "is given twice";
  seen.add(lower);
  return undefined;
}

/** Reads codes one by one, so that a secret is checked without becoming a string. */
function faultOfValue(length: number, at: (index: number) => number, highest: number): string | undefined {
  for (let index = 0; index < length; index++) {
    const code = at(index);
    if ((code < 0x20 && code !== 0x09) || code === 0x7f || code > highest) {
      return "has a value with a character that a header field cannot carry (such as a line break)";
    }
  }
  if (length > 0 && (isBlank(at(0)) || isBlank(at(length - 1)))) return "has a value that begins or ends with a space";
  return undefined;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

const TOKEN_MARKS = new Set("!#$%&'*+-.^_`|~");

function isToken(text: string): boolean {
  if (text.length === 0) return false;
  for (const char of text) {
    const alphanumeric = (char >= "0" && char <= "9") || (char >= "a" && char <= "z") || (char >= "A" && char <= "Z");
    if (!alphanumeric && !TOKEN_MARKS.has(char)) return false;
  }
  return true;
}
