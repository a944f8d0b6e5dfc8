import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";

export type Waited<Value> =
  | { readonly kind: "settled"; readonly value: Value }
  /** It takes longer; whoever asked gets its id. */
  | { readonly kind: "late" }
  /** Whoever asked does not wait any more. */
  | { readonly kind: "left" };

export interface Waiting {
  readonly waitMs: number;
  readonly sleep: Sleep;
  readonly signal: AbortSignal;
  /** Null where the client sent no progress token. */
  readonly progress: ((step: number) => void) | null;
}

/** Waits for `work` up to a bound and says now and then that it still waits. A refusal is thrown as it comes. */
export async function waitFor<Value>(
  work: Promise<Value>,
  { waitMs, sleep, signal, progress }: Waiting,
): Promise<Waited<Value>> {
  const settled = work.then((value): Waited<Value> => ({ kind: "settled", value }));
  const stop = new AbortController();
  const halt = (): void => stop.abort();
  signal.addEventListener("abort", halt, { once: true });
  try {
    for (let leftMs = waitMs, step = 1; leftMs > 0 && !signal.aborted; step++) {
      const pauseMs = progress === null ? leftMs : Math.min(leftMs, defaults.mcpProgressMs);
      const late = sleep.sleep(pauseMs, stop.signal).then(() => null);
      const first = await Promise.race([settled, late]);
      if (first !== null) return first;
      leftMs -= pauseMs;
      if (!signal.aborted && leftMs > 0) progress?.(step);
    }
    return { kind: signal.aborted ? "left" : "late" };
  } finally {
    settled.catch(() => undefined);
    signal.removeEventListener("abort", halt);
    stop.abort();
  }
}
