import { defaults } from "../../kernel/defaults.ts";

/**
 * Whose line is next. Every connection that has lines waiting gives one in its turn, and only so many, of so many bytes, are taken
 * before everything else of the gateway has its own: whoever sends without end waits for itself alone.
 */
export interface Turns {
  /** `work` takes one line. */
  queue(work: () => Taken): void;
}

export interface Taken {
  readonly bytes: number;
  /** More lines wait. */
  readonly more: boolean;
}

export function createTurns(each: number, pauseMs: number, eachBytes: number = defaults.mcpBytesATurn): Turns {
  const waiting: (() => Taken)[] = [];
  let due = false;

  function run(): void {
    try {
      let bytes = 0;
      for (let taken = 0; taken < each && bytes < eachBytes; taken++) {
        const work = waiting.shift();
        if (work === undefined) return;
        const line = work();
        bytes += line.bytes;
        if (line.more) waiting.push(work);
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
