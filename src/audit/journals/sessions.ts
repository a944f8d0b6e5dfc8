import { type AuditEvent, type EventOf, runOf } from "../event.ts";
import type { LogItem } from "../read/reader.ts";
import { type GapEntry, watchSequence } from "./continuity.ts";
import { type EndedAttempts, rememberEnded } from "./ended.ts";

export interface CallCounts {
  readonly succeeded: number;
  readonly failed: number;
  readonly unknown: number;
  readonly denied: number;
}

/** One session of one run, or a run that never got one. */
export interface SessionEntry {
  readonly kind: "session";
  readonly state: "live" | "ended" | "refused";
  readonly run_id: string;
  readonly session_id: string | null;
  readonly approval_id: string | null;
  readonly caller: string | null;
  /** Line one of the card: the authority of the caller's image. */
  readonly authority: string | null;
  readonly validity: string | null;
  readonly purpose: string | null;
  readonly scope: readonly string[];
  readonly started_at: string;
  readonly approved_by: string | null;
  readonly approved_at: string | null;
  readonly ended_at: string | null;
  readonly end_reason: string | null;
  readonly calls: CallCounts;
  /** The gateway stopped between the start of the session and its recorded end. */
  readonly gap: boolean;
  readonly frame: number;
}

export type SessionsEntry = SessionEntry | GapEntry;

export interface SessionsFold {
  /** Entries that came to their end with this item. */
  add(item: LogItem): readonly SessionsEntry[];
  rest(): readonly SessionsEntry[];
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

interface Run {
  readonly started: EventOf<"run_started"> | null;
  readonly at: string;
  readonly frame: number;
  readonly calls: Mutable<CallCounts>;
  readonly sessions: Map<string, Mutable<SessionEntry>>;
  hadSession: boolean;
  /** Line one of the card that was shown for the run; what a run that never got a session has. */
  shown: string | null;
}

type Evidence = EventOf<"caller_evidence">;

const NOTHING: readonly SessionsEntry[] = [];

/** @internal A whole log at once, as tests read it. */
export function foldSessions(items: Iterable<LogItem>): SessionsEntry[] {
  const fold = startSessions();
  const entries: SessionsEntry[] = [];
  for (const item of items) entries.push(...fold.add(item));
  entries.push(...fold.rest());
  return entries;
}

export function startSessions(): SessionsFold {
  const runs = new Map<string, Run>();
  /** By session: each process of a run is a caller of its own. Kept from before the session starts until it has. */
  const evidence = new Map<string, Evidence>();
  const ended = rememberEnded();
  const checkSequence = watchSequence("sessions");

  const runFor = (runId: string, event: AuditEvent, frame: number): Run => {
    const known = runs.get(runId);
    if (known !== undefined) return known;
    const run: Run = {
      started: event.event_type === "run_started" ? event : null,
      at: event.occurred_at,
      frame,
      calls: { succeeded: 0, failed: 0, unknown: 0, denied: 0 },
      sessions: new Map(),
      hadSession: false,
      shown: null,
    };
    runs.set(runId, run);
    return run;
  };

  function addRecord(event: AuditEvent, frame: number): readonly SessionsEntry[] {
    const runId = runOf(event);
    if (runId === undefined) return NOTHING;
    switch (event.event_type) {
      case "run_started":
        runFor(runId, event, frame);
        return NOTHING;
      case "approval_requested":
        if (event.mode === "session") runFor(runId, event, frame).shown ??= event.authority ?? null;
        return NOTHING;
      case "caller_evidence": {
        // Logs of 0.1 have the session first.
        const session = runFor(runId, event, frame).sessions.get(event.session);
        if (session === undefined) evidence.set(event.session, event);
        else Object.assign(session, vouchedBy(event));
        return NOTHING;
      }
      case "session_started": {
        const run = runFor(runId, event, frame);
        run.hadSession = true;
        run.sessions.set(event.session_id, sessionOf(run, event, evidence.get(event.session_id), frame));
        evidence.delete(event.session_id);
        return NOTHING;
      }
      case "session_ended": {
        const run = runs.get(runId);
        const session = run?.sessions.get(event.session_id);
        if (run === undefined || session === undefined) return NOTHING;
        run.sessions.delete(event.session_id);
        return [endSession(session, run, event.ended_at, event.end_reason)];
      }
      case "run_ended": {
        const run = runs.get(runId);
        if (run === undefined) return NOTHING;
        runs.delete(runId);
        if (!run.hadSession) return [refusedRun(runId, run, event.occurred_at, event.reason)];
        return [...run.sessions.values()].map((session) => endSession(session, run, event.occurred_at, event.reason));
      }
      case "action_finished":
        countEnd(runs.get(runId), event, event.outcome, ended);
        return NOTHING;
      case "outcome_unobserved":
        countEnd(runs.get(runId), event, "unknown", ended);
        return NOTHING;
      case "call_denied":
      case "budget_denied":
        count(runs.get(runId), "denied");
        return NOTHING;
      default:
        // Other events say nothing about how a session stands.
        return NOTHING;
    }
  }

  return {
    add(item) {
      const gap = checkSequence(item);
      if (item.kind === "opened" && item.reason !== "rotate") {
        evidence.clear();
        for (const run of runs.values()) for (const session of run.sessions.values()) session.gap = true;
      }
      const entries = item.kind === "record" ? addRecord(item.event, item.frame) : NOTHING;
      return gap === undefined ? entries : [gap, ...entries];
    },
    rest() {
      const entries: SessionEntry[] = [];
      for (const run of runs.values()) {
        for (const session of run.sessions.values()) entries.push({ ...session, calls: { ...run.calls } });
      }
      return entries;
    },
  };
}

function count(run: Run | undefined, what: keyof CallCounts): void {
  if (run !== undefined) run.calls[what]++;
}

function countEnd(
  run: Run | undefined,
  { attempt_id, event_id }: EventOf<"action_finished" | "outcome_unobserved">,
  outcome: keyof CallCounts,
  ended: EndedAttempts,
): void {
  const attempt = attempt_id ?? event_id;
  if (outcome === "unknown" && ended.has(attempt)) return;
  count(run, outcome);
  ended.add(attempt);
}

function endSession(session: Mutable<SessionEntry>, run: Run, endedAt: string, reason: string): SessionEntry {
  return { ...session, state: "ended", ended_at: endedAt, end_reason: reason, calls: { ...run.calls } };
}

function vouchedBy(evidence: Evidence | undefined): Pick<SessionEntry, "authority" | "validity"> {
  return { authority: evidence?.authority ?? null, validity: evidence?.caller.validity ?? null };
}

function sessionOf(
  run: Run,
  event: EventOf<"session_started">,
  evidence: Evidence | undefined,
  frame: number,
): Mutable<SessionEntry> {
  return {
    kind: "session",
    state: "live",
    run_id: event.run_id,
    session_id: event.session_id,
    approval_id: event.approval_id,
    caller: event.caller,
    ...vouchedBy(evidence),
    purpose: run.started?.purpose ?? null,
    scope: event.scope,
    started_at: event.occurred_at,
    approved_by: event.approved_by,
    approved_at: event.approved_at,
    ended_at: null,
    end_reason: null,
    calls: run.calls,
    gap: false,
    frame,
  };
}

function refusedRun(runId: string, run: Run, endedAt: string, reason: string): SessionEntry {
  return {
    kind: "session",
    state: "refused",
    run_id: runId,
    session_id: null,
    approval_id: null,
    caller: run.started?.caller_id ?? null,
    authority: run.shown,
    validity: null,
    purpose: run.started?.purpose ?? null,
    scope: run.started?.actions ?? [],
    started_at: run.at,
    approved_by: null,
    approved_at: null,
    ended_at: endedAt,
    end_reason: reason,
    calls: { ...run.calls },
    gap: false,
    frame: run.frame,
  };
}
