import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { SignJWT } from "jose";
import type { Clock } from "../../../../src/kernel/clock.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import type { Identify } from "../identify.ts";

export const ISSUER = "https://issuer.reference.example";
export const AUDIENCE = "https://reference.example";
export const TOKEN_TYPE = "at+jwt";

export interface TokenKeys {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
}

/** What a token says. `issuer` and `audience` may be set wrong on purpose, to try that they are looked at. */
export interface TokenRequest {
  readonly actor: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
  readonly expiresInMs?: number;
  readonly issuer?: string;
  readonly audience?: string;
}

export function generateTokenKey(): string {
  return generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

export function readTokenKeys(pem: string): TokenKeys {
  const privateKey = createPrivateKey(pem);
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

export function issueToken(keys: TokenKeys, clock: Clock, identify: Identify, request: TokenRequest): Promise<string> {
  const nowS = Math.floor(clock.wallMs() / 1000);
  return new SignJWT({ tenant: request.tenant, scope: request.scopes.join(" ") })
    .setProtectedHeader({ alg: "EdDSA", typ: TOKEN_TYPE })
    .setSubject(request.actor)
    .setIssuer(request.issuer ?? ISSUER)
    .setAudience(request.audience ?? AUDIENCE)
    .setJti(identify("tok"))
    .setIssuedAt(nowS)
    .setExpirationTime(nowS + Math.ceil((request.expiresInMs ?? defaults.referenceTokenMs) / 1000))
    .sign(keys.privateKey);
}
