import { createVolume, type UsedVolume, type Volume } from "../../conventions/budget/volume.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { StateRow, StateStore } from "../ports.ts";
import type { Ledger } from "./ledger.ts";

/** What may be written before a person said yes, remembered over restarts. */
export interface KeptVolume extends Volume {
  load(store: StateStore): void;
}

const STATE = "volume";
const LIMITS = { bytesPerDay: defaults.unapprovedBytesPerDay, remembered: defaults.unapprovedRemembered };

export function createKeptVolume(ledger: Pick<Ledger, "record">, clock: Clock): KeptVolume {
  // It says a little more than was used, so nobody has to wait for it; a ledger that cannot keep it stops everything itself.
  const keep = (used: UsedVolume): void => void ledger.record("day.counted", [], [rowOf(used)]).catch(() => undefined);
  const volume = createVolume(LIMITS, clock, keep);
  return {
    ...volume,
    load(store) {
      volume.recall(store.load("notes", STATE).map((row) => readRow(row, clock.wallMs())));
    },
  };
}

function rowOf({ who, bytes, atMs }: UsedVolume): StateRow {
  return { table: "notes", id: `${STATE} ${who}`, runId: "", state: STATE, body: { bytes, at_ms: atMs } };
}

/** A row that does not authenticate may have held any number: it counts as used up. */
function readRow(row: ReturnType<StateStore["load"]>[number], nowMs: number): UsedVolume {
  const who = ("tampered" in row ? row.tampered : row.id).slice(STATE.length + 1);
  if ("tampered" in row) return { who, bytes: LIMITS.bytesPerDay, atMs: nowMs };
  return { who, bytes: Number(row.body["bytes"]), atMs: Number(row.body["at_ms"]) };
}
