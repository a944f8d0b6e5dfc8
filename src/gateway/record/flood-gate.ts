import { type AllowanceLimits, createAllowances } from "../../conventions/budget/allowance.ts";
import type { Volume } from "../../conventions/budget/volume.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Ports } from "../ports.ts";

/** What came more often than it is told one by one: how often, and from when to when. */
export interface Counted<What> {
  readonly what: What;
  readonly firstAt: string;
  readonly lastAt: string;
  readonly count: number;
}

/**
 * Keeps the log from being filled by whoever repeats themselves: past an allowance things are counted, once a second; where
 * whoever pays has used up its volume or the disk is nearly full, once a minute.
 */
export interface FloodGate<What> {
  /**
   * Whether `what` may be told on its own; otherwise it was counted, with everything else that has its key. Whoever tells it
   * charges `payer`, who is nobody where a person has said yes.
   */
  pass(who: string, key: string, what: What, payer: string | null): boolean;
}

export interface FloodPorts extends Pick<Ports, "clock" | "sleep" | "space"> {
  readonly volume: Volume;
}

const REMEMBERED = 1_024;
/** What one count takes on the disk. */
const COUNT_BYTES = 512;

export function createFloodGate<What>(
  { clock, sleep, space, volume }: FloodPorts,
  limits: Pick<AllowanceLimits, "burst" | "perSecond">,
  tell: (counted: readonly Counted<What>[]) => Promise<void>,
): FloodGate<What> {
  const allowances = createAllowances({ ...limits, remembered: REMEMBERED });
  const soon = createBatch(defaults.countedMs);
  const seldom = createBatch(defaults.countedSeldomMs);

  function createBatch(afterMs: number): (key: string, what: What) => boolean {
    let counted = new Map<string, { what: What; firstAt: string; lastAt: string; count: number }>();
    const tellLater = async (): Promise<void> => {
      await sleep.sleep(afterMs);
      const batch = [...counted.values()];
      counted = new Map();
      // What cannot be written any more has been refused all the same.
      await tell(batch).catch(() => undefined);
    };
    /** Whether it is the first of its key. */
    return (key, what) => {
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
    };
  }

  return {
    pass(who, key, what, payer) {
      const room = space?.low() !== true && (payer === null || volume.tells(payer));
      if (room && allowances.take(who, clock.bootMs())) return true;
      const first = (room ? soon : seldom)(key, what);
      if (first && payer !== null) volume.charge(payer, COUNT_BYTES);
      return false;
    },
  };
}
