import type { NewEvent } from "../../audit/event.ts";
import type { DecisionStatement, RevocationStatement, Verified } from "../../conventions/approval/decision.ts";
import { narrowBudget } from "../../conventions/budget/budget.ts";
import { readLimits } from "../../conventions/budget/record.ts";
import { authorityLine } from "../../conventions/caller/authority.ts";
import { encodeCaller } from "../../conventions/caller/evidence.ts";
import { beginSession, mayContinue, type SessionEnding } from "../../conventions/caller/session.ts";
import type { Grant } from "../../conventions/grant/grant.ts";
import { narrowScope } from "../../conventions/scope/scope.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId, SessionId } from "../../kernel/ids.ts";
import { type CallAsked, writeQuestion } from "../approval/cards.ts";
import { needsPerson } from "../approval/demand.ts";
import { requireVolume } from "../core.ts";
import { requireLiveCaller } from "../outbound/admit.ts";
import { findGrant, standOn } from "../outbound/grants.ts";
import type { LiveCaller } from "../ports.ts";
import { nameCaller } from "../record/record.ts";
import { runRow } from "../record/rows.ts";
import { payerOf } from "../record/written.ts";
import type { RunNeeds } from "./needs.ts";
import type { Admission, Footing, Run, Session } from "./run.ts";

/** Asks a person to tie this caller to the run, or does so where a grant in signed policy decides it ahead. */
export function requestSession(
  core: RunNeeds,
  run: Run,
  caller: LiveCaller,
  mode: "session" | "join",
  call: CallAsked | null,
): Admission {
  const grant = mode === "session" ? findGrant(core, run.asked, caller, run.kin !== null) : null;
  if (grant !== null && !needsPerson(core, run.asked.actions)) {
    const session = startUnderGrant(core, run, caller, grant);
    session.catch(() => undefined);
    return { approvalId: "" as ApprovalId, callerKey: caller.key, session };
  }
  if (mode === "join") requireVolume(core, caller);
  // The question outlives the connection that it came over, and goes with the process that asked.
  const asker = caller.binding === "process" ? caller.retain() : caller;
  const letGo = (): void => {
    if (asker !== caller) asker.close();
  };
  try {
    const ask = core.desk.ask(writeQuestion(core, { mode, run, caller: asker, scope: run.asked, call }));
    asker.onExit(() => void takeBack(core, run, asker.key).catch(() => undefined));
    const admission = admissionOf(core, run, asker, ask);
    admission.session.then(letGo, letGo);
    return call === null ? admission : { ...admission, merged: true, decision: ask.answer };
  } catch (error) {
    letGo();
    throw error;
  }
}

async function takeBack(core: RunNeeds, run: Run, callerKey: string): Promise<void> {
  if (run.state === "pending") await endRun(core, run, "process_exited");
  else
    await core.desk.withdraw(
      "process_exited",
      (approval) => approval.runId === run.id && approval.callerKey === callerKey,
    );
}

/** One card serves both when a call that needs its own approval comes while the session's question is still open. */
export function mergeIntoAdmission(
  core: RunNeeds,
  run: Run,
  caller: LiveCaller,
  call: CallAsked,
): Promise<Verified<DecisionStatement>> | null {
  const { admission } = run;
  if (admission === null || admission.callerKey !== caller.key || admission.merged === true) return null;
  if (!core.volume.asks(payerOf(caller.uid))) return null;
  const question = writeQuestion(core, { mode: "session", run, caller, scope: run.asked, call });
  const ask = core.desk.supersede(admission.approvalId, question);
  if (ask === null) return null;
  run.admission = { ...admission, approvalId: ask.approvalId, merged: true };
  return ask.answer;
}

function admissionOf(
  core: RunNeeds,
  run: Run,
  caller: LiveCaller,
  ask: { readonly approvalId: ApprovalId; readonly answer: Promise<Verified<DecisionStatement>> },
): Admission {
  const session = ask.answer.then(
    (decision) => grantSession(core, run, caller, decision),
    async (refused: unknown) => {
      run.admission = null;
      if (refused instanceof Denied) run.refusal = { code: refused.code, message: refused.message };
      if (run.sessions.size === 0) await endRun(core, run, refused instanceof Denied ? refused.code : "refused");
      throw refused;
    },
  );
  session.catch(() => undefined);
  return { approvalId: ask.approvalId, callerKey: caller.key, session };
}

async function grantSession(
  core: RunNeeds,
  run: Run,
  caller: LiveCaller,
  { statement }: Verified<DecisionStatement>,
): Promise<Session> {
  requireLiveCaller(caller);
  if (run.state === "ended") throw new Denied("run_ended", `The run ended (${run.endReason ?? ""}).`);
  const { narrow } = statement;
  const first = run.sessions.size === 0;
  if (first && narrow !== null && narrow.budget !== null) {
    run.budget = narrowBudget(run.budget, readLimits(narrow.budget, run.budget.limits));
  }
  const scope = narrowScope(run.asked, narrow);
  run.state = "open";
  run.admission = null;
  return startSession(core, run, caller, {
    scope,
    approvalId: statement.approval_id as ApprovalId,
    approvedBy: statement.operator,
    approvedAt: isoTime(core.ports.clock.wallMs()),
    grant: null,
  });
}

/** Ties the caller to the run by a decision made ahead; every call is held against it again. */
async function startUnderGrant(core: RunNeeds, run: Run, caller: LiveCaller, grant: Grant): Promise<Session> {
  requireLiveCaller(caller);
  run.budget = narrowBudget(run.budget, grant.limits);
  run.state = "open";
  run.admission = null;
  return startSession(core, run, caller, {
    scope: run.asked,
    approvalId: null,
    approvedBy: `grant ${grant.name}`,
    approvedAt: grant.createdAt,
    grant: standOn(grant),
  });
}

/** Ties the caller to the run. Whoever calls this has just looked at the caller and holds the approval. */
export async function startSession(
  core: RunNeeds,
  run: Run,
  caller: LiveCaller,
  { scope, approvalId, approvedBy, approvedAt, grant }: Footing,
): Promise<Session> {
  const session: Session = {
    id: core.ports.ids.next("ses"),
    runId: run.id,
    caller: caller.binding === "process" ? caller.retain() : caller,
    scope,
    approvalId,
    approvedBy,
    approvedAt,
    grant,
    state: beginSession(),
    endedAt: null,
    endReason: null,
  };
  run.sessions.set(caller.key, session);
  core.book.addSession(session);
  session.caller.onExit((end) => {
    const reason =
      end.kind === "replaced"
        ? "image_replaced"
        : caller.binding === "connection"
          ? "connection_closed"
          : "process_exited";
    void closeSession(core, run, session, reason, null).catch(() => undefined);
  });
  await core.ledger.record("session.started", sessionEvents(core, run, session), [runRow(run)]);
  return session;
}

function sessionEvents(core: Pick<RunNeeds, "envelope">, run: Run, session: Session): NewEvent[] {
  const { evidence } = session.caller;
  const { limits } = run.budget;
  // What was known of the caller first: it is what the session was granted on.
  return [
    {
      ...core.envelope("caller_evidence"),
      run_id: run.id,
      session: session.id,
      caller: encodeCaller(evidence) as never,
      authority: authorityLine(evidence),
      approval: session.approvalId,
      action: null,
      result: "approved",
    },
    {
      ...core.envelope("session_started"),
      run_id: run.id,
      session_id: session.id,
      approval_id: session.approvalId ?? "none",
      caller: nameCaller(session.caller),
      scope: session.scope.actions.map(({ action }) => action),
      budget: {
        attempts: limits.attempts,
        duration_ms: limits.durationMs,
        spend_cents: limits.spendCents,
        side_effects: limits.sideEffects,
      },
      approved_by: session.approvedBy,
      approved_at: session.approvedAt,
    },
  ];
}

/** Ends one session; the run ends with its last one. What was already sent is left to end by itself. */
export async function closeSession(
  core: RunNeeds,
  run: Run,
  session: Session,
  reason: SessionEnding,
  endedBy: string | null,
): Promise<void> {
  const at = isoTime(core.ports.clock.wallMs());
  if (!core.book.endSession(session, reason, at)) return;
  session.caller.close();
  await core.desk.withdraw(
    reason,
    (approval) => approval.runId === run.id && approval.callerKey === session.caller.key,
  );
  await core.ledger.record("session.ended", [
    {
      ...core.envelope("session_ended"),
      run_id: run.id,
      session_id: session.id,
      end_reason: reason,
      ended_at: at,
      ended_by: endedBy,
    },
  ]);
  // What a wrapper started acts only as long as the wrapper's own approval stands.
  if (run.kin !== null && session.caller.key === run.ownerKey) {
    const rest = reason === "process_exited" || reason === "image_replaced" ? "parent_exited" : reason;
    for (const other of run.sessions.values()) await closeSession(core, run, other, rest, endedBy);
  }
  if (![...run.sessions.values()].some(mayContinue)) await endRun(core, run, reason);
}

export async function endRun(core: RunNeeds, run: Run, reason: string): Promise<void> {
  if (run.state === "ended") return;
  run.state = "ended";
  run.endReason = reason;
  core.book.endRun(run);
  run.over.abort();
  await core.desk.withdraw(reason, (approval) => approval.runId === run.id);
  const stop = run.budget.stopReason;
  await core.ledger.record(
    "run.ended",
    [{ ...core.envelope("run_ended"), run_id: run.id, reason, budget_stop_reason: stop }],
    [runRow(run)],
  );
}

/** Ends a session because an operator signed that it ends. */
export async function revokeSession(
  core: RunNeeds,
  { statement, signature }: Verified<RevocationStatement>,
): Promise<void> {
  const session = core.book.session(statement.session_id as SessionId);
  const run = session === undefined ? undefined : core.book.run(session.runId);
  if (session === undefined || run === undefined)
    throw new Denied(
      "not_found",
      "No session has this id since the gateway started, which ended all before. See: gw sessions",
    );
  if (!mayContinue(session)) return;
  await core.ledger.record("session.revoked", [
    {
      ...core.envelope("session_revoked"),
      run_id: run.id,
      session_id: session.id,
      operator: statement.operator,
      operator_key_id: statement.operator_key_id,
      signature,
      ...(statement.reason === null ? {} : { reason: statement.reason }),
    },
  ]);
  await closeSession(core, run, session, "operator_revoked", statement.operator);
}
