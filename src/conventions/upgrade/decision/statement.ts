import { verify } from "node:crypto";
import { canonicalJson } from "../../../kernel/canonical-json.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { OperatorKey } from "../../approval/decision.ts";

export const verdicts = ["accepted", "rejected", "narrowed"] as const;
export type Verdict = (typeof verdicts)[number];

/**
 * What a reviewer signs about one difference. The id covers the change itself, so that a signature never speaks for
 * another one; `format` keeps it apart from every other statement that the same key signs.
 */
export type UpgradeDecision = {
  readonly format: "gw.upgrade-decision/v1";
  /** The API under review, as the review file names it. */
  readonly api: string;
  readonly difference: string;
  readonly verdict: Verdict;
  readonly reason: string;
  /** What is done so that less can be reached, such as the label of a narrower identity. */
  readonly narrowing: string | null;
  readonly operator: string;
  readonly operator_key_id: string;
  readonly decided_at: string;
};

export interface SignedDecision {
  readonly statement: UpgradeDecision;
  /** Base64 of the Ed25519 signature over the canonical statement. */
  readonly signature: string;
}

/** The reviewer's key, wherever it lives; this room never sees it. */
export interface Reviewer {
  readonly operator: string;
  readonly keyId: string;
  sign(bytes: Buffer): Buffer;
}

export function signDecision(
  decision: Omit<UpgradeDecision, "format" | "operator" | "operator_key_id">,
  reviewer: Reviewer,
): SignedDecision {
  const statement: UpgradeDecision = {
    format: "gw.upgrade-decision/v1",
    ...decision,
    operator: reviewer.operator,
    operator_key_id: reviewer.keyId,
  };
  return { statement, signature: reviewer.sign(decisionBytes(statement)).toString("base64") };
}

/** True only for a key that is enrolled under exactly the name that the statement gives. */
export function verifyDecision({ statement, signature }: SignedDecision, keys: readonly OperatorKey[]): boolean {
  const key = keys.find(({ name, keyId }) => name === statement.operator && keyId === statement.operator_key_id);
  if (key === undefined) return false;
  return verify(null, decisionBytes(statement), key.publicKey, Buffer.from(signature, "base64"));
}

function decisionBytes(statement: UpgradeDecision): Buffer {
  return Buffer.from(canonicalJson(statement as unknown as JsonObject), "utf8");
}
