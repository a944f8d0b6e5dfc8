import { limitsRecord } from "../../conventions/budget/record.ts";
import { encodeCaller } from "../../conventions/caller/evidence.ts";
import { scopeRecord } from "../../conventions/scope/scope.ts";
import type { Approval } from "../../gateway/approval/question.ts";
import type { Run, Session } from "../../gateway/run/run.ts";
import type { ApprovalRecord, SessionRecord } from "./answers.ts";

export function approvalRecord(approval: Approval, nowBootMs: number): ApprovalRecord {
  const { card } = approval;
  return {
    approval_id: approval.approvalId,
    state: approval.state,
    run_id: approval.runId,
    call_id: approval.callId,
    mode: approval.mode,
    action: card?.call?.action ?? null,
    created_at: card?.created_at ?? null,
    expires_at: card?.expires_at ?? null,
    expires_in_ms: Math.max(0, Math.round(approval.expiresBootMs - nowBootMs)),
    decided_by: approval.decidedBy,
    reason: approval.reason,
    card_digest: approval.cardDigest,
    given: approval.given.map(({ operator, decidedAt, narrow }) => ({
      operator,
      decided_at: decidedAt,
      narrow,
    })),
    card,
  };
}

/** The session record: caller evidence, what was granted, by whom, and how it ended. */
export function sessionRecord(session: Session, run: Run | undefined): SessionRecord {
  return {
    session_id: session.id,
    run_id: session.runId,
    state: session.state,
    caller: encodeCaller(session.caller.evidence),
    scope_granted: scopeRecord(session.scope),
    budget_granted: run === undefined ? null : limitsRecord(run.budget.limits),
    budget_used:
      run === undefined
        ? null
        : {
            attempts: run.budget.attemptsUsed,
            side_effects: run.budget.sideEffectAttempts,
            spend_cents: run.budget.settledSpendCents + run.budget.reservedSpendCents,
          },
    deadline_at: run?.budget.deadlineAt ?? null,
    purpose: run?.purpose ?? null,
    /** Where it holds whatever it starts: what it said that it would start. */
    command: run?.kin == null || !isOwner(session, run) ? null : (run.command ?? []),
    parents: run === undefined ? [] : parentsOf(session, run),
    approval_id: session.approvalId,
    approved_by: session.approvedBy,
    approved_at: session.approvedAt,
    ended_at: session.endedAt,
    end_reason: session.endReason,
  };
}

function isOwner({ caller }: Session, { ownerKey }: Run): boolean {
  return caller.key === ownerKey;
}

/** Of a process that `gw run` started: those between it and the wrapper, the wrapper last, as the kernel names them now. */
function parentsOf(session: Session, run: Run): readonly number[] {
  const owner = run.sessions.get(run.ownerKey);
  if (run.kin === null || owner === undefined || isOwner(session, run) || session.state === "ended") return [];
  const pids = session.caller.ancestry().map(({ pid }) => pid);
  return pids.slice(0, pids.indexOf(owner.caller.pid) + 1);
}
