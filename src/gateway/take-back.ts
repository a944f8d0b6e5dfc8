import { Denied } from "../kernel/failure.ts";
import { writeQuestion } from "./approval/cards.ts";
import type { LiveCaller } from "./ports.ts";
import type { RunNeeds } from "./run/needs.ts";
import type { Call } from "./run/run.ts";

/**
 * Whoever asked for the call no longer wants it. Before it is sent nothing is sent, and a question about it is taken
 * back; afterwards it is too late, and the outcome is recorded as it would have been.
 */
export async function takeBackCall(core: RunNeeds, caller: LiveCaller, call: Call): Promise<boolean> {
  if (call.state !== "pending") return false;
  call.wanted = false;
  call.onTakenBack?.();
  if (askWithout(core, caller, call)) return true;
  await core.desk.withdraw("call_cancelled", ({ callId }) => callId === call.id);
  return true;
}

/** Others wait for the session that this call opened: the question goes on without the call. */
function askWithout(core: RunNeeds, caller: LiveCaller, call: Call): boolean {
  const run = core.book.run(call.runId);
  const admission = run?.admission ?? null;
  if (run === undefined || admission?.decision === undefined || admission.approvalId === null) return false;
  if (admission.approvalId !== call.approvalId) return false;
  if (!core.book.waitingCalls(run.id).some((other) => other !== call && other.wanted)) return false;
  const question = writeQuestion(core, { mode: admission.mode, run, caller, scope: run.asked, call: null });
  const ask = core.desk.supersede(admission.approvalId, question);
  if (ask === null) return false;
  const { callerKey, session, mode } = admission;
  run.admission = { callerKey, session, mode, approvalId: ask.approvalId };
  return true;
}

/** What `asking` gives, or the refusal at once when the call is taken back first. */
export function unlessTakenBack<Value>(call: Call, asking: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    call.onTakenBack = () => reject(callCancelled());
    asking.then(resolve, reject);
  });
}

export function callCancelled(): Denied {
  return new Denied("call_cancelled", "Whoever asked for this call took it back before it was sent. Nothing was sent.");
}
