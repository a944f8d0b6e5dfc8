import type { Contents } from "../../../audit/journals/contents.ts";
import type { ReadHand } from "../../../audit/verify/hands.ts";
import { type DecisionStatement, type OperatorKey, statementBytes } from "../../../conventions/approval/decision.ts";
import {
  type Assertion,
  challengeFor,
  challengeOver,
  counterIn,
  verifyAssertion,
} from "../../../conventions/passkey/assertion.ts";
import { type EnrolledPasskey, isEnrolledBy } from "../../../conventions/passkey/passkey.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { keyIdOf, publicKeyOf } from "../../../vault/keys.ts";
import { readPasskey } from "../../../vault/policy/decision-entries.ts";

const DIGEST = /^sha256:([0-9a-f]{64})$/;

/** Passkeys of one check whose enrolments are remembered; there are few, and each answers often. */
const PASSKEYS_KEPT = 64;

interface Enrolment {
  readonly passkey: EnrolledPasskey;
  readonly operatorKey: Buffer;
  readonly verified: boolean;
}

/**
 * Reads what stands in clear beside a decision, for whoever has no key to the log: the passkey's enrolment is signed by the operator's
 * key that stands with it, and the passkey answered for a decision with this digest. Whose key that is, the reader has to know. What was
 * verified before is not verified again: there are more with every day.
 */
export function createHandReader(): ReadHand {
  const enrolments = new Map<string, Enrolment>();

  function enrolmentOf({ vault_id, operator_key, passkey: given }: JsonObject, verified: boolean): Enrolment {
    const name = JSON.stringify([vault_id, operator_key, given]);
    const known = enrolments.get(name);
    if (known !== undefined && (verified || known.verified)) return known;
    const passkey = readPasskey(given ?? null, "/passkey");
    const operatorKey = Buffer.from(String(operator_key), "base64url");
    const owner = {
      name: passkey.operator,
      keyId: keyIdOf(operatorKey),
      publicKey: publicKeyOf("ed25519", operatorKey),
    };
    if (!verified && !isEnrolledBy(passkey, String(vault_id), [owner]))
      throw new Denied("signature_invalid", "The operator did not enrol this passkey.");
    if (enrolments.size === PASSKEYS_KEPT) enrolments.clear();
    const found = { passkey, operatorKey, verified: !verified };
    enrolments.set(name, found);
    return found;
  }

  return (text, verified) => {
    try {
      const kept = JSON.parse(text) as JsonValue;
      if (!isJsonObject(kept) || typeof kept["vault_id"] !== "string") return undefined;
      const digest = DIGEST.exec(String(kept["statement_digest"]))?.[1];
      if (digest === undefined) return undefined;
      const { passkey, operatorKey } = enrolmentOf(kept, verified);
      const assertion = kept["assertion"] as unknown as Assertion;
      const counter = counterIn(assertion, passkey);
      if (!verified)
        verifyAssertion(assertion, passkey, challengeOver(Buffer.from(digest, "hex")), passkey.counter - 1);
      const { operator, name, credentialId, publicKey } = passkey;
      return { operator, operatorKey, passkey: name, credentialId, publicKey, counter, statementDigest: digest };
    } catch {
      return undefined;
    }
  };
}

/** Whose signatures count here. */
export interface Signers {
  readonly vaultId: string;
  readonly keys: readonly OperatorKey[];
}

/** Whether a hand was there: null where no passkey answered. */
export type HandCheck = "verifies" | "does_not_verify" | "not_kept" | null;

/**
 * From the log and the operators' keys alone, long after the passkey was removed: its enrolment is signed by its operator, and it
 * answered for exactly this statement. What its counter said before is not known here.
 */
export function checkHand(
  digest: string | undefined,
  statement: DecisionStatement,
  contents: Contents,
  { vaultId, keys }: Signers,
): HandCheck {
  if (digest === undefined) return null;
  const text = contents.find(digest);
  if (text === null) return "not_kept";
  if (digestText(text) !== digest) return "does_not_verify";
  try {
    const kept = JSON.parse(text) as JsonValue;
    if (!isJsonObject(kept)) return "does_not_verify";
    const passkey = readPasskey(kept["passkey"] ?? null, "/passkey");
    const assertion = kept["assertion"] as unknown as Assertion;
    if (!isEnrolledBy(passkey, vaultId, keys) || passkey.operatorKeyId !== statement.operator_key_id)
      return "does_not_verify";
    verifyAssertion(assertion, passkey, challengeFor(statementBytes(statement)), passkey.counter - 1);
    return "verifies";
  } catch (error) {
    if (error instanceof Denied || error instanceof SyntaxError) return "does_not_verify";
    throw error;
  }
}
