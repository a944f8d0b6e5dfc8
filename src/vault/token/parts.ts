import type { KeyObject } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { readAwsKeys, wipeAwsKeys } from "../aws/keys.ts";
import { RSA_BITS_MIN, readPemKey } from "../pem-key.ts";
import type { TokenExchange } from "./exchange.ts";

/**
 * The sealed bytes of a credential that is exchanged. What proves the client stands alone: its secret, or its private key in
 * PEM. A refresh token stands on a line of its own before that, and the key that tokens are bound to on the first of all.
 */
export interface ExchangeParts {
  readonly refreshToken: Secret | null;
  /** The client's secret or key; null for a client that has none. */
  readonly proof: Secret | null;
  readonly dpopKey: Secret | null;
}

const LINE_END = 0x0a;

/** The caller wipes what it gets. */
export function splitParts({ grant, dpop }: Pick<TokenExchange, "grant" | "dpop">, bytes: Buffer): ExchangeParts {
  const [key, given] = dpop ? splitLine(bytes) : [null, bytes];
  const [refreshToken, proof] = grant === "refresh_token" ? splitLine(given) : [null, given];
  return {
    refreshToken: refreshToken === null ? null : copy(refreshToken),
    proof: proof.length === 0 ? null : copy(proof),
    dpopKey: key === null ? null : copy(key),
  };
}

/** The same of a whole entry; nothing of one that is not exchanged. */
export function openParts(exchange: TokenExchange | null, sealed: Secret): ExchangeParts & Disposable {
  const none: ExchangeParts = { refreshToken: null, proof: null, dpopKey: null };
  const parts = exchange === null ? none : sealed.use((bytes) => splitParts(exchange, bytes));
  return { ...parts, [Symbol.dispose]: () => wipeParts(parts) };
}

/** The secret as it is sealed: with the key that its tokens are bound to before it. */
export function withDpopKey(key: Secret, given: Secret): Secret {
  return key.use((line) => given.use((rest) => Secret.take(Buffer.concat([line, Buffer.of(LINE_END), rest]))));
}

function splitLine(bytes: Buffer): readonly [Buffer, Buffer] {
  const end = bytes.indexOf(LINE_END);
  return end === -1 ? [bytes, bytes.subarray(bytes.length)] : [bytes.subarray(0, end), bytes.subarray(end + 1)];
}

export function wipeParts({ refreshToken, proof, dpopKey }: ExchangeParts): void {
  refreshToken?.wipe();
  proof?.wipe();
  dpopKey?.wipe();
}

/** What is given at the door must be what the exchange needs; the key of its tokens is none of it. An error never shows a byte of it. */
export function checkParts(exchange: TokenExchange, bytes: Buffer): void {
  const parts = splitParts({ ...exchange, dpop: false }, bytes);
  try {
    const { refreshToken, proof } = parts;
    if (refreshToken !== null) visible(refreshToken, "The refresh token, on the first line,");
    if (exchange.grant === "assume_role") {
      const keys = proof?.use(readAwsKeys) ?? refuse("An AWS key is ACCESS_KEY_ID:SECRET_ACCESS_KEY.");
      wipeAwsKeys(keys);
    } else if (usesKey(exchange)) {
      const where = refreshToken === null ? "" : " after the first line";
      algorithmOf(readPemKey(proof ?? refuse(`A private key in PEM is expected${where}.`)), exchange);
    } else if (exchange.clientAuth === "none" || exchange.clientAuth === "tls_client_auth") {
      if (proof !== null) refuse("A client without a secret has a refresh token at most, on one line.");
    } else if (proof === null) refuse("The client's secret is expected on a line of its own, after the refresh token.");
    else visible(proof, "The client's secret");
  } finally {
    wipeParts(parts);
  }
}

/** Nothing is sealed for it: the client certificate, which has an entry of its own, is all it has. */
export function provesByCertificate({ grant, clientAuth }: TokenExchange): boolean {
  return clientAuth === "tls_client_auth" && grant === "client_credentials";
}

export function usesKey({ grant, clientAuth }: TokenExchange): boolean {
  return clientAuth === "private_key_jwt" || grant === "jwt_bearer" || grant === "github_app";
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: "ES256", secp384r1: "ES384", secp521r1: "ES512" };

/** The one JWS algorithm of a key; what a provider would not take is refused at the door. */
export function algorithmOf(key: KeyObject, { grant }: TokenExchange): string {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key;
  if (type === "rsa") {
    if ((details?.modulusLength ?? 0) < RSA_BITS_MIN) refuse(`An RSA key has ${RSA_BITS_MIN} bits or more.`);
    return "RS256";
  }
  if (grant === "github_app") return refuse("The key of a GitHub App is an RSA key.");
  if (type === "ed25519") return "EdDSA";
  return CURVES[details?.namedCurve ?? ""] ?? refuse("The key is RSA, P-256, P-384, P-521 or Ed25519.");
}

function visible(secret: Secret, what: string): void {
  if (secret.use((bytes) => bytes.length === 0 || bytes.some((byte) => byte < 0x21 || byte > 0x7e)))
    refuse(`${what} is visible ASCII without spaces.`);
}

function copy(bytes: Buffer): Secret {
  return Secret.take(Buffer.from(bytes));
}

function refuse(message: string): never {
  throw new Denied("credential_invalid", message);
}
