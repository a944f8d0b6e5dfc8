import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { Secret } from "../../kernel/secret.ts";
import { base64UrlBytes, bytesOfBase64Url } from "../base64.ts";
import { signAssertion } from "./assertion.ts";

/**
 * Proof of possession (RFC 9449): a token that was got with a key is worth nothing to whoever has not got that key. The key is
 * made here, is sealed beside the secret and never leaves; each request has a proof of its own.
 */
export interface ProvenRequest {
  readonly method: string;
  readonly url: string;
  readonly atMs: number;
  /** Never the same twice. */
  readonly proofId: string;
  /** What the server asked to see in the next proof. */
  readonly nonce: string | null;
}

/** P-256, which every server knows that knows any of this. One line: base64url of PKCS #8. */
export function makeDpopKey(): Secret {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const der = privateKey.export({ format: "der", type: "pkcs8" });
  const line = Secret.take(base64UrlBytes(der));
  der.fill(0);
  return line;
}

/** With `token`, the proof is good for that one alone. */
export function dpopProof(key: Secret, about: ProvenRequest, token: Secret | null): Secret {
  const opened = openKey(key);
  const { origin, pathname } = new URL(about.url);
  const claims = {
    htm: about.method,
    htu: `${origin}${pathname}`,
    iat: Math.floor(about.atMs / 1_000),
    jti: about.proofId,
    ...(about.nonce === null ? {} : { nonce: about.nonce }),
    ...(token === null ? {} : { ath: token.use((bytes) => createHash("sha256").update(bytes).digest("base64url")) }),
  };
  return signAssertion(opened, "ES256", { typ: "dpop+jwt", jwk: publicPart(opened) }, claims);
}

/** RFC 7638: by which a server knows the key before it has seen a proof. */
export function thumbprintOf(key: Secret): string {
  const { crv, kty, x, y } = publicPart(openKey(key));
  return createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");
}

function openKey(key: Secret): KeyObject {
  const der = key.use(bytesOfBase64Url);
  try {
    return createPrivateKey({ key: der, format: "der", type: "pkcs8" });
  } finally {
    der.fill(0);
  }
}

function publicPart(key: KeyObject): { readonly [name in "crv" | "kty" | "x" | "y"]: string } {
  const { crv = "", kty = "", x = "", y = "" } = createPublicKey(key).export({ format: "jwk" });
  return { crv, kty, x, y };
}
