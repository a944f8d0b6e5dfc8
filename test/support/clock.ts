import type { Clock, Sleep } from "../../src/kernel/clock.ts";

/** Lets real input and output happen until `done` says so, moving the manual clock along; fails when it never does. */
export async function untilDone(time: ManualTime, stepMs: number, done: () => boolean): Promise<void> {
  const giveUpAt = Date.now() + 240_000;
  while (!done()) {
    if (Date.now() > giveUpAt) throw new Error("what the test waits for did not happen");
    await time.advance(stepMs);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

/** Time that a test moves by hand. Whoever sleeps wakes when the clock has passed their time. */
export interface ManualTime {
  readonly clock: Clock;
  readonly sleep: Sleep;
  advance(ms: number): Promise<void>;
}

export function manualTime(wallMs = 1_790_000_000_000): ManualTime {
  let nowMs = 1_000;
  let sleepers: { readonly atMs: number; readonly wake: () => void }[] = [];
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  return {
    clock: { wallMs: () => wallMs + nowMs, bootMs: () => nowMs, bootId: () => "boot-1" },
    sleep: {
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted) return resolve();
          const sleeper = { atMs: nowMs + ms, wake: resolve };
          sleepers.push(sleeper);
          signal?.addEventListener("abort", () => {
            sleepers = sleepers.filter((one) => one !== sleeper);
            resolve();
          });
        }),
    },
    async advance(ms) {
      await settle();
      const target = nowMs + ms;
      for (;;) {
        const next = sleepers.filter(({ atMs }) => atMs <= target).sort((a, b) => a.atMs - b.atMs)[0];
        if (next === undefined) break;
        sleepers = sleepers.filter((one) => one !== next);
        nowMs = Math.max(nowMs, next.atMs);
        next.wake();
        await settle();
      }
      nowMs = target;
      await settle();
    },
  };
}
