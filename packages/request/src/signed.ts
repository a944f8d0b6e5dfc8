/**
 * Signed requests. A signature over bytes proves the representation; one over the canonical command proves the meaning.
 * Which of the two it was, and how one became the other, is recorded, and a canonical signature is looked at only after
 * every other spelling of the same command was refused.
 */

import { encodeComponent, encodeFormComponent } from "../../../src/conventions/url/encode.ts";
import { canonicalJson, type Digest, digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import type { JsonValue } from "../../../src/kernel/json.ts";
import type { RequestHead } from "./head.ts";

export interface SignedRule {
  readonly scheme: "bytes" | "canonical";
  /** Whether `signature` is this key's over `statement`. An unknown key is false, never an exception. */
  verify(keyId: string, statement: Buffer, signature: Buffer): boolean;
}

/** What the audit record says about a verified signature. */
export interface SignatureRecord {
  readonly scheme: "bytes" | "canonical";
  readonly key_id: string;
  readonly media_type: string | null;
  /** SHA-256 of the body exactly as it was sent. */
  readonly body_digest: Digest;
  readonly canonicalization: "RFC 8785, SHA-256";
  readonly command_digest: Digest;
}

export interface SignedRequest {
  readonly head: RequestHead;
  readonly mediaType: string | null;
  readonly bytes: Buffer;
  /** The decoded path segments. */
  readonly segments: readonly string[];
  readonly query: readonly (readonly [string, string])[];
  readonly body: JsonValue;
  readonly commandDigest: Digest;
}

export const KEY_FIELD = "gw-key-id";
export const SIGNATURE_FIELD = "gw-signature";

/** The exact bytes that a client signs. Every line is present in both schemes; a no-body route has `-` as its type. */
export function signedStatement(
  rule: Pick<SignedRule, "scheme">,
  request: Pick<SignedRequest, "head" | "mediaType" | "bytes" | "commandDigest">,
): Buffer {
  const { head, mediaType } = request;
  const digest = rule.scheme === "bytes" ? digestBytes(request.bytes) : request.commandDigest;
  return Buffer.from(
    ["gw-signed-request/v1", rule.scheme, head.method, head.target, mediaType ?? "-", digest, ""].join("\n"),
  );
}

export function verifySigned(rule: SignedRule, request: SignedRequest): SignatureRecord {
  const keyId = single(request.head.rawHeaders, KEY_FIELD);
  const signature = single(request.head.rawHeaders, SIGNATURE_FIELD);
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(keyId) || !/^[A-Za-z0-9+/]{1,684}={0,2}$/.test(signature)) {
    throw new Denied("request_signature_invalid", "the key id or the signature is malformed");
  }
  if (rule.scheme === "canonical") refuseAlternateEncodings(request);
  const bytes = Buffer.from(signature, "base64");
  if (bytes.toString("base64") !== signature || !rule.verify(keyId, signedStatement(rule, request), bytes)) {
    throw new Denied("request_signature_invalid", "the signature does not verify for this key and request");
  }
  return {
    scheme: rule.scheme,
    key_id: keyId,
    media_type: request.mediaType,
    body_digest: digestBytes(request.bytes),
    canonicalization: "RFC 8785, SHA-256",
    command_digest: request.commandDigest,
  };
}

function refuseAlternateEncodings(request: SignedRequest): void {
  const body = request.mediaType === null ? "" : canonicalJson(request.body);
  if (!request.bytes.equals(Buffer.from(body, "utf8"))) {
    throw new Denied("request_encoding_not_canonical", "the body is not the RFC 8785 form of what it says");
  }
  const [path = "", query] = request.head.target.split("?", 2);
  const sorted = [...request.query].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const pairs = sorted.map(([name, value]) => `${encodeFormComponent(name)}=${encodeFormComponent(value)}`);
  // The route has matched: a slash at the end is its own.
  const end = path.length > 1 && path.endsWith("/") ? "/" : "";
  const plainPath = `/${request.segments.map(encodeComponent).join("/")}${end}`;
  if (path !== plainPath || (query ?? "") !== pairs.join("&") || query === "") {
    throw new Denied("request_encoding_not_canonical", "path or query is not in its plain encoding, sorted by name");
  }
}

function single(rawHeaders: readonly string[], name: string): string {
  const values = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
  const [value] = values;
  if (value === undefined || values.length > 1) {
    throw new Denied("request_signature_missing", `send ${name} exactly once`);
  }
  return value;
}
