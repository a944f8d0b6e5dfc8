import { countToday, type DayCount, usedUp } from "../../conventions/budget/day.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { StateRow } from "../ports.ts";
import type { Ledger } from "./ledger.ts";

/** How often something happened today, across runs, callers and restarts. */
export interface DayCounts {
  /** One more, durable before it resolves; false, and nothing counted, once there were `most` today. */
  take(key: string, most: number): Promise<boolean>;
  /** The last UTC day of one; null for never, and where the row does not authenticate. */
  lastDay(key: string): string | null;
}

const STATE = "day";

export function createDayCounts(ledger: Pick<Ledger, "find" | "record">, clock: Pick<Clock, "wallMs">): DayCounts {
  const counts = new Map<string, DayCount>();

  function last(key: string): DayCount | null | "unreadable" {
    const known = counts.get(key);
    if (known !== undefined) return known;
    const row = ledger.find("notes", idOf(key));
    if (row === null) return null;
    return "tampered" in row ? "unreadable" : { day: String(row.body["day"]), used: Number(row.body["used"]) };
  }

  return {
    lastDay(key) {
      const found = last(key);
      return found === "unreadable" ? null : (found?.day ?? null);
    },
    async take(key, most) {
      const found = last(key);
      const { day, used } = found === "unreadable" ? usedUp(clock.wallMs()) : countToday(found, clock.wallMs());
      if (used >= most) return false;
      const next = { day, used: used + 1 };
      counts.set(key, next);
      const row: StateRow = { table: "notes", id: idOf(key), runId: "", state: STATE, body: next };
      await ledger.record("day.counted", [], [row]);
      return true;
    },
  };
}

function idOf(key: string): string {
  return `${STATE} ${key}`;
}
