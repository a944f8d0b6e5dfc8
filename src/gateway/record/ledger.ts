import type { NewEvent } from "../../audit/event.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AuditSink, IntentReceipt, StateRow, StateStore } from "../ports.ts";

/**
 * The one place where the log and the store are written, side by side. A read may leave when the log is durable; a side
 * effect waits for both, so that its record survives a power cut. The first failure stops everything: what cannot be
 * recorded is not sent, and a failed sync is never tried again.
 */
export interface Ledger {
  intent(events: readonly NewEvent[], rows: readonly StateRow[], sideEffect: boolean): Promise<IntentReceipt>;
  /** Events, and rows where the store is open, durable before it resolves. */
  record(events: readonly NewEvent[], rows?: readonly StateRow[]): Promise<void>;
  openStore(store: StateStore | null): void;
  /** One row read and replaced in one transaction; null while locked or where there is no such row. */
  change: StateStore["change"];
  readonly stopped: boolean;
}

export function createLedger(audit: AuditSink, onStop: (cause: unknown) => void): Ledger {
  let store: StateStore | null = null;
  let stopped = false;

  function stop(cause: unknown): Denied {
    if (!stopped) onStop(cause);
    stopped = true;
    return stoppedError();
  }

  async function keep<Result>(work: Promise<Result>): Promise<Result> {
    try {
      return await work;
    } catch (cause) {
      // A full queue is back-pressure, not a broken disk: the call is refused and the next one may fit.
      if (cause instanceof Denied && cause.code === "log_backlogged") throw cause;
      throw stop(cause);
    }
  }

  return {
    get stopped() {
      return stopped;
    },
    openStore(next) {
      store = next;
    },
    async intent(events, rows, sideEffect) {
      if (stopped) throw stoppedError();
      if (store === null) throw new Denied("gateway_locked", "The gateway was locked before the call was sent.");
      const stored = keep(store.commit(rows, sideEffect ? "power" : "process"));
      const logged = keep(audit.append(events));
      // One may fail while the other is awaited, and a failure that nobody awaits would end the process.
      stored.catch(() => undefined);
      logged.catch(() => undefined);
      if (sideEffect) await stored;
      const receipt = await logged;
      if (stopped) throw stoppedError();
      return receipt;
    },
    async change(table, id, change) {
      if (stopped) throw stoppedError();
      return store === null ? null : keep(store.change(table, id, change));
    },
    async record(events, rows = []) {
      if (stopped) throw stoppedError();
      const stored = store === null || rows.length === 0 ? null : keep(store.commit(rows, "process"));
      stored?.catch(() => undefined);
      if (events.length > 0) await keep(audit.append(events));
      await stored;
    },
  };
}

function stoppedError(): Denied {
  return new Denied("gateway_stopped", "The gateway could not write its log or its state and has stopped sending.");
}
