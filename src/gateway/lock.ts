import { defaults } from "../kernel/defaults.ts";
import type { Operation } from "./operation/operations.ts";
import { recover } from "./recover.ts";
import { endRun } from "./run/end.ts";
import type { Unlocked } from "./surroundings.ts";
import type { Probes } from "./upgrade/probe.ts";
import type { Wired } from "./wire.ts";

/** What the service key opens, and how it is closed again: nothing is left half open, and nothing lent outlives a lock. */
export interface Lock {
  unlock(unlocked: Unlocked): Promise<void>;
  /** After a stop that has passed: every session has ended, what was under way is recovered as after a restart. */
  resume(operator: string): Promise<void>;
  /**
   * `locked` is told once nothing is lent any more. The promise is kept once the exchanges and reads that were under way have ended
   * as well, within their timeouts, and the effects for a while: what their answers say is kept, and no unlock takes for unknown what
   * is about to be known. Who leaves for good does not wait for effects: the next start finds out.
   */
  lock(reason: string, operator: string | null, locked?: () => void, leaving?: boolean): Promise<void>;
}

export function createLock({ core, opened, memory, observer, volume }: Wired, probes: Probes): Lock {
  async function unlock(next: Unlocked): Promise<void> {
    core.ledger.openStore(next.store);
    let operations: readonly Operation[];
    try {
      ({ operations } = await recover(core, next.store));
      const tampered = memory.load(next.store, core.envelope);
      core.daySpend.load(next.store);
      volume.load(next.store);
      if (tampered.length > 0) await core.ledger.record("recovery.finished", tampered);
    } catch (error) {
      // Nothing is left half open: it stays locked, and the next unlock begins anew.
      core.ledger.openStore(null);
      memory.clear();
      throw error;
    }
    opened.unlocked = next;
    for (const operation of operations) {
      core.operations.put(operation);
      observer.schedule(operation);
    }
    observer.start();
  }

  async function lock(reason: string, operator: string | null, locked?: () => void, leaving = false): Promise<void> {
    if (opened.unlocked === null) return;
    core.tokens.clear();
    opened.unlocked = null;
    const probed = probes.clear();
    const reads = observer.stop();
    const ending = { reason: "gateway_locked", endedBy: operator } as const;
    // All of it in one turn: whatever the log can take of it, nothing of before the lock is open behind it.
    const ended = [
      core.desk.withdraw("gateway_locked", () => true),
      ...[...core.book.openRuns()].map((run) => endRun(core, run, "gateway_locked", ending)),
      ...(probed.length === 0 ? [] : [core.ledger.record("probe.closed", probed)]),
    ];
    try {
      await Promise.all(ended);
      // What ended before is told as well: its row has to be kept while the store is open.
      await core.book.allTold();
      const told = { ...core.envelope("gateway_locked"), operator, reason };
      await core.ledger.record("gateway.locked", [told]);
      locked?.();
    } finally {
      await core.book.allTold();
      await reads;
      if (!leaving) await effectsEnded();
      await core.tokens.settled();
      core.tokens.clear();
      core.ledger.openStore(null);
      // Their rows keep the schedule; whoever unlocks next reads them from there.
      core.operations.clear();
      memory.clear();
    }
  }

  async function effectsEnded(): Promise<void> {
    const { sleep } = core.ports;
    const waited = new AbortController();
    await Promise.race([core.effects.ended(), sleep.sleep(defaults.lockWaitMs, waited.signal)]);
    waited.abort();
  }

  return {
    unlock,
    lock,
    async resume(operator) {
      core.ledger.resume();
      const before = opened.unlocked;
      if (before === null) return;
      await lock("resumed", operator);
      await unlock(before);
    },
  };
}
