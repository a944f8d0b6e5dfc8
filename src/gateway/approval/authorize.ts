import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import type { Grant } from "../../conventions/grant/grant.ts";
import type { Brand } from "../../kernel/brand.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { standOn } from "../outbound/grants.ts";
import type { Session, StandingOn } from "../run/run.ts";

/**
 * Proof that a person allowed this call: a verified signature over a card or a grant, or a session that one stands behind. Only this
 * file makes one, and an attempt cannot be made without it.
 */
export type Authorization = Brand<
  {
    readonly kind: "session" | "each_use" | "operator" | "grant";
    readonly approvalId: ApprovalId | null;
    readonly authorizedBy: string;
    readonly decidedAt: string;
    /** The inputs that the person put bounds on in saying yes to the card. */
    readonly bounded?: readonly string[];
    /** The very grant that covers this call, whatever its session stands on. */
    readonly grant?: StandingOn;
    /** The log knows of it: retries and confirming reads rest on that of their call. */
    told?: true;
  },
  "Authorization"
>;

export function authorizedByCard(decision: Verified<DecisionStatement>): Authorization {
  const { statement } = decision;
  const bounded: readonly string[] = (statement.narrow?.where ?? []).map(({ input }) => input);
  return {
    kind: "each_use",
    approvalId: statement.approval_id as ApprovalId,
    authorizedBy: statement.operator,
    decidedAt: statement.decided_at,
    ...(bounded.length === 0 ? {} : { bounded }),
  } as Authorization;
}

export function authorizedBySession(session: Session): Authorization {
  return {
    kind: session.grant === null ? "session" : "grant",
    approvalId: session.approvalId,
    authorizedBy: session.approvedBy,
    decidedAt: session.approvedAt,
  } as Authorization;
}

/** A decision made ahead covers this very call. */
export function authorizedByGrant(grant: Grant): Authorization {
  const { name, createdAt: decidedAt } = grant;
  const authorizedBy = `grant ${name}`;
  return { kind: "grant", approvalId: null, authorizedBy, decidedAt, grant: standOn(grant) } as Authorization;
}

/** An operator who is logged in asks for it themselves. The plane has verified who that is. */
export function authorizedByOperator(operator: string, at: string): Authorization {
  return { kind: "operator", approvalId: null, authorizedBy: operator, decidedAt: at } as Authorization;
}

/** What a call needs before it can be sent, such as a token, rests on what the call rests on. */
export function authorizedWith(authorization: Authorization): Authorization {
  return { ...authorization };
}

/** As records name it: how, by whom, under which approval. */
export function describeAuthorization(authorization: Authorization): string {
  const { kind, approvalId, authorizedBy } = authorization;
  const grant = grantOf(authorization);
  if (grant !== null) return `grant:${grant}`;
  return `${kind}:${approvalId ?? authorizedBy}`;
}

/** The name of the grant that it rests on; null where a person decided. */
export function grantOf({ kind, authorizedBy }: Authorization): string | null {
  return kind === "grant" ? authorizedBy.slice("grant ".length) : null;
}
