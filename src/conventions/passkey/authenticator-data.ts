import { createPublicKey } from "node:crypto";
import { Denied } from "../../kernel/failure.ts";
import { type Cbor, type CborMap, readCbor } from "./cbor.ts";
import { hashRpId, type PasskeyAlgorithm } from "./passkey.ts";

/** What an authenticator vouches for (WebAuthn, section 6.1). */
interface AuthenticatorData {
  readonly counter: number;
  readonly attested: { readonly credentialId: Buffer; readonly key: PublicKeyFound } | null;
}

export interface PublicKeyFound {
  readonly algorithm: PasskeyAlgorithm;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Buffer;
}

export const AUTHENTICATOR_DATA_BYTES = 2_048;
const CREDENTIAL_ID_BYTES = 1_023;
const HEAD_BYTES = 37;
const AAGUID_BYTES = 16;
const PRESENT = 0x01;
const VERIFIED = 0x04;
const ATTESTED = 0x40;
const EXTENDED = 0x80;

/** Denied unless it is for this place, a person was there, and the authenticator knew who. Every byte has to be accounted for. */
export function readAuthenticatorData(bytes: Buffer, rpId: string): AuthenticatorData {
  if (bytes.length < HEAD_BYTES || bytes.length > AUTHENTICATOR_DATA_BYTES) return malformed("it has the wrong size");
  if (!bytes.subarray(0, 32).equals(hashRpId(rpId))) {
    throw new Denied("passkey_refused", `The authenticator answered for another place than ${rpId}.`);
  }
  const flags = bytes.readUInt8(32);
  if ((flags & PRESENT) === 0 || (flags & VERIFIED) === 0) {
    throw new Denied(
      "passkey_refused",
      "The authenticator did not check who is there. Use one with a PIN, a finger or a face; touching it is not enough.",
    );
  }
  let rest = bytes.subarray(HEAD_BYTES);
  let attested: AuthenticatorData["attested"] = null;
  if ((flags & ATTESTED) !== 0) {
    const idBytes = rest.length < AAGUID_BYTES + 2 ? 0 : rest.readUInt16BE(AAGUID_BYTES);
    if (idBytes === 0 || idBytes > CREDENTIAL_ID_BYTES || rest.length < AAGUID_BYTES + 2 + idBytes) {
      return malformed("the credential's name is cut off");
    }
    rest = rest.subarray(AAGUID_BYTES + 2);
    const credentialId = Buffer.from(rest.subarray(0, idBytes));
    const { value, length } = readCbor(rest.subarray(idBytes));
    rest = rest.subarray(idBytes + length);
    attested = { credentialId, key: readCoseKey(value) };
  }
  if ((flags & EXTENDED) !== 0) {
    const { value, length } = readCbor(rest);
    if (!(value instanceof Map)) return malformed("its extensions are no map");
    rest = rest.subarray(length);
  }
  if (rest.length > 0) return malformed("bytes follow that belong to nothing");
  return { counter: bytes.readUInt32BE(33), attested };
}

/** COSE (RFC 9053): ES256 on P-256, or EdDSA with Ed25519; these members and no others. */
function readCoseKey(value: Cbor): PublicKeyFound {
  const members: CborMap = value instanceof Map ? value : malformed("its key is no map");
  const coordinate = (label: number): string => {
    const bytes = members.get(label);
    return Buffer.isBuffer(bytes) && bytes.length === 32
      ? bytes.toString("base64url")
      : malformed("its key has a hole");
  };
  const [kind, algorithm, curve] = [members.get(1), members.get(3), members.get(-1)];
  if (kind === 2 && algorithm === -7 && curve === 1 && members.size === 5) {
    return keyOf("ES256", { kty: "EC", crv: "P-256", x: coordinate(-2), y: coordinate(-3) });
  }
  if (kind === 1 && algorithm === -8 && curve === 6 && members.size === 4) {
    return keyOf("EdDSA", { kty: "OKP", crv: "Ed25519", x: coordinate(-2) });
  }
  throw new Denied("passkey_refused", "The authenticator made a key that is neither ES256 nor EdDSA.");
}

function keyOf(algorithm: PasskeyAlgorithm, jwk: Record<string, string>): PublicKeyFound {
  try {
    const key = createPublicKey({ key: jwk, format: "jwk" });
    return { algorithm, publicKey: key.export({ format: "der", type: "spki" }) };
  } catch {
    return malformed("its key is no point of the curve");
  }
}

function malformed(why: string): never {
  throw new Denied("passkey_malformed", `What the authenticator sent cannot be read: ${why}.`);
}
