/**
 * Whose line is next. Every connection that has lines waiting gives one in its turn, and only so many are taken before everything
 * else of the gateway has its own: whoever sends without end waits for itself alone.
 */
export interface Turns {
  /** `work` takes one line and says whether more wait. */
  queue(work: () => boolean): void;
}

export function createTurns(each: number, pauseMs: number): Turns {
  const waiting: (() => boolean)[] = [];
  let due = false;

  function run(): void {
    try {
      for (let taken = 0; taken < each; taken++) {
        const work = waiting.shift();
        if (work === undefined) return;
        if (work()) waiting.push(work);
      }
    } finally {
      // A full turn is a crowd: it pauses, so that the gateway has time for more than lines.
      due = waiting.length > 0;
      if (due) setTimeout(run, pauseMs);
    }
  }

  return {
    queue(work) {
      waiting.push(work);
      if (due) return;
      due = true;
      setImmediate(run);
    },
  };
}
