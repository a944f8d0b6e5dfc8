import type { SessionEnding } from "../../conventions/caller/session.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId, RunId, SessionId } from "../../kernel/ids.ts";
import type { Call, Run, Session } from "./run.ts";

/**
 * The live runs, sessions and calls of this process. Whoever is not the caller of a thing does not learn that it exists.
 * Nothing here survives a restart: no session does.
 */
export interface Book {
  addRun(run: Run): void;
  addCall(call: Call): void;
  findRun(callerKey: string, id: RunId | undefined): Run;
  findCall(callerKey: string, id: CallId | undefined): Call;
  run(id: RunId): Run | undefined;
  sessions(): readonly Session[];
  session(id: SessionId): Session | undefined;
  openRuns(): readonly Run[];
}

export interface BookLimits {
  readonly runs: number;
  readonly callsPerRun: number;
}

export function createBook(limits: BookLimits): Book {
  const runs = new Map<RunId, Run>();
  const calls = new Map<CallId, Call>();
  const callsOfRun = new Map<RunId, CallId[]>();

  /** Drops the oldest ended runs with their calls; a live run is never dropped. */
  function trim(): void {
    for (const [id, run] of runs) {
      if (runs.size <= limits.runs) return;
      if (run.state !== "ended") continue;
      for (const call of callsOfRun.get(id) ?? []) calls.delete(call);
      callsOfRun.delete(id);
      runs.delete(id);
    }
  }

  return {
    addRun(run) {
      runs.set(run.id, run);
      trim();
    },
    addCall(call) {
      calls.set(call.id, call);
      const ofRun = callsOfRun.get(call.runId) ?? [];
      callsOfRun.set(call.runId, ofRun);
      ofRun.push(call.id);
      while (ofRun.length > limits.callsPerRun) {
        const oldest = ofRun[0];
        const settled = oldest === undefined || ["done", "denied"].includes(calls.get(oldest)?.state ?? "done");
        if (!settled) break;
        ofRun.shift();
        if (oldest !== undefined) calls.delete(oldest);
      }
    },
    findRun(callerKey, id) {
      const run = id === undefined ? undefined : runs.get(id);
      if (run === undefined || !belongsTo(run, callerKey)) throw notFound("run");
      return run;
    },
    findCall(callerKey, id) {
      const call = id === undefined ? undefined : calls.get(id);
      if (call === undefined || call.callerKey !== callerKey) throw notFound("call");
      return call;
    },
    run: (id) => runs.get(id),
    sessions: () => [...runs.values()].flatMap((run) => [...run.sessions.values()]),
    session: (id) => [...runs.values()].flatMap((run) => [...run.sessions.values()]).find((one) => one.id === id),
    openRuns: () => [...runs.values()].filter((run) => run.state !== "ended"),
  };
}

export function endSession(session: Session, reason: SessionEnding, at: string): boolean {
  if (session.endReason !== null) return false;
  session.endReason = reason;
  session.endedAt = at;
  return true;
}

function belongsTo(run: Run, callerKey: string): boolean {
  return run.ownerKey === callerKey || run.sessions.has(callerKey) || run.admission?.callerKey === callerKey;
}

function notFound(what: "run" | "call"): Denied {
  return new Denied("not_found", `There is no such ${what} for this caller.`);
}
