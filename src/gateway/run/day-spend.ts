import { countToday, type DayCount, usedUp } from "../../conventions/budget/day.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { StateRow, StateStore } from "../ports.ts";

const STATE = "day_spend";

/** What all runs of a day spent or may still be charged, kept in the store with every attempt that changes it. */
export interface DaySpend {
  /** What is reserved now counts for this day. */
  today(): string;
  spentCents(): number;
  add(cents: number): void;
  /** What was reserved on that day is not charged after all: it has it again, if that is this one. */
  giveBack(cents: number, day: string): void;
  rows(): readonly StateRow[];
  load(store: StateStore): void;
}

export function createDaySpend(clock: Pick<Clock, "wallMs">): DaySpend {
  let last: DayCount | null = null;
  /** A day that was seen stays seen, though the clock go back. */
  const today = (): DayCount => {
    last = countToday(last, clock.wallMs());
    return last;
  };
  return {
    today: () => today().day,
    spentCents: () => today().used,
    add(more) {
      const { day, used } = today();
      last = { day, used: used + more };
    },
    giveBack(cents, of) {
      const { day, used } = today();
      if (of === day) last = { day, used: Math.max(0, used - cents) };
    },
    rows() {
      const { day, used } = today();
      return [{ table: "notes", id: STATE, runId: "", state: STATE, body: { day, cents: used } }];
    },
    load(store) {
      for (const row of store.load("notes", STATE)) {
        if ("tampered" in row) {
          last = usedUp(clock.wallMs());
          continue;
        }
        const { day, cents } = row.body;
        if (typeof day !== "string" || typeof cents !== "number" || (last !== null && day < last.day)) continue;
        last = { day, used: Math.max(last?.used ?? 0, cents) };
      }
    },
  };
}
