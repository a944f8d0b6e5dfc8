import { createHmac } from "node:crypto";
import type { Mac } from "./callback.ts";
import { isFresh, matches } from "./match.ts";

/** Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature` over `id.timestamp.body`. */
export interface WebhookHead {
  readonly id: string;
  /** Seconds since the Unix epoch, as text. */
  readonly timestamp: string;
  readonly signature: string;
}

export type SignatureVerdict = "verified" | "signature_invalid" | "too_old";

const MAX_ID = 256;
const MAX_SIGNATURES = 1_024;

export function signWebhook(key: Buffer, id: string, timestampS: number, body: string): WebhookHead {
  const mac = (content: Buffer): Buffer => createHmac("sha256", key).update(content).digest();
  return webhookHead(mac, id, timestampS, Buffer.from(body));
}

/** With a key that stays where it is. */
export function webhookHead(mac: Mac, id: string, timestampS: number, body: Buffer): WebhookHead {
  const timestamp = String(timestampS);
  return { id, timestamp, signature: `v1,${mac(contentOf(id, timestamp, body)).toString("base64")}` };
}

/** One matching signature of several is enough: a provider that changes its secret sends both for a while. */
export function verifyWebhook(
  mac: Mac,
  head: WebhookHead,
  body: Buffer,
  nowS: number,
  toleranceS: number,
): SignatureVerdict {
  const { id, timestamp, signature } = head;
  if (id === "" || id.length > MAX_ID || signature.length > MAX_SIGNATURES) return "signature_invalid";
  const expected = mac(contentOf(id, timestamp, body));
  const given = signature.split(" ").filter((part) => part.startsWith("v1,"));
  const signed = given.some((part) => matches(expected, Buffer.from(part.slice(3), "base64")));
  if (!signed) return "signature_invalid";
  return isFresh(timestamp, nowS, toleranceS) ? "verified" : "too_old";
}

/** The body is never decoded: two ill-formed bodies could read the same as text. */
function contentOf(id: string, timestamp: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
}
