import { createHash } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";
import { AUTHENTICATOR_DATA_BYTES, readAuthenticatorData } from "./authenticator-data.ts";
import { CLIENT_DATA_BYTES, requireClientData } from "./client-data.ts";
import type { Passkey } from "./passkey.ts";

/** What a browser hands out when an authenticator has made a new key; both base64url. */
export interface Registration {
  readonly authenticator_data: string;
  readonly client_data: string;
}

/** A challenge of its own kind: an answer to it can be no decision. */
export function enrolmentChallenge(nonce: Buffer): Buffer {
  return createHash("sha256").update("gw passkey enrolment v1\0", "utf8").update(nonce).digest();
}

/** The new key out of the authenticator's own bytes. Denied unless it was made here, now, and for a verified person. */
export function readRegistration(
  registration: Registration,
  challenge: Buffer,
  place: { readonly rpId: string; readonly origin: string },
): Pick<Passkey, "credentialId" | "algorithm" | "publicKey" | "counter" | "rpId" | "origin"> {
  const clientData = Buffer.from(registration.client_data.slice(0, CLIENT_DATA_BYTES * 2), "base64url");
  const data = Buffer.from(registration.authenticator_data.slice(0, AUTHENTICATOR_DATA_BYTES * 2), "base64url");
  requireClientData(clientData, { type: "webauthn.create", challenge, origin: place.origin });
  const { attested, counter } = readAuthenticatorData(data, place.rpId);
  if (attested === null) throw new Denied("passkey_malformed", "The authenticator made no key.");
  const { algorithm, publicKey } = attested.key;
  return {
    credentialId: attested.credentialId.toString("base64url"),
    algorithm,
    publicKey: publicKey.toString("base64url"),
    counter,
    ...place,
  };
}
