import { type CallResult, heldBytes, isOneText, writeResult } from "../../conventions/outcome/result.ts";
import { Fault } from "../../kernel/failure.ts";
import type { ApprovalId, CallId, RunId } from "../../kernel/ids.ts";
import type { Call, Wait } from "./run.ts";

/**
 * A call as it is held until it is forgotten. Its result is held as the text that it is answered with, where that is not
 * held as text already: hundreds are, and as an object each would be some forty things for the collector to look at.
 */
export class StartedCall implements Call {
  readonly id: CallId;
  readonly runId: RunId;
  readonly callerKey: string;
  readonly action: string;
  readonly createdAt: string;
  asking = 0;
  resultBytes = 0;
  wanted = true;
  onTakenBack: (() => void) | null = null;
  state: Call["state"] = "pending";
  approvalId: ApprovalId | null = null;
  wait: Wait | null = null;
  written: string | null = null;
  #done: Promise<CallResult> | null = null;

  constructor({
    id,
    runId,
    callerKey,
    action,
    createdAt,
  }: Pick<Call, "id" | "runId" | "callerKey" | "action" | "createdAt">) {
    this.id = id;
    this.runId = runId;
    this.callerKey = callerKey;
    this.action = action;
    this.createdAt = createdAt;
  }

  get done(): Promise<CallResult> {
    return this.#done ?? this.#readAgain();
  }

  set done(next: Promise<CallResult>) {
    next.catch(() => undefined);
    this.#done = next;
    this.written = null;
  }

  /** What it came to. Whoever waits has it from what they wait for. */
  end(result: CallResult): void {
    this.state = "done";
    if (isOneText(result)) {
      this.resultBytes = heldBytes(result);
      return;
    }
    this.written = writeResult(result);
    this.resultBytes = this.written.length;
    this.#done = null;
  }

  async #readAgain(): Promise<CallResult> {
    if (this.written === null) throw new Fault(`${this.id} was never begun`);
    return JSON.parse(this.written) as CallResult;
  }
}
