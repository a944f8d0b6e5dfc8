import type { Clock, Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { createDueQueue } from "./due-queue.ts";

/** Begins each thing when it is due: none that is under way, so many at once, and so many a minute. */
export interface DueLoop<Thing> {
  /** When it is due may have changed. */
  schedule(thing: Thing): void;
  /** It is under way until the work on it ends, which never fails. */
  hold(thing: Thing, work: Promise<void>): Promise<void>;
  underWay(thing: Thing): Promise<void> | undefined;
  start(): void;
  /** Nothing more is begun. What is under way is left to end by itself. */
  stop(): Promise<void>;
}

export interface DueWork<Thing> {
  /** Null where it waits for nothing. */
  dueOf(thing: Thing): number | null;
  /** Holds it. */
  begin(thing: Thing): void;
  ended(thing: Thing): void;
}

const MINUTE_MS = 60_000;

export function createDueLoop<Thing>(
  { clock, sleep }: { readonly clock: Pick<Clock, "bootMs">; readonly sleep: Sleep },
  of: DueWork<Thing>,
  limits: { readonly atOnce: number; readonly perMinute: number },
): DueLoop<Thing> {
  const queue = createDueQueue<Thing>();
  const busy = new Map<Thing, Promise<void>>();
  let on = false;
  let looping = false;
  let wake = new AbortController();
  let minute = { startMs: Number.NEGATIVE_INFINITY, count: 0 };

  /** How long until one more may be begun, whatever is due. */
  function fullForMs(nowMs: number): number {
    if (nowMs - minute.startMs >= MINUTE_MS) minute = { startMs: nowMs, count: 0 };
    return minute.count < limits.perMinute ? 0 : minute.startMs + MINUTE_MS - nowMs;
  }

  async function loop(): Promise<void> {
    looping = true;
    while (on) {
      const nowMs = clock.bootMs();
      const next = queue.next();
      if (next === null) break;
      if (busy.size >= limits.atOnce) {
        await Promise.race(busy.values());
        continue;
      }
      const waitMs = Math.max(next - nowMs, fullForMs(nowMs));
      if (waitMs > 0) {
        wake = new AbortController();
        await sleep.sleep(Math.min(waitMs, defaults.expiryLookMs), wake.signal);
        continue;
      }
      const thing = queue.take();
      // It may have been moved on, settled or begun meanwhile: then this entry is an old one.
      if (thing === undefined || busy.has(thing)) continue;
      const dueMs = of.dueOf(thing);
      if (dueMs === null || dueMs > nowMs) continue;
      minute.count++;
      of.begin(thing);
    }
    looping = false;
  }

  return {
    schedule(thing) {
      const dueMs = of.dueOf(thing);
      if (dueMs === null) return;
      queue.add(dueMs, thing);
      if (looping) wake.abort();
      else void loop();
    },
    hold(thing, work) {
      const held = work.finally(() => {
        busy.delete(thing);
        of.ended(thing);
      });
      busy.set(thing, held);
      return held;
    },
    underWay: (thing) => busy.get(thing),
    start() {
      on = true;
      if (!looping) void loop();
    },
    async stop() {
      on = false;
      wake.abort();
      await Promise.allSettled(busy.values());
      queue.clear();
    },
  };
}
