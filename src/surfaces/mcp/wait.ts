import { type Sleep, Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { endingOf } from "../plane/ending.ts";

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
  const ending = endingOf(work);
  const waker = new Waker();
  const halt = (): void => waker.wake();
  ending.waiting.add(waker);
  signal.addEventListener("abort", halt, { once: true });
  try {
    for (let leftMs = waitMs, step = 1; leftMs > 0 && !signal.aborted; step++) {
      const pauseMs = progress === null ? leftMs : Math.min(leftMs, defaults.mcpProgressMs);
      if (!ending.over) await sleep.sleep(pauseMs, waker);
      if (ending.over) return { kind: "settled", value: await work };
      leftMs -= pauseMs;
      if (!signal.aborted && leftMs > 0) progress?.(step);
    }
    return { kind: signal.aborted ? "left" : "late" };
  } finally {
    signal.removeEventListener("abort", halt);
    ending.waiting.delete(waker);
  }
}
