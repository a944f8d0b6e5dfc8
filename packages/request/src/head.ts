import { Denied } from "../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../src/kernel/json.ts";
import { readMediaType } from "./media-type.ts";
import type { Pairs } from "./pairs.ts";

/** A request before its body: the target as it was sent, and the fields as `rawHeaders` lists them. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** Of a head that is read once and comes again and again: what its route made of it. */
  readonly memory?: HeadMemory;
}

/** The same bytes are the same head, and the same head is judged the same. Nobody changes what stands here. */
export interface HeadMemory {
  judged: JudgedHead | null;
}

/** All that a route says of a head before a byte of the body is looked at. */
export interface JudgedHead extends CheckedHead {
  readonly route: object;
  readonly params: JsonObject;
  readonly query: JsonObject;
  readonly pairs: Pairs;
  readonly segments: readonly string[];
}

export interface CheckedHead {
  /** The accepted media type without parameters; null where no body is taken. */
  readonly mediaType: string | null;
  readonly boundary: string | undefined;
}

/** The little of a route that the head is held against. */
export type ExpectedBody =
  | { readonly kind: "none" }
  | { readonly kind: "json" | "form" | "bytes" | "multipart"; readonly mediaType: string; readonly maxBytes: number };

/** Fields that frame or describe the body. Each may come once: a second one is a second opinion about the same bytes. */
const SINGLE = [
  ...["content-type", "content-length", "transfer-encoding", "content-encoding"],
  ...["content-range", "host", ":authority", "expect", "trailer"],
];

/** Route and media type come first: nothing is read from the body before this has passed. */
export function checkHead(body: ExpectedBody, head: RequestHead): CheckedHead {
  const fields = collectFields(head.rawHeaders);
  const length = readLength(fields);
  if (!fields.has("host") && !fields.has(":authority")) throw new Denied("framing_invalid", "Host is missing");
  if (fields.has("content-encoding")) {
    throw new Denied("content_encoding_unsupported", "the body may not carry a Content-Encoding, not even identity");
  }
  const expect = fields.get("expect");
  if (expect !== undefined && expect.toLowerCase() !== "100-continue")
    throw new Denied("expectation_failed", "the only expectation that can be met is 100-continue");
  if (fields.has("content-range") || fields.has("trailer")) {
    throw new Denied("framing_invalid", "Content-Range and Trailer have no meaning in a request here");
  }
  const type = fields.get("content-type");
  if (body.kind === "none") {
    if (type !== undefined || fields.has("transfer-encoding") || (length ?? 0) > 0) {
      throw new Denied("body_not_allowed", "this route takes zero bytes, no Content-Type and no chunked framing");
    }
    return { mediaType: null, boundary: undefined };
  }
  // Zero bytes have no type to state; whether they are enough is the parser's and the schema's to say.
  if (type === undefined && (length ?? 0) === 0 && !fields.has("transfer-encoding"))
    return { mediaType: null, boundary: undefined };
  if (type === undefined) throw new Denied("media_type_missing", `send Content-Type: ${body.mediaType}`);
  // The declared type itself needs no parser to be recognized.
  const { essence, boundary } = type === body.mediaType ? { essence: type, boundary: undefined } : readMediaType(type);
  if (essence !== body.mediaType) {
    throw new Denied("media_type_unsupported", `this route accepts ${body.mediaType} alone`);
  }
  if ((boundary === undefined) === (body.kind === "multipart")) {
    throw new Denied("media_type_unsupported", "multipart needs a boundary, and nothing else has one");
  }
  if ((length ?? 0) > body.maxBytes) throw tooLarge(body.maxBytes);
  return { mediaType: essence, boundary };
}

export function tooLarge(limit: number): Denied {
  return new Denied("body_too_large", `the body is larger than ${limit} bytes`);
}

function collectFields(rawHeaders: readonly string[]): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? "").toLowerCase();
    if (!SINGLE.includes(name)) continue;
    if (fields.has(name)) throw new Denied("framing_invalid", `the field ${name} came more than once`);
    fields.set(name, rawHeaders[index + 1] ?? "");
  }
  return fields;
}

function readLength(fields: ReadonlyMap<string, string>): number | undefined {
  const length = fields.get("content-length");
  const coding = fields.get("transfer-encoding");
  if (coding !== undefined && coding.toLowerCase() !== "chunked") {
    throw new Denied("framing_invalid", "the only transfer coding is chunked");
  }
  if (coding !== undefined && length !== undefined) {
    throw new Denied("framing_invalid", "Content-Length and Transfer-Encoding contradict each other");
  }
  if (length === undefined) return undefined;
  const bytes = parseLength(length);
  if (bytes === null) throw new Denied("framing_invalid", "Content-Length is not a plain number");
  return bytes;
}

export function parseLength(text: string): number | null {
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
}
