import type { Waker } from "../../kernel/clock.ts";

/** What several wait for, each for a while. */
export interface Ending {
  over: boolean;
  /** Woken at the end. Whoever waits no longer takes its own out, and nothing of it is left. */
  readonly waiting: Set<Waker>;
}

const endings = new WeakMap<Promise<unknown>, Ending>();

/** Hears the end of `work` once for all who ask: what each hung on the promise itself would stay there until its end, long after they left. */
export function endingOf(work: Promise<unknown>): Ending {
  const known = endings.get(work);
  if (known !== undefined) return known;
  const ending: Ending = { over: false, waiting: new Set() };
  endings.set(work, ending);
  // What is over is not remembered: the answers of thousands of calls are held after their end.
  const end = (): void => {
    ending.over = true;
    endings.delete(work);
    for (const waker of ending.waiting) waker.wake();
  };
  work.then(end, end);
  return ending;
}
