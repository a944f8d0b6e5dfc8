import type { RunBudget } from "../../conventions/budget/budget.ts";
import type { Lease } from "../../conventions/operation/record.ts";
import { isSettled, type OperationState } from "../../conventions/operation/state.ts";
import type { TransitionRecord } from "../../conventions/operation/transition.ts";
import type { Code } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId, CallId, OperationId, RunId } from "../../kernel/ids.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Authorization } from "../approval/authorize.ts";
import type { PlanFill } from "../outbound/outbound.ts";

/** A time that decides: wall time for records and people, boot time for decisions within this boot. */
export interface Moment {
  readonly at: string;
  readonly bootMs: number;
}

/**
 * Work whose end is not known yet: a job at the provider, or a write that nobody saw the answer of. It outlives its
 * session and this process; until it is settled it keeps its token and everything that finding out needs.
 */
export interface Operation {
  readonly id: OperationId;
  readonly kind: "job" | "write";
  readonly callId: CallId;
  readonly sessionId: string;
  readonly callerKey: string;
  /** Who may read and cancel it: the caller, or the wrapped run it belongs to. */
  readonly party: string;
  readonly action: string;
  readonly packDigest: string;
  readonly credential: string | null;
  readonly input: JsonObject;
  readonly fingerprint: string;
  /** The provider's plan that it carried out, which its repeat must name again. */
  readonly plan: PlanFill | null;
  /** The claim that it holds until it is settled; null for one that began before there were claims. */
  readonly claim: string | null;
  readonly token: string | null;
  /** When the request, with its token, was first sent. */
  readonly firstSent: Moment;
  /** How often it was sent again under that token. */
  repeats: number;
  /** What the run still reserves for the outcome that nobody knows. */
  held: number;
  /** The attempt that was left without an answer; reconciliations refer to it. */
  attemptId: string | null;
  readonly authorization: Authorization;
  readonly createdAt: string;
  readonly createDeadline: Moment;
  /** Anew when failed work is resumed. */
  resultDeadline: Moment;
  /** Pays for its reads, apart from the run's budget. */
  readonly purse: { readonly id: RunId; budget: RunBudget };
  state: OperationState;
  remoteJobId: string | null;
  remoteState: string | null;
  progress: { readonly completed: number; readonly total: number } | null;
  lease: Lease | null;
  nextPoll: Moment | null;
  /** Reads that said "still running", and reads that said nothing: they have separate allowances. */
  checks: number;
  faults: number;
  /** Reads that callbacks asked for have an allowance of their own; whether the one under way is such a read. */
  hinted: { readonly allowed: number; readonly reads: number; readonly underWay: boolean };
  /** Its session is over: the gateway itself reads on, within the custodian's allowance. */
  custodian: boolean;
  cancel: {
    readonly actor: string;
    readonly reason: string;
    readonly expectedEffect: string;
    readonly at: string;
  } | null;
  /** Each request to go on after a failure: an action of its own, linked here. */
  resumes: readonly ResumeRecord[];
  /** One of them is on its way, in this process. */
  resuming: boolean;
  /** The question of the gateway's own that waits for a person, in this process. */
  asking: ApprovalId | null;
  /** Why automation stopped, and what a person should know of it. */
  problem: { readonly code: Code; readonly detail: string } | null;
  resultDigest: string | null;
  /** Kept in memory alone, and only while it is small. */
  result: JsonValue;
  history: readonly TransitionRecord[];
}

/** `pending` until its answer is in; `unknown` may have gone through, so that the work is observed again. */
export type ResumeRecord = {
  readonly call_id: string;
  readonly attempt_id: string;
  readonly actor: string;
  readonly reason: string;
  readonly at: string;
  readonly outcome: "pending" | "accepted" | "refused" | "unknown";
};

/** The operations this process knows. Whose one is, is asked by whoever looks it up. */
export interface OperationBook {
  put(operation: Operation): void;
  drop(operation: Operation): void;
  get(id: OperationId | undefined): Operation;
  all(): readonly Operation[];
  clear(): void;
  /** Called when one came or went; what becomes of one is told by its rows. */
  watch(listener: () => void): () => void;
}

/** `recall` finds one that ended before this process began: it is not in memory, and its row still is. */
export function createOperationBook(recall: (id: OperationId) => Operation | null): OperationBook {
  const operations = new Map<OperationId, Operation>();
  const watchers = new Set<() => void>();
  const tell = (): void => {
    for (const listener of [...watchers]) listener();
  };
  const get = (id: OperationId | undefined): Operation => {
    const known = id === undefined ? undefined : operations.get(id);
    const found = known ?? (id === undefined ? null : recall(id));
    if (found === null) throw new Denied("not_found", "There is no such operation.");
    if (known === undefined) keep(found);
    return found;
  };
  const keep = (operation: Operation): void => {
    operations.set(operation.id, operation);
    for (const [id, { state }] of operations) {
      if (operations.size <= defaults.operationsRemembered) break;
      if (isSettled(state) && id !== operation.id) operations.delete(id);
    }
    tell();
  };
  return {
    put: keep,
    drop({ id }) {
      operations.delete(id);
      tell();
    },
    get,
    all: () => [...operations.values()],
    clear() {
      operations.clear();
      tell();
    },
    watch(listener) {
      const watcher = (): void => listener();
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}
