import type { NewEvent } from "../../audit/event.ts";
import type { DecisionStatement, Verified } from "../../conventions/approval/decision.ts";
import { narrowBudget } from "../../conventions/budget/budget.ts";
import { readLimits } from "../../conventions/budget/record.ts";
import { authorityLine } from "../../conventions/caller/authority.ts";
import { encodeCaller } from "../../conventions/caller/evidence.ts";
import { beginSession } from "../../conventions/caller/session.ts";
import type { Grant } from "../../conventions/grant/grant.ts";
import { narrowScope } from "../../conventions/scope/scope.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { type CallAsked, writeQuestion } from "../approval/cards.ts";
import { needsPerson } from "../approval/demand.ts";
import { requireVolume } from "../core.ts";
import { requireLiveCaller } from "../outbound/admit.ts";
import { findGrant, standOn } from "../outbound/grants.ts";
import type { LiveCaller } from "../ports.ts";
import { nameCaller } from "../record/record.ts";
import { openingRow } from "../record/rows.ts";
import { payerOf } from "../record/written.ts";
import { closeSession, endRun, tellNext } from "./end.ts";
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
    return admissionOf(core, run, caller, { approvalId: null, mode }, startUnderGrant(core, run, caller, grant));
  }
  if (mode === "join") requireVolume(core, caller);
  // The question outlives the connection that it came over, and goes with the process that asked.
  const asker = caller.binding === "process" ? caller.retain() : caller;
  const letGo = (): void => {
    if (asker === caller) return;
    core.callers.keep(asker);
    asker.close();
  };
  try {
    const ask = core.desk.ask(writeQuestion(core, { mode, run, caller: asker, scope: run.asked, call }));
    asker.onExit(() => void takeBack(core, run, asker.key).catch(() => undefined));
    const starting = ask.answer.then((decision) => grantSession(core, run, asker, decision));
    const admission = admissionOf(core, run, asker, { approvalId: ask.approvalId, mode }, starting);
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
  if (admission.approvalId === null) return null;
  if (!core.volume.asks(payerOf(caller.uid))) return null;
  const question = writeQuestion(core, { mode: admission.mode, run, caller, scope: run.asked, call });
  const ask = core.desk.supersede(admission.approvalId, question);
  if (ask === null) return null;
  run.admission = { ...admission, approvalId: ask.approvalId, merged: true };
  return ask.answer;
}

/** Open until the session began or came to nothing; a run that has no other session is over then. */
function admissionOf(
  core: RunNeeds,
  run: Run,
  caller: LiveCaller,
  asked: Pick<Admission, "approvalId" | "mode">,
  starting: Promise<Session>,
): Admission {
  const close = (): void => {
    if (run.admission?.session === session) run.admission = null;
  };
  const session = starting.then(
    (started) => {
      close();
      return started;
    },
    async (refused: unknown) => {
      close();
      if (refused instanceof Denied) run.refusal = { code: refused.code, message: refused.message };
      if (run.sessions.size === 0) await endRun(core, run, refused instanceof Denied ? refused.code : "refused");
      throw refused;
    },
  );
  session.catch(() => undefined);
  return { ...asked, callerKey: caller.key, session };
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
  // Of a card that lets the run begin: no other takes it.
  if (narrow !== null && narrow.budget !== null) {
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
    begun: Promise.resolve(),
    endedAt: null,
    endReason: null,
  };
  run.sessions.set(caller.key, session);
  core.book.addSession(session);
  const events = sessionEvents(core, run, session);
  // In line before anything can end it.
  session.begun = tellNext(run, () => tellStart(core, run, session, events));
  session.caller.onExit((end) => {
    const reason =
      end.kind === "replaced"
        ? "image_replaced"
        : caller.binding === "connection"
          ? "connection_closed"
          : "process_exited";
    void closeSession(core, run, session, reason, null).catch(() => undefined);
  });
  await session.begun;
  return session;
}

/** A person may have said yes to it, so it waits for room in the log. Where the log takes nothing any more it never began. */
async function tellStart(
  { book, ledger, ports }: RunNeeds,
  run: Run,
  session: Session,
  events: readonly NewEvent[],
): Promise<void> {
  try {
    await ledger.record("session.started", events, () => [openingRow(run, session)]);
  } catch (error) {
    book.endSession(session, "run_over", isoTime(ports.clock.wallMs()));
    session.caller.close();
    throw error;
  }
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
