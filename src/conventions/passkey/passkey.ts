import { createHash, createPublicKey, type KeyObject, verify } from "node:crypto";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";

/**
 * A key that only a hand can use. Its operator signed for it with the key of the vault: nobody who signs policy can give
 * somebody else a passkey, and what a passkey decided can be checked long after it was removed.
 */
export interface Passkey {
  readonly operator: string;
  readonly operatorKeyId: string;
  /** The person's own word for it. */
  readonly name: string;
  /** Base64url, as the browser names it. */
  readonly credentialId: string;
  readonly algorithm: PasskeyAlgorithm;
  /** SubjectPublicKeyInfo, DER, base64url. */
  readonly publicKey: string;
  readonly rpId: string;
  /** The one place where it decides. */
  readonly origin: string;
  /** What its counter said when it was enrolled. */
  readonly counter: number;
  readonly enrolledAt: string;
}

export type PasskeyAlgorithm = "ES256" | "EdDSA";

/** With the signature of its operator's key, base64url. */
export interface EnrolledPasskey extends Passkey {
  readonly signature: string;
}

export function passkeyRecord(passkey: EnrolledPasskey): JsonObject {
  return {
    operator: passkey.operator,
    operator_key_id: passkey.operatorKeyId,
    name: passkey.name,
    credential_id: passkey.credentialId,
    algorithm: passkey.algorithm,
    public_key: passkey.publicKey,
    rp_id: passkey.rpId,
    origin: passkey.origin,
    counter: passkey.counter,
    enrolled_at: passkey.enrolledAt,
    signature: passkey.signature,
  };
}

/** What an operator signs to make a passkey theirs. */
export function enrolmentBytes(passkey: Passkey, vaultId: string): Buffer {
  const { signature: _, ...members } = passkeyRecord({ ...passkey, signature: "" });
  return Buffer.from(`gw passkey v1\0${canonicalJson({ vault_id: vaultId, ...members })}`, "utf8");
}

export function signEnrolment(
  passkey: Passkey,
  vaultId: string,
  approver: { sign(bytes: Buffer): Buffer },
): EnrolledPasskey {
  return { ...passkey, signature: approver.sign(enrolmentBytes(passkey, vaultId)).toString("base64url") };
}

/** Whether the operator whose it says it is signed for it. */
export function isEnrolledBy(
  passkey: EnrolledPasskey,
  vaultId: string,
  operators: readonly { readonly name: string; readonly keyId: string; readonly publicKey: KeyObject }[],
): boolean {
  const owner = operators.find(({ keyId, name }) => keyId === passkey.operatorKeyId && name === passkey.operator);
  if (owner === undefined) return false;
  const signature = Buffer.from(passkey.signature, "base64url");
  return verify(null, enrolmentBytes(passkey, vaultId), owner.publicKey, signature);
}

/** The key behind the bytes, where they are one of the two kinds that count and spelled as we would spell it. */
export function readPasskeyKey(algorithm: PasskeyAlgorithm, spki: Buffer): KeyObject {
  try {
    const key = createPublicKey({ key: spki, format: "der", type: "spki" });
    const fits =
      algorithm === "EdDSA"
        ? key.asymmetricKeyType === "ed25519"
        : key.asymmetricKeyType === "ec" && key.asymmetricKeyDetails?.namedCurve === "prime256v1";
    if (fits && key.export({ format: "der", type: "spki" }).equals(spki)) return key;
  } catch {
    // Falls through to the one message about keys.
  }
  throw new Denied("passkey_malformed", `The public key of a passkey is no ${algorithm} key. Nothing was changed.`);
}

export function hashRpId(rpId: string): Buffer {
  return createHash("sha256").update(rpId, "utf8").digest();
}
