import { createHash, verify } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { AUTHENTICATOR_DATA_BYTES, readAuthenticatorData } from "./authenticator-data.ts";
import { CLIENT_DATA_BYTES, requireClientData } from "./client-data.ts";
import { type Passkey, readPasskeyKey } from "./passkey.ts";

/** An authenticator's answer, as the browser hands it out; all of it base64url. */
export interface Assertion {
  readonly credential_id: string;
  readonly authenticator_data: string;
  readonly client_data: string;
  readonly signature: string;
}

const SIGNATURE_BYTES = 128;

/** What the authenticator is asked to sign: over a digest of the statement, which names the exact card by its own. */
export function challengeFor(statement: Buffer): Buffer {
  return challengeOver(createHash("sha256").update(statement).digest());
}

/** The same for whoever knows the digest alone, the statement being sealed. A login's answer has no such digest. */
export function challengeOver(statementHash: Buffer): Buffer {
  return createHash("sha256").update("gw decision by passkey v2\0", "utf8").update(statementHash).digest();
}

/**
 * Denied unless this very passkey signed this very challenge, at its own place, with its person verified, and its counter went
 * on. Returns what the counter says now.
 */
export function verifyAssertion(
  assertion: Assertion,
  passkey: Passkey,
  challenge: Buffer,
  counterBefore: number,
): number {
  if (assertion.credential_id !== passkey.credentialId) {
    throw new Denied("passkey_refused", "Another passkey answered than the one that was asked.");
  }
  const authenticatorData = bytesOf(assertion.authenticator_data, AUTHENTICATOR_DATA_BYTES);
  const clientData = bytesOf(assertion.client_data, CLIENT_DATA_BYTES);
  const signature = bytesOf(assertion.signature, SIGNATURE_BYTES);
  requireClientData(clientData, { type: "webauthn.get", challenge, origin: passkey.origin });
  const counter = counterIn(assertion, passkey);
  const key = readPasskeyKey(passkey.algorithm, Buffer.from(passkey.publicKey, "base64url"));
  const signed = Buffer.concat([authenticatorData, createHash("sha256").update(clientData).digest()]);
  if (!verify(passkey.algorithm === "ES256" ? "sha256" : null, signed, key, signature)) {
    throw new Denied("signature_invalid", "The passkey did not sign exactly this. Nothing was changed.");
  }
  // An authenticator that does not count says 0 for ever; one that counts never says the same twice.
  if ((counter !== 0 || counterBefore !== 0) && counter <= counterBefore) {
    throw new Denied(
      "passkey_cloned",
      `The passkey ${passkey.name} has counted back from ${counterBefore} to ${counter}: there may be a second one. Remove it with gw passkey remove, and find out.`,
    );
  }
  return counter;
}

/** What the counter says in an answer, whoever signed it. */
export function counterIn({ authenticator_data }: Assertion, { rpId }: Pick<Passkey, "rpId">): number {
  const { counter, attested } = readAuthenticatorData(bytesOf(authenticator_data, AUTHENTICATOR_DATA_BYTES), rpId);
  if (attested !== null) throw new Denied("passkey_malformed", "An answer brings no key of its own.");
  return counter;
}

export function assertionRecord(assertion: Assertion): JsonObject {
  const { credential_id, authenticator_data, client_data, signature } = assertion;
  return { credential_id, authenticator_data, client_data, signature };
}

/** One spelling for the same bytes. */
function bytesOf(text: string, max: number): Buffer {
  const bytes = Buffer.from(text, "base64url");
  if (bytes.toString("base64url") === text && bytes.length > 0 && bytes.length <= max) return bytes;
  throw new Denied("passkey_malformed", "A part of the passkey's answer is not base64url of a fitting size.");
}
