import { type SessionEnding, stepSession } from "../../conventions/caller/session.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId, RunId, SessionId } from "../../kernel/ids.ts";
import type { Call, Run, Session } from "./run.ts";

/**
 * The live runs, sessions and calls of this process. Whoever is not the caller of a thing does not learn that it exists.
 * Nothing here survives a restart: no session does. What a step costs does not grow with what is open.
 */
export interface Book {
  addRun(run: Run): void;
  /** The run has ended: from now on it may be forgotten. */
  endRun(run: Run): void;
  addSession(session: Session): void;
  /** False when it had ended before. */
  endSession(session: Session, reason: SessionEnding, at: string): boolean;
  /** One that has ended, and that its run does not name any more. */
  forgetSession(session: Session): void;
  addCall(call: Call): void;
  /** The call has a result of about so many bytes. The oldest results make room for it. */
  keepResult(call: Call, bytes: number): void;
  findRun(callerKey: string, id: RunId | undefined): Run;
  findCall(callerKey: string, id: CallId | undefined): Call;
  run(id: RunId): Run | undefined;
  /** The calls of a run that are not sent yet. */
  waitingCalls(id: RunId): readonly Call[];
  sessions(): readonly Session[];
  session(id: SessionId): Session | undefined;
  hasSession(callerKey: string): boolean;
  openRuns(): Iterable<Run>;
  openRunsOf(ownerKey: string): number;
  /** Once the log has all that began and ended here, or can take no more: the next unlock tells that from the rows. */
  allTold(): Promise<void>;
}

export interface BookLimits {
  readonly runs: number;
  readonly callsPerRun: number;
  readonly resultBytes: number;
}

/** Fewer are not worth it. */
const TIDY_FROM = 64;

export function createBook(limits: BookLimits): Book {
  const open = new Map<RunId, Run>();
  const ended = new Map<RunId, Run>();
  const openOf = new Map<string, number>();
  const sessions = new Map<SessionId, Session>();
  const liveOf = new Map<string, number>();
  const calls = new Map<CallId, Call>();
  const callsOf = new Map<RunId, CallId[]>();
  const results = new Map<CallId, number>();
  /**
   * Those calls by age, from `oldest` on; some have been forgotten since. A map's own beginning is no place to look for them: whoever
   * goes there passes over all that was taken out of it.
   */
  let byAge: CallId[] = [];
  let oldest = 0;
  let resultBytes = 0;

  /** Drops the oldest ended runs with all that is theirs; never a live one, nor one whose end a lock has to wait for. */
  function trim(): void {
    for (const [id, run] of ended) {
      if (open.size + ended.size <= limits.runs) return;
      if (run.untold.size > 0) continue;
      for (const call of callsOf.get(id) ?? []) forgetCall(call);
      for (const session of run.sessions.values()) sessions.delete(session.id);
      callsOf.delete(id);
      ended.delete(id);
    }
  }

  function forgetCall(id: CallId): void {
    forgetResult(id);
    calls.delete(id);
  }

  /** Those that have been forgotten leave the row once they are most of it. */
  function tidy(): void {
    if (byAge.length < 2 * results.size + TIDY_FROM) return;
    byAge = byAge.slice(oldest).filter((id) => results.has(id));
    oldest = 0;
  }

  function forgetResult(id: CallId): void {
    resultBytes -= results.get(id) ?? 0;
    results.delete(id);
  }

  return {
    addRun(run) {
      open.set(run.id, run);
      count(openOf, run.ownerKey, 1);
      trim();
    },
    endRun(run) {
      if (!open.delete(run.id)) return;
      ended.set(run.id, run);
      count(openOf, run.ownerKey, -1);
    },
    addSession(session) {
      sessions.set(session.id, session);
      count(liveOf, session.caller.key, 1);
    },
    endSession(session, reason, at) {
      const step = stepSession(session.state, reason);
      if (step.kind === "refused") return false;
      session.state = step.to;
      session.endReason = reason;
      session.endedAt = at;
      count(liveOf, session.caller.key, -1);
      return true;
    },
    forgetSession: ({ id }) => void sessions.delete(id),
    addCall(call) {
      calls.set(call.id, call);
      const ofRun = callsOf.get(call.runId) ?? [];
      callsOf.set(call.runId, ofRun);
      ofRun.push(call.id);
      while (ofRun.length > limits.callsPerRun) {
        const [first] = ofRun;
        if (first === undefined || !isOver(calls.get(first))) break;
        ofRun.shift();
        forgetCall(first);
      }
    },
    keepResult(call, bytes) {
      if (!calls.has(call.id)) return;
      results.set(call.id, bytes);
      resultBytes += bytes;
      byAge.push(call.id);
      while (resultBytes > limits.resultBytes) {
        const id = byAge[oldest++];
        if (id === undefined) break;
        if (!results.has(id)) continue;
        forgetResult(id);
        const gone = calls.get(id);
        if (gone !== undefined) gone.done = resultGone(gone);
      }
      tidy();
    },
    findRun(callerKey, id) {
      const run = id === undefined ? undefined : (open.get(id) ?? ended.get(id));
      if (run === undefined || !belongsTo(run, callerKey)) throw notFound("run");
      return run;
    },
    findCall(callerKey, id) {
      const call = id === undefined ? undefined : calls.get(id);
      if (call === undefined || call.callerKey !== callerKey) throw notFound("call");
      return call;
    },
    run: (id) => open.get(id) ?? ended.get(id),
    waitingCalls: (id) =>
      (callsOf.get(id) ?? []).flatMap((one) => calls.get(one) ?? []).filter(({ state }) => state === "pending"),
    sessions: () => [...sessions.values()],
    session: (id) => sessions.get(id),
    hasSession: (callerKey) => liveOf.has(callerKey),
    openRuns: () => open.values(),
    openRunsOf: (ownerKey) => openOf.get(ownerKey) ?? 0,
    async allTold() {
      const runs = [...open.values(), ...ended.values()];
      await Promise.allSettled(runs.map(({ told }) => told));
      for (const { untold } of runs) untold.clear();
    },
  };
}

export function count<Key>(of: Map<Key, number>, key: Key, more: number): void {
  const next = (of.get(key) ?? 0) + more;
  if (next === 0) of.delete(key);
  else of.set(key, next);
}

function isOver(call: Call | undefined): boolean {
  return call?.state === "done" || call?.state === "denied";
}

function resultGone({ id }: Call): Promise<never> {
  const gone = Promise.reject(
    new Denied(
      "result_gone",
      `The call ended and its answer is no longer held: later answers took its room. Do not repeat it for that; gw activity show ${id} says how it ended.`,
    ),
  );
  gone.catch(() => undefined);
  return gone;
}

function belongsTo(run: Run, callerKey: string): boolean {
  return run.ownerKey === callerKey || run.sessions.has(callerKey) || run.admission?.callerKey === callerKey;
}

function notFound(what: "run" | "call"): Denied {
  return new Denied("not_found", `There is no such ${what} for this caller.`);
}
