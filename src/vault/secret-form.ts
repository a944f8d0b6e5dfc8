import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { readAwsKeys, wipeAwsKeys } from "./aws/keys.ts";
import type { HmacNotation } from "./lent.ts";
import { readSigningKey } from "./signature/sign.ts";
import type { ExchangedKind, TokenExchange } from "./token/exchange.ts";
import { checkParts, provesByCertificate } from "./token/parts.ts";
import type { CredentialKind } from "./vault.ts";

type TextKind = Exclude<CredentialKind, "ssh" | "mtls" | "http-signature" | ExchangedKind>;

/**
 * Checks a secret at the door, so that none can break a header or be too short to be found in a response, and returns
 * the bytes to seal. An error never shows a byte of it.
 */
export function readSecret(kind: TextKind, given: Secret): Secret {
  checkLength(given);
  return given.use((bytes) => Secret.take(readBytes(kind, bytes)));
}

/** The same for what came from a source. */
export function readSourced(
  { kind, exchange }: { readonly kind: CredentialKind; readonly exchange: TokenExchange | null },
  given: Secret,
): Secret {
  if (exchange !== null) return readExchanged(exchange, given);
  switch (kind) {
    case "bearer":
    case "basic":
    case "header":
    case "aws-sigv4":
      return readSecret(kind, given);
    case "http-signature":
      return readSigningKey(given);
    case "oauth2":
    case "jwt-bearer":
    case "github-app":
    case "aws-role":
    case "mtls":
    case "ssh":
    case "hmac":
      return invalid(`The kind ${kind} has no source.`);
  }
}

/** The same for a secret that is exchanged: what it must be depends on how. */
export function readExchanged(exchange: TokenExchange, given: Secret): Secret {
  if (!provesByCertificate(exchange)) checkLength(given);
  given.use((bytes) => checkParts(exchange, bytes));
  return given.copy();
}

function checkLength(given: Secret): void {
  if (given.byteLength > defaults.secretBytes) invalid(`A secret is at most ${defaults.secretBytes} bytes.`);
  if (given.byteLength < defaults.secretBytesMin) {
    invalid(
      `A secret is at least ${defaults.secretBytesMin} bytes: a shorter one could not be found when a provider echoes it.`,
    );
  }
}

function readBytes(kind: TextKind, bytes: Buffer): Buffer {
  switch (kind) {
    case "bearer":
      if (bytes.some((byte) => byte < 0x21 || byte > 0x7e)) invalid("A bearer token is visible ASCII without spaces.");
      return Buffer.from(bytes);
    case "header":
      if (bytes.some((byte) => byte < 0x20 || byte > 0x7e) || bytes[0] === 0x20 || bytes.at(-1) === 0x20) {
        invalid("A header value is printable ASCII without spaces around it.");
      }
      return Buffer.from(bytes);
    case "basic":
      if (!bytes.includes(0x3a) || bytes.some((byte) => byte < 0x20 || byte === 0x7f)) {
        invalid("A basic credential is USER:PASSWORD without control characters.");
      }
      return Buffer.from(bytes);
    case "aws-sigv4": {
      const keys = readAwsKeys(bytes);
      if (keys === undefined)
        invalid("An AWS key is ACCESS_KEY_ID:SECRET_ACCESS_KEY, or with :SESSION_TOKEN after it.");
      wipeAwsKeys(keys);
      return Buffer.from(bytes);
    }
    case "hmac": {
      using key = Secret.take(readHmacKey(bytes, "standard_webhooks"));
      if (hasPrefix(bytes) && key.byteLength < 16) invalid("The key after whsec_ is not base64 of 16 bytes or more.");
      // Sealed as it was given: what the same text means is for the provider's scheme to say.
      return Buffer.from(bytes);
    }
  }
}

const PREFIX = Buffer.from("whsec_");

function hasPrefix(bytes: Buffer): boolean {
  return bytes.subarray(0, PREFIX.length).equals(PREFIX);
}

/** A copy of the key that a callback secret stands for. Only Standard Webhooks has it in base64; Stripe takes the text. */
export function readHmacKey(bytes: Buffer, notation: HmacNotation): Buffer {
  if (notation === "text" || !hasPrefix(bytes)) return Buffer.from(bytes);
  return Buffer.from(bytes.subarray(PREFIX.length).toString("latin1"), "base64");
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}
