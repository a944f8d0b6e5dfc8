/**
 * Callbacks from providers: how one proves where it comes from, what it says, and what it may cause. A callback is a hint.
 * It never moves a record: at most one read of the state is made sooner, and what that read shows is what counts.
 */
export interface CallbackRule {
  readonly scheme: CallbackScheme;
  /** The label of the secret in the vault, which only checks callbacks of its pack. */
  readonly credential: string;
  readonly eventId: EventIdPlace;
  /** A JSON Pointer into the body: which job it is about. */
  readonly jobId: string;
}

export type CallbackScheme =
  | { readonly kind: "standard_webhooks" }
  | { readonly kind: "stripe" }
  /** HMAC-SHA256 of the raw body in one header, as GitHub and many others send it. */
  | {
      readonly kind: "hmac_sha256";
      readonly header: string;
      readonly prefix: string;
      readonly encoding: "hex" | "base64";
    };

export type EventIdPlace =
  /** The scheme's own header, which the signature covers. */
  | { readonly kind: "scheme" }
  | { readonly kind: "header"; readonly name: string }
  | { readonly kind: "body"; readonly pointer: string }
  /** The provider has none: the same bytes are the same event. */
  | { readonly kind: "none" };

/** A request as it arrived: names and values alternate, as node:http lists them. */
export interface ReceivedCallback {
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
}

/** HMAC-SHA256 with a key that stays where it is. */
export type Mac = (content: Buffer) => Buffer;

/** A header that came exactly once; what comes twice says two things and counts as absent. */
export function fieldOf(rawHeaders: readonly string[], name: string): string | null {
  const lower = name.toLowerCase();
  let found: string | null = null;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (rawHeaders[at]?.toLowerCase() !== lower) continue;
    if (found !== null) return null;
    found = rawHeaders[at + 1] ?? null;
  }
  return found;
}
