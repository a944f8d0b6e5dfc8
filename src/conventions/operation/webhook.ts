import { createHmac, timingSafeEqual } from "node:crypto";

/** Standard Webhooks: `webhook-id`, `webhook-timestamp` and `webhook-signature` over `id.timestamp.body`. */
export interface WebhookHead {
  readonly id: string;
  /** Seconds since the Unix epoch, as text. */
  readonly timestamp: string;
  readonly signature: string;
}

export function webhookContent(id: string, timestamp: string, body: string): string {
  return `${id}.${timestamp}.${body}`;
}

export function signWebhook(key: Buffer, id: string, timestampS: number, body: string): WebhookHead {
  const timestamp = String(timestampS);
  const mac = createHmac("sha256", key)
    .update(webhookContent(id, timestamp, body))
    .digest("base64");
  return { id, timestamp, signature: `v1,${mac}` };
}

/** `mac` computes HMAC-SHA256 with a key that stays where it is. One matching signature of several is enough. */
export function verifyWebhook(
  mac: (content: string) => Buffer,
  head: WebhookHead,
  body: string,
  nowS: number,
  toleranceS: number,
): boolean {
  if (!/^[0-9]{1,12}$/.test(head.timestamp) || head.id === "" || head.id.length > 256) return false;
  if (head.signature.length > 1_024 || Math.abs(nowS - Number(head.timestamp)) > toleranceS) return false;
  const expected = mac(webhookContent(head.id, head.timestamp, body));
  return head.signature.split(" ").some((part) => {
    if (!part.startsWith("v1,")) return false;
    const given = Buffer.from(part.slice(3), "base64");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
