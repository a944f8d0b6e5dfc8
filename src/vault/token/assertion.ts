import { type KeyObject, sign } from "node:crypto";
import type { JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";

/** A signed JWT (RFC 7519) in compact form. It opens what it is for until it expires, so it is a secret too. */
export function signAssertion(key: KeyObject, alg: string, more: JsonObject, claims: JsonObject): Secret {
  const text = `${encode({ alg, typ: "JWT", ...more })}.${encode(claims)}`;
  const signature = sign(HASHES[alg] ?? null, Buffer.from(text), { key, dsaEncoding: "ieee-p1363" });
  return Secret.fromText(`${text}.${signature.toString("base64url")}`);
}

/** EdDSA has its own; everything else says in its name which one it takes. */
const HASHES: Readonly<Record<string, string>> = { RS256: "sha256", ES256: "sha256", ES384: "sha384", ES512: "sha512" };

function encode(value: JsonObject): string {
  return Buffer.from(JSON.stringify(value), "utf8").toString("base64url");
}
