import type { NewEvent } from "../../audit/event.ts";
import type { RevocationStatement, Verified } from "../../conventions/approval/decision.ts";
import { mayContinue, type SessionEnding } from "../../conventions/caller/session.ts";
import { isoTime } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { SessionId } from "../../kernel/ids.ts";
import type { StateRow } from "../ports.ts";
import { saysGone } from "../record/ledger.ts";
import { runRow } from "../record/rows.ts";
import type { RunNeeds } from "./needs.ts";
import type { Run, Session } from "./run.ts";

/**
 * How runs and sessions end: once, in one turn, for the reason that came first. Whoever comes later waits until that is
 * told. It is told behind what the run told before, sessions first and then their run, and waits for room in the log.
 */
interface Ending {
  readonly reason: SessionEnding;
  readonly endedBy: string | null;
}

/** So many ends go into one append: it has to fit a frame, and a wrapper may have started any number of processes. */
const ENDS_TOGETHER = 100;

/** Ends one session; the run ends with its last one. What was already sent is left to end by itself. */
export function closeSession(
  core: RunNeeds,
  run: Run,
  session: Session,
  reason: SessionEnding,
  endedBy: string | null,
  /** What is told of it first. */
  said: readonly NewEvent[] = [],
): Promise<void> {
  if (!mayContinue(session)) return run.told;
  const events = [...said, ...endSession(core, run, session, { reason, endedBy })];
  // What a wrapper started acts only as long as the wrapper's own approval stands.
  if (run.kin !== null && session.caller.key === run.ownerKey) {
    const rest = reason === "process_exited" || reason === "image_replaced" ? "parent_exited" : reason;
    events.push(...endSessions(core, run, { reason: rest, endedBy }));
  }
  if (![...run.sessions.values()].some(mayContinue)) return finishRun(core, run, reason, "session.ended", events);
  const withdrawn = core.desk.withdraw(
    reason,
    (approval) => approval.runId === run.id && approval.callerKey === session.caller.key,
  );
  return tellEnds(core, run, "session.ended", events, withdrawn);
}

/** Ends the run, with whatever sessions it has. */
export function endRun(
  core: RunNeeds,
  run: Run,
  reason: string,
  sessions: Ending = { reason: "run_over", endedBy: null },
): Promise<void> {
  if (run.state === "ended") return run.told;
  return finishRun(core, run, reason, "run.ended", endSessions(core, run, sessions));
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
  const revoked = {
    ...core.envelope("session_revoked"),
    run_id: run.id,
    session_id: session.id,
    operator: statement.operator,
    operator_key_id: statement.operator_key_id,
    signature,
    ...(statement.reason === null ? {} : { reason: statement.reason }),
  };
  const closed = closeSession(core, run, session, "operator_revoked", statement.operator, [revoked]);
  await closed.catch(saysGone("The session has ended."));
}

/** The next part of what is told of the run: behind the one before it, whatever became of that. */
export function tellNext(run: Run, part: () => Promise<void>): Promise<void> {
  run.told = run.told.catch(() => undefined).then(part);
  run.told.catch(() => undefined);
  return run.told;
}

function finishRun(
  core: RunNeeds,
  run: Run,
  reason: string,
  step: "session.ended" | "run.ended",
  events: readonly NewEvent[],
): Promise<void> {
  run.state = "ended";
  run.untold.add(run.id);
  run.endReason = reason;
  core.book.endRun(run);
  run.over.abort();
  const withdrawn = core.desk.withdraw(reason, (approval) => approval.runId === run.id);
  const over = {
    ...core.envelope("run_ended"),
    ...{ run_id: run.id, reason, budget_stop_reason: run.budget.stopReason },
  };
  return tellEnds(core, run, step, [...events, over], withdrawn);
}

function endSessions(core: RunNeeds, run: Run, ending: Ending): NewEvent[] {
  return [...run.sessions.values()].flatMap((session) => endSession(core, run, session, ending));
}

function endSession(core: RunNeeds, run: Run, session: Session, { reason, endedBy }: Ending): readonly NewEvent[] {
  const at = isoTime(core.ports.clock.wallMs());
  if (!core.book.endSession(session, reason, at)) return [];
  run.untold.add(session.id);
  core.callers.keep(session.caller);
  session.caller.close();
  return [
    {
      ...core.envelope("session_ended"),
      run_id: session.runId,
      session_id: session.id,
      end_reason: reason,
      ended_at: at,
      ended_by: endedBy,
    },
  ];
}

async function tellEnds(
  core: RunNeeds,
  run: Run,
  step: "session.ended" | "run.ended",
  events: readonly NewEvent[],
  withdrawn: Promise<void>,
): Promise<void> {
  const rows = (): readonly StateRow[] => {
    for (const event of events) {
      if (event.event_type === "session_ended") run.untold.delete(event.session_id);
      if (event.event_type === "run_ended") run.untold.delete(event.run_id);
    }
    return [runRow(run)];
  };
  const told = tellNext(run, async () => {
    for (let at = 0; at < events.length; at += ENDS_TOGETHER) {
      const some = events.slice(at, at + ENDS_TOGETHER);
      await core.ledger.record(step, some, at + ENDS_TOGETHER < events.length ? undefined : rows);
    }
  });
  await Promise.all([withdrawn, told]);
}
