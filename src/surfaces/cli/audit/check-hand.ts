import type { Contents } from "../../../audit/journals/contents.ts";
import type { SeenHand } from "../../../audit/verify/report.ts";
import { type DecisionStatement, type OperatorKey, statementBytes } from "../../../conventions/approval/decision.ts";
import {
  type Assertion,
  challengeFor,
  challengeOver,
  verifyAssertion,
} from "../../../conventions/passkey/assertion.ts";
import { isEnrolledBy } from "../../../conventions/passkey/passkey.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonValue } from "../../../kernel/json.ts";
import { keyIdOf, publicKeyOf } from "../../../vault/keys.ts";
import { readPasskey } from "../../../vault/policy/decision-entries.ts";

const DIGEST = /^sha256:([0-9a-f]{64})$/;

/**
 * What stands in clear beside a decision, for whoever has no key to the log: the passkey's enrolment is signed by the operator's
 * key that stands with it, and the passkey answered for a decision with this digest. Whose key that is, the reader has to know.
 */
export function readHand(text: string): SeenHand | undefined {
  try {
    const kept = JSON.parse(text) as JsonValue;
    if (!isJsonObject(kept) || typeof kept["vault_id"] !== "string") return undefined;
    const passkey = readPasskey(kept["passkey"] ?? null, "/passkey");
    const operatorKey = Buffer.from(String(kept["operator_key"]), "base64url");
    const keyId = keyIdOf(operatorKey);
    const owner = { name: passkey.operator, keyId, publicKey: publicKeyOf("ed25519", operatorKey) };
    if (!isEnrolledBy(passkey, kept["vault_id"], [owner])) return undefined;
    const assertion = kept["assertion"] as unknown as Assertion;
    const digest = DIGEST.exec(String(kept["statement_digest"]))?.[1];
    if (digest === undefined) return undefined;
    const challenge = challengeOver(Buffer.from(digest, "hex"));
    const counter = verifyAssertion(assertion, passkey, challenge, passkey.counter - 1);
    const { operator, name, credentialId, publicKey } = passkey;
    return { operator, operatorKey, passkey: name, credentialId, publicKey, counter, statementDigest: digest };
  } catch {
    return undefined;
  }
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
