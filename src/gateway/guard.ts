import { Denied, placeDenied } from "../kernel/failure.ts";
import type { RunId } from "../kernel/ids.ts";
import type { LiveCaller } from "./ports.ts";
import type { DenialRecorder } from "./record/denials.ts";
import { findRun } from "./run/find.ts";
import type { RunNeeds } from "./run/needs.ts";
import type { Run } from "./run/run.ts";

/** What an agent is refused outside a call leaves the same trace as a call that is refused. */
export function createGuard(core: RunNeeds, denials: DenialRecorder) {
  /** Everything an agent asks that is not a call: refused with the same care. */
  async function guarded<Result>(caller: LiveCaller, action: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Denied) await denials.record(error, { caller, runId: null, callId: null, action });
      throw error;
    }
  }

  /** A person's no to a session, or that nobody answered, is told once, whoever waits for it. */
  function guardSession(caller: LiveCaller, action: string, run: Run): void {
    if (run.admission?.callerKey !== caller.key) return;
    run.admission.session.catch(async (error: unknown) => {
      if (error instanceof Denied) await denials.record(error, { caller, runId: run.id, callId: null, action });
    });
  }

  /** A refusal about something that is the caller's names the run it is in. */
  async function within<Result>(runId: string, work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Denied) placeDenied(error, { runId });
      throw error;
    }
  }

  /** Whoever tries to act in a run that is not theirs leaves a trace. */
  function findRunToAct(caller: LiveCaller, id: RunId | undefined, action: string): Run {
    try {
      return findRun(core, caller, id);
    } catch (error) {
      if (error instanceof Denied) void denials.record(error, { caller, runId: null, callId: null, action });
      throw error;
    }
  }

  return { guarded, guardSession, within, findRunToAct };
}
