import { createHash, type KeyObject, sign } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import type { LentField, ToSign } from "../lent.ts";
import { readPemKey } from "../pem-key.ts";

/**
 * HTTP Message Signatures (RFC 9421) with Ed25519, over what makes the request: method, whole address, every field that the
 * gateway gives it (a pack may name any, so that no list says which of them matter) and the digest of the body (RFC 9530),
 * at one moment and under a number that is used once.
 */
export function signMessage(request: ToSign, keyId: string, key: Secret, nonce: string): readonly LentField[] {
  const digest = request.body === null ? null : `sha-256=:${sha256(request.body)}:`;
  const covered: readonly (readonly [string, string])[] = [
    ["@method", request.method],
    ["@target-uri", new URL(request.url).href],
    ...Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value] as const),
    ...(digest === null ? [] : [["content-digest", digest] as const]),
  ];
  const about = { created: Math.floor(request.atMs / 1_000), keyId, nonce };
  const { parameters, signature } = signBase(covered, about, readPemKey(key));
  return [
    { name: "signature", value: Secret.fromText(`gw=:${signature.toString("base64")}:`) },
    { name: "signature-input", value: Secret.fromText(`gw=${parameters}`) },
    ...(digest === null ? [] : [{ name: "content-digest", value: Secret.fromText(digest) }]),
  ];
}

export interface SignatureAbout {
  readonly created: number;
  readonly keyId: string;
  readonly nonce: string | null;
}

/** The signature base of RFC 9421, section 2.5, and its signature. */
export function signBase(
  covered: readonly (readonly [string, string])[],
  { created, keyId, nonce }: SignatureAbout,
  key: KeyObject,
): { readonly parameters: string; readonly signature: Buffer } {
  const names = covered.map(([name]) => `"${name}"`).join(" ");
  const once = nonce === null ? "" : `;nonce="${nonce}"`;
  const parameters = `(${names});created=${created};keyid="${keyId}"${once}`;
  const lines = [...covered.map(([name, value]) => `"${name}": ${value}`), `"@signature-params": ${parameters}`];
  return { parameters, signature: sign(null, Buffer.from(lines.join("\n"), "latin1"), key) };
}

/** The key in PEM; anything but Ed25519 is refused at the door. */
export function readSigningKey(given: Secret): Secret {
  const key = readPemKey(given);
  if (key.asymmetricKeyType !== "ed25519") invalid("The key that signs requests is an Ed25519 key in PEM.");
  return Secret.take(Buffer.from(key.export({ type: "pkcs8", format: "pem" })));
}

/** Visible ASCII that needs no escape inside quotes. */
const KEY_ID = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/;

export function readKeyId(keyId: string | undefined): string {
  if (keyId === undefined || !KEY_ID.test(keyId))
    return invalid("The kind http-signature needs --key-id, what the provider calls the key.");
  return keyId;
}

function sha256(data: Buffer): string {
  return createHash("sha256").update(data).digest("base64");
}

function invalid(message: string): never {
  throw new Denied("credential_invalid", message);
}
