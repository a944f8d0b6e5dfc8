import type { OperationBoard } from "../../conventions/operation/summary.ts";
import type { Clock, Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";

export interface NewsSource {
  /** Calls back whenever any operation may have changed; returns the way to stop that. */
  watch(listener: () => void): () => void;
  board(): OperationBoard;
}

export interface OperationNews {
  watch(listener: (board: OperationBoard) => void): () => void;
}

/**
 * Tells watchers how operations stand. However many change, a board is made once for all watchers and at most so often;
 * it is whole and bounded, so that one that is missed costs nothing. Without a watcher nothing is done at all.
 */
export function createOperationNews(source: NewsSource, clock: Pick<Clock, "bootMs">, sleep: Sleep): OperationNews {
  const listeners = new Set<(board: OperationBoard) => void>();
  let stop: (() => void) | null = null;
  let toldMs = Number.NEGATIVE_INFINITY;
  let waiting = false;

  async function tellSoon(): Promise<void> {
    if (waiting) return;
    waiting = true;
    // Even the first change waits a moment: those of one turn come together.
    await sleep.sleep(Math.max(GATHER_MS, toldMs + defaults.operationNewsMs - clock.bootMs()));
    waiting = false;
    if (listeners.size === 0) return;
    toldMs = clock.bootMs();
    const board = source.board();
    for (const listener of [...listeners]) listener(board);
  }

  return {
    watch(listener) {
      listeners.add(listener);
      stop ??= source.watch(() => void tellSoon());
      listener(source.board());
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        stop?.();
        stop = null;
      };
    },
  };
}

const GATHER_MS = 20;
