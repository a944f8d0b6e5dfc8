import { Denied } from "../kernel/failure.ts";
import type { ApprovalId } from "../kernel/ids.ts";
import { writeQuestion } from "./approval/cards.ts";
import type { Ask, Question } from "./approval/question.ts";
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
  const ask = supersede(core, admission.approvalId, question);
  if (ask === null) return false;
  const { callerKey, session, mode } = admission;
  run.admission = { callerKey, session, mode, approvalId: ask.approvalId };
  return true;
}

/** Null also where a person denied what is left of the question a moment ago: nobody is asked for that, and the call is taken back. */
function supersede({ desk }: Pick<RunNeeds, "desk">, approvalId: ApprovalId, question: Question): Ask | null {
  try {
    return desk.supersede(approvalId, question);
  } catch (error) {
    if (error instanceof Denied && error.code === "approval_cooling_down") return null;
    throw error;
  }
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
