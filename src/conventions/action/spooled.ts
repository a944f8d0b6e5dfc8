import type { Readable } from "node:stream";
import { digestBytes } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";

/**
 * A body that is too large to be held in memory: it lies in a file without a name, and is known by its size and digest. It is the
 * whole of an opaque body and nothing else. Among arguments a text stands for it that no base64 can be.
 */
export interface SpooledBody {
  readonly byteLength: number;
  readonly digest: string;
  /** All of it, from its beginning. It fails once it was let go. */
  read(): Readable;
}

/** What goes out as the body of a request. */
export type SentBody = Buffer | SpooledBody;

const STANDS_FOR = /^spooled:([0-9]{1,15}):(sha256:[0-9a-f]{64})$/;

export function isSpooled(body: SentBody): body is SpooledBody {
  return !Buffer.isBuffer(body);
}

/** What stands for it among arguments. */
export function standInFor({ byteLength, digest }: SpooledBody): string {
  return `spooled:${byteLength}:${digest}`;
}

/** Null for every text that is none. Whoever sends with it has to hold the body itself beside it. */
export function readStandIn(text: string): { readonly bytes: number; readonly digest: string } | null {
  const [, bytes, digest] = STANDS_FOR.exec(text) ?? [];
  return bytes === undefined || digest === undefined ? null : { bytes: Number(bytes), digest };
}

/** For what has to look at all of it at once, such as a signature. */
export function requireHeld(body: SentBody | null): Buffer | null {
  if (body === null || !isSpooled(body)) return body;
  throw new Denied("body_too_large", "a body of this size is not signed, and the provider wants a signature");
}

export function digestBody(body: SentBody): string {
  return isSpooled(body) ? body.digest : digestBytes(body);
}

/** As cards, digests and records have a body that nobody reads. */
export function byDigest(body: SentBody): JsonObject {
  return { bytes: body.byteLength, digest: digestBody(body) };
}

/** Base64 of so many bytes: packs bound an opaque body by the length of that. */
export function base64Length(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}
