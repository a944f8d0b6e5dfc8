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
  const counts = new Map<string, { readonly day: string; readonly used: number }>();

  /** A row that does not authenticate counts as a day that is used up: it may have held any number. */
  function read(key: string, today: string): { readonly day: string; readonly used: number } {
    const known = counts.get(key);
    if (known !== undefined) return known;
    const row = ledger.find("notes", idOf(key));
    if (row === null) return { day: today, used: 0 };
    if ("tampered" in row) return { day: today, used: Number.MAX_SAFE_INTEGER };
    return { day: String(row.body["day"]), used: Number(row.body["used"]) };
  }

  return {
    lastDay(key) {
      const row = counts.get(key) ?? ledger.find("notes", idOf(key));
      if (row === null || "tampered" in row) return null;
      return "day" in row ? row.day : String(row.body["day"]);
    },
    async take(key, most) {
      const today = new Date(clock.wallMs()).toISOString().slice(0, 10);
      const last = read(key, today);
      // A clock that was set back gives no day again.
      const { day, used } = last.day >= today ? last : { day: today, used: 0 };
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
