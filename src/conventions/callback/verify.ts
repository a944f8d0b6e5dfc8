import { type CallbackScheme, fieldOf, type Mac, type ReceivedCallback } from "./callback.ts";
import { isFresh, matches } from "./match.ts";
import { type SignatureVerdict, verifyWebhook } from "./standard-webhooks.ts";

const MAX_FIELD = 1_024;
const HEX_MAC = /^[0-9a-fA-F]{64}$/;
const BASE64_MAC = /^[A-Za-z0-9+/]{43}=$/;

/**
 * Checks a callback per its provider's contract, over the bytes as they came. Age is looked at last: only what was signed
 * is worth calling old. A scheme without a time cannot tell a replay, which is why a callback is no more than a hint.
 */
export function verifyCallback(
  scheme: CallbackScheme,
  received: ReceivedCallback,
  mac: Mac,
  nowS: number,
  toleranceS: number,
): SignatureVerdict {
  const { rawHeaders, body } = received;
  const field = (name: string): string => fieldOf(rawHeaders, name) ?? "";
  switch (scheme.kind) {
    case "standard_webhooks": {
      const timestamp = field("webhook-timestamp");
      const head = { id: field("webhook-id"), timestamp, signature: field("webhook-signature") };
      return verifyWebhook(mac, head, body, nowS, toleranceS);
    }
    case "stripe":
      return verifyStripe(mac, field("stripe-signature"), body, nowS, toleranceS);
    case "hmac_sha256": {
      const value = field(scheme.header);
      const expected = mac(body);
      if (value.length > MAX_FIELD || !value.startsWith(scheme.prefix)) return "signature_invalid";
      const given = value.slice(scheme.prefix.length);
      const whole = scheme.encoding === "hex" ? HEX_MAC.test(given) : BASE64_MAC.test(given);
      return whole && matches(expected, Buffer.from(given, scheme.encoding)) ? "verified" : "signature_invalid";
    }
  }
}

/** `t=SECONDS,v1=HEX,…` over `t.body`. */
function verifyStripe(mac: Mac, value: string, body: Buffer, nowS: number, toleranceS: number): SignatureVerdict {
  if (value.length > MAX_FIELD) return "signature_invalid";
  const pairs = value.split(",").map((part) => part.trim());
  const times = pairs.filter((part) => part.startsWith("t=")).map((part) => part.slice(2));
  const [timestamp = ""] = times;
  const expected = mac(Buffer.concat([Buffer.from(`${timestamp}.`), body]));
  const given = pairs.filter((part) => part.startsWith("v1=")).map((part) => part.slice(3));
  const signed = given.some((text) => HEX_MAC.test(text) && matches(expected, Buffer.from(text, "hex")));
  if (!signed || times.length !== 1) return "signature_invalid";
  return isFresh(timestamp, nowS, toleranceS) ? "verified" : "too_old";
}
