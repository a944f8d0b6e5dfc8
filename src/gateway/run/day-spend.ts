import { type Clock, isoTime } from "../../kernel/clock.ts";
import type { StateRow, StateStore } from "../ports.ts";

const STATE = "day_spend";

/** What all runs of a day spent or may still be charged, kept in the store with every attempt that changes it. */
export interface DaySpend {
  spentCents(): number;
  add(cents: number): void;
  rows(): readonly StateRow[];
  load(store: StateStore): void;
}

export function createDaySpend(clock: Pick<Clock, "wallMs">): DaySpend {
  let day = "";
  let cents = 0;
  /** A clock that goes back starts no new day. */
  const turn = (): void => {
    const today = isoTime(clock.wallMs()).slice(0, 10);
    if (today <= day) return;
    day = today;
    cents = 0;
  };
  return {
    spentCents() {
      turn();
      return cents;
    },
    add(more) {
      turn();
      cents = Math.max(0, cents + more);
    },
    rows() {
      turn();
      return [{ table: "notes", id: STATE, runId: "", state: STATE, body: { day, cents } }];
    },
    load(store) {
      for (const row of store.load("notes", STATE)) {
        // Nobody knows what was spent: nothing more today.
        if ("tampered" in row) {
          turn();
          cents = Number.MAX_SAFE_INTEGER;
          continue;
        }
        const { day: kept, cents: spent } = row.body;
        if (typeof kept !== "string" || typeof spent !== "number" || kept < day) continue;
        day = kept;
        cents = Math.max(cents, spent);
      }
    },
  };
}
