import { decideHint, type Hint } from "../../conventions/callback/hint.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { OperationNeeds } from "./needs.ts";
import { learn, type Operation } from "./operations.ts";

/** Reads that callbacks asked for, beside the schedule: when each is due, and how many there may still be. */
export interface Hints {
  /** Decides what a callback about this operation brings about, and keeps it. */
  take(operation: Operation, reading: boolean): Hint;
  dueMs(operation: Operation): number | null;
  /** A read begins; it answers every hint that is due. Says on the operation whether it is made for a hint alone. */
  begin(operation: Operation, asked: boolean): void;
  end(operation: Operation): void;
  forget(operation: Operation): void;
  clear(): void;
}

export function createHints({ ports: { clock } }: Pick<OperationNeeds, "ports">): Hints {
  const due = new Map<Operation, number>();
  const lastRead = new WeakMap<Operation, number>();
  let window = { startMs: 0, count: 0 };

  /** A share of the gateway-wide cap, so that what is due by its schedule never waits for callbacks. */
  function hasRoom(nowMs: number): boolean {
    if (nowMs - window.startMs >= 60_000) window = { startMs: nowMs, count: 0 };
    return window.count < defaults.callbackReadsPerMinute;
  }

  return {
    take(operation, reading) {
      const nowMs = clock.bootMs();
      const { state, problem, nextPoll, hinted } = operation;
      const view = {
        ...{ state, reading, stopped: problem !== null },
        nextPollMs: nextPoll?.bootMs ?? null,
        hintMs: due.get(operation) ?? null,
        lastReadMs: lastRead.get(operation) ?? null,
        readsLeft: hasRoom(nowMs) ? hinted.allowed - hinted.reads : 0,
      };
      const hint = decideHint(view, nowMs, defaults.callbackReadGapMs);
      if (hint.kind === "read_scheduled") {
        window.count++;
        due.set(operation, hint.atMs);
      }
      return hint;
    },
    dueMs: (operation) => due.get(operation) ?? null,
    begin(operation, asked) {
      const nowMs = clock.bootMs();
      const { nextPoll } = operation;
      const hintMs = due.get(operation);
      const answers = hintMs !== undefined && hintMs <= nowMs;
      if (answers) due.delete(operation);
      const scheduled = nextPoll !== null && nextPoll.bootMs <= nowMs;
      const underWay = answers && !scheduled && !asked;
      learn(operation, { kind: "hint_read_began", underWay });
    },
    end(operation) {
      lastRead.set(operation, clock.bootMs());
      learn(operation, { kind: "hint_read_over" });
    },
    forget: (operation) => void due.delete(operation),
    clear: () => due.clear(),
  };
}
