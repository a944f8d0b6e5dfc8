import { type KeyObject, verify } from "node:crypto";
import type { Brand } from "../../kernel/brand.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { LimitsRecord } from "../budget/record.ts";
import type { ActionCondition } from "../grant/condition.ts";
import type { OperationErrand } from "../operation/errand.ts";
import { type Assertion, challengeFor, verifyAssertion } from "../passkey/assertion.ts";
import type { EnrolledPasskey } from "../passkey/passkey.ts";

/**
 * A decision is a signature by an operator's approver key over a statement that names the exact card by its digest.
 * The gateway can verify one and cannot make one.
 */
export type DecisionStatement = {
  readonly format: "gw.decision/v1";
  readonly vault_id: string;
  readonly approval_id: string;
  readonly card_digest: string;
  readonly decision: "approve" | "deny";
  readonly reason: string | null;
  readonly narrow: Narrowing | null;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly decided_at: string;
  /** The head of the log that the operator saw when deciding. */
  readonly log_head: { readonly frame: string; readonly link: string };
  /** The newest vault and policy that the signer knows; a gateway behind them does not act on a yes. */
  readonly knows?: { readonly vault: number; readonly policy: number };
  /** The signed work context that the person assigned while approving. The statement's signature covers it too. */
  readonly ticket_context?: string;
};

/** What the person took away while approving. */
export type Narrowing = {
  readonly actions: readonly string[] | null;
  readonly request_bytes: number | null;
  readonly budget: LimitsRecord | null;
  /** What the arguments of its actions have to be; absent where the person said nothing of them. */
  readonly where?: readonly ActionCondition[];
};

/** An operator ends a session now. */
export type RevocationStatement = {
  readonly format: "gw.revocation/v1";
  readonly vault_id: string;
  readonly session_id: string;
  readonly reason: string | null;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly decided_at: string;
};

/** An operator says what became of an operation, where nothing else can. */
export type SettlementStatement = {
  readonly format: "gw.settlement/v1";
  readonly vault_id: string;
  readonly operation_id: string;
  /** Of the request as it was sent: what is settled is this and nothing else. */
  readonly request_fingerprint: string;
  readonly happened: boolean;
  readonly reason: string;
  /** Why not to wait for evidence that may still come by itself; null where none would. */
  readonly although: string | null;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly decided_at: string;
};

/** What a gateway answers to an errand that is still on its way to the provider: no state of the operation. */
export const ERRAND_UNDER_WAY = "asked";

/** An operator asks one thing of one operation, once. */
export type ErrandStatement = {
  readonly format: "gw.errand/v1";
  readonly vault_id: string;
  /** Whom it is for: whoever takes the operation over afterwards has not been asked. */
  readonly gateway: string;
  readonly operation_id: string;
  readonly request_fingerprint: string;
  readonly errand: OperationErrand;
  readonly reason: string;
  /** Tells two like words apart: each is taken once. */
  readonly nonce: string;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly decided_at: string;
};

/** An operator gives one card more time. Its next one has another digest, so that each such word is taken once. */
export type ExtensionStatement = {
  readonly format: "gw.extension/v1";
  readonly vault_id: string;
  readonly approval_id: string;
  readonly card_digest: string;
  readonly seconds: number;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly decided_at: string;
};

/** Answers a challenge: proves that whoever speaks on the operator plane holds the approver key. */
export type LoginStatement = {
  readonly format: "gw.login/v1";
  readonly vault_id: string;
  readonly challenge: string;
  readonly operator: string;
  readonly operator_key_id: string;
  /** Such a login may look at everything and do nothing. */
  readonly reads_only?: true;
};

/** An operator locks the gateway now, without logging in first. The challenge keeps it from being said a second time. */
export type LockStatement = {
  readonly format: "gw.lock/v1";
  readonly vault_id: string;
  readonly challenge: string;
  readonly reason: string;
  readonly operator: string;
  readonly operator_key_id: string;
};

export type OperatorStatement =
  | DecisionStatement
  | RevocationStatement
  | SettlementStatement
  | ErrandStatement
  | ExtensionStatement
  | LoginStatement
  | LockStatement;

export interface Signed<Statement extends OperatorStatement> {
  readonly statement: Statement;
  /** Base64 of the Ed25519 signature over the canonical statement. */
  readonly signature: string;
}

/** A decision with the answer of a passkey beside the signature, where one was given: a hand was there. */
export interface GivenDecision extends Signed<DecisionStatement> {
  readonly assertion?: Assertion;
}

/** A statement whose signature was checked against an enrolled key, and by whom it was made. */
export type Verified<Statement extends OperatorStatement> = Brand<Signed<Statement>, "Verified">;

export interface OperatorKey {
  readonly name: string;
  readonly keyId: string;
  readonly publicKey: KeyObject;
}

export function signStatement<Statement extends OperatorStatement>(
  statement: Statement,
  approver: { sign(bytes: Buffer): Buffer },
): Signed<Statement> {
  return { statement, signature: approver.sign(statementBytes(statement)).toString("base64") };
}

export function statementBytes(statement: OperatorStatement): Buffer {
  return Buffer.from(canonicalJson(statement as unknown as JsonObject), "utf8");
}

/** Checks who signed. Denied `signature_invalid` for an unknown key, another operator's name, or bytes that do not verify. */
export function verifyStatement<Statement extends OperatorStatement>(
  signed: Signed<Statement>,
  vaultId: string,
  operators: readonly OperatorKey[],
): Verified<Statement> {
  const { statement, signature } = signed;
  const key = operators.find(({ keyId }) => keyId === statement.operator_key_id);
  const bytes = Buffer.from(signature, "base64");
  if (
    key === undefined ||
    key.name !== statement.operator ||
    statement.vault_id !== vaultId ||
    bytes.toString("base64") !== signature ||
    !verify(null, statementBytes(statement), key.publicKey, bytes)
  ) {
    throw new Denied(
      "signature_invalid",
      "The signature is not one of an operator of this gateway over exactly this statement. Nothing was changed.",
    );
  }
  return signed as Verified<Statement>;
}

/** A verified decision fits a card only when it names that card by id and digest; what was shown is what was signed. */
export function requireSameCard(
  { statement }: Verified<DecisionStatement> | Verified<ExtensionStatement>,
  approvalId: string,
  cardDigest: string,
): void {
  if (statement.approval_id !== approvalId || statement.card_digest !== cardDigest) {
    throw new Denied("card_mismatch", "This was signed for another card, or for an earlier state of this one.");
  }
}

/**
 * The passkey that answered for exactly this decision, and what its counter says now. It has to be one of the operator who signs:
 * with somebody else's hand nobody decides.
 */
export function verifyHand(
  { statement }: { readonly statement: DecisionStatement },
  assertion: Assertion,
  passkeys: readonly EnrolledPasskey[],
  counterOf: (passkey: EnrolledPasskey) => number,
): { readonly passkey: EnrolledPasskey; readonly counter: number } {
  const passkey = passkeys.find(
    ({ credentialId, operatorKeyId }) =>
      credentialId === assertion.credential_id && operatorKeyId === statement.operator_key_id,
  );
  if (passkey === undefined) {
    throw new Denied(
      "passkey_refused",
      "This is no passkey of the operator who signs. See yours with: gw passkey list. Nothing was decided.",
    );
  }
  const challenge = challengeFor(statementBytes(statement));
  return { passkey, counter: verifyAssertion(assertion, passkey, challenge, counterOf(passkey)) };
}
