import { type AllowanceLimits, createAllowances } from "../../conventions/budget/allowance.ts";
import type { Volume } from "../../conventions/budget/volume.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Ports } from "../ports.ts";
import type { Ledger } from "./ledger.ts";

/** What came more often than it is told one by one: how often, and from when to when. */
export interface Counted<What> {
  readonly what: What;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly count: number;
}

/**
 * Keeps the log from being filled by whoever repeats themselves: past an allowance things are counted, once a second; where
 * whoever pays has used up its volume or the disk is nearly full, once a minute. What the log has no room for is counted too,
 * until it has.
 */
export interface FloodGate<What> {
  /**
   * Whether `what` may be told on its own; otherwise it was counted, with everything else that has its key. Whoever tells it
   * charges `payer`, who is nobody where a person has said yes.
   */
  pass(who: string, key: string, what: What, payer: string | null): boolean;
}

export interface FloodPorts extends Pick<Ports, "clock" | "sleep" | "space">, Pick<Ledger, "hasRoom"> {
  readonly volume: Volume;
}

export interface FloodLimits<What> extends Pick<AllowanceLimits, "burst" | "perSecond"> {
  /** As what it is counted where enough are counted apart. Absent where there are only few kinds. */
  others?(what: What): What;
}

const REMEMBERED = 1_024;
/** So many that all of them fit a frame, with those that are counted together. */
const COUNTED_APART = 512;
/** What one count takes on the disk. */
const COUNT_BYTES = 512;

export function createFloodGate<What>(
  { clock, sleep, space, volume, hasRoom }: FloodPorts,
  limits: FloodLimits<What>,
  tell: (counted: readonly Counted<What>[]) => Promise<unknown>,
): FloodGate<What> {
  const allowances = createAllowances({ ...limits, remembered: REMEMBERED });
  const soon = createBatch(defaults.countedMs);
  const seldom = createBatch(defaults.countedSeldomMs);

  function createBatch(afterMs: number): (key: string, what: What) => boolean {
    let counted = new Map<string, { what: What; firstAt: string; lastAt: string; count: number }>();
    const tellLater = async (): Promise<void> => {
      do await sleep.sleep(afterMs);
      while (!hasRoom());
      const batch = [...counted.values()];
      counted = new Map();
      // What cannot be written any more has been refused all the same.
      await tell(batch).catch(() => undefined);
    };
    /** Whether it is the first of its key. */
    function count(key: string, what: What): boolean {
      const at = isoTime(clock.wallMs());
      const entry = counted.get(key);
      if (entry !== undefined) {
        entry.count++;
        entry.lastAt = at;
        return false;
      }
      if (counted.size === 0) void tellLater();
      counted.set(key, { what, firstAt: at, lastAt: at, count: 1 });
      return true;
    }
    return (key, what) => {
      if (limits.others === undefined || counted.size < COUNTED_APART || counted.has(key)) return count(key, what);
      const others = limits.others(what);
      return count(JSON.stringify(others), others);
    };
  }

  return {
    pass(who, key, what, payer) {
      const tells = space?.low() !== true && (payer === null || volume.tells(payer));
      if (tells && hasRoom() && allowances.take(who, clock.bootMs())) return true;
      const first = (tells ? soon : seldom)(key, what);
      if (first && payer !== null) volume.charge(payer, COUNT_BYTES);
      return false;
    },
  };
}
