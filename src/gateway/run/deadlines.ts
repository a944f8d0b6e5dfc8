import { timeLeftMs } from "../../conventions/budget/budget.ts";
import { defaults } from "../../kernel/defaults.ts";
import { now } from "../core.ts";
import { endRun } from "./end.ts";
import type { RunNeeds } from "./needs.ts";
import type { Run } from "./run.ts";

/** Ends every run at its deadline. One timer serves them all: ten thousand open runs wake the process no more than one. */
export interface Deadlines {
  watch(run: Run): void;
}

export function createDeadlines(core: RunNeeds): Deadlines {
  let looking = false;
  let napEndsMs = Number.NEGATIVE_INFINITY;
  let nap = new AbortController();

  async function look(): Promise<void> {
    for (;;) {
      const soonestMs = endWhatIsOver(core);
      looking = soonestMs !== null;
      if (soonestMs === null) return;
      const napMs = Math.min(soonestMs, defaults.expiryLookMs);
      napEndsMs = core.ports.clock.bootMs() + napMs;
      nap = new AbortController();
      await core.ports.sleep.sleep(napMs, nap.signal);
    }
  }

  return {
    watch(run) {
      if (core.ports.clock.bootMs() + timeLeftMs(run.budget, now(core)) < napEndsMs) nap.abort();
      if (!looking) void look();
    },
  };
}

/** How long until the next one is over; null where none is open. */
function endWhatIsOver(core: RunNeeds): number | null {
  const moment = now(core);
  let soonestMs: number | null = null;
  for (const run of [...core.book.openRuns()]) {
    const leftMs = timeLeftMs(run.budget, moment);
    if (leftMs === 0) void endOverdue(core, run).catch(() => undefined);
    else soonestMs = Math.min(leftMs, soonestMs ?? leftMs);
  }
  return soonestMs;
}

function endOverdue(core: RunNeeds, run: Run): Promise<void> {
  run.budget = { ...run.budget, stopReason: run.budget.stopReason ?? "run_deadline_exhausted" };
  return endRun(core, run, "run_deadline_exhausted");
}
