import { isSettled, type OperationState } from "../operation/state.ts";

/** What is looked at when a callback names an operation's job. */
export interface HintedOperation {
  readonly state: OperationState;
  /** Automation has stopped for it, and only a person starts it again. */
  readonly stopped: boolean;
  /** A read is under way: it may have seen the state before the one that the callback is about. */
  readonly reading: boolean;
  readonly nextPollMs: number | null;
  /** When a read that an earlier callback asked for is due. */
  readonly hintMs: number | null;
  readonly lastReadMs: number | null;
  /** How many reads callbacks may still ask for. */
  readonly readsLeft: number;
}

export type Hint =
  /** One read, beside the schedule. */
  | { readonly kind: "read_scheduled"; readonly atMs: number }
  /** A read that is due anyway will show whatever the callback is about. */
  | { readonly kind: "read_joined" }
  | { readonly kind: "operation_settled" | "operation_stopped" | "allowance_used" };

/**
 * The most that a callback can do: bring one read forward, not closer to the last one than the gap, and only so often.
 * The schedule itself stays as it is, so that without callbacks, or after too many, everything ends the same way.
 */
export function decideHint(operation: HintedOperation, nowMs: number, gapMs: number): Hint {
  if (isSettled(operation.state)) return { kind: "operation_settled" };
  if (operation.stopped) return { kind: "operation_stopped" };
  if (operation.hintMs !== null) return { kind: "read_joined" };
  const since = operation.reading ? nowMs : operation.lastReadMs;
  const atMs = since === null ? nowMs : Math.max(nowMs, since + gapMs);
  if (!operation.reading && operation.nextPollMs !== null && operation.nextPollMs <= atMs)
    return { kind: "read_joined" };
  if (operation.readsLeft <= 0) return { kind: "allowance_used" };
  return { kind: "read_scheduled", atMs };
}
