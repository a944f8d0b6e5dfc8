/** Why a send must end before its answer: the run's time is over, or somebody called it off. */
export type StopCause = "deadline" | "aborted";

/**
 * One deadline and one abort signal for the whole send. Each stage puts its own way of ending into `onStop`; there is
 * only ever one stage, so one slot is enough and a call costs one timer.
 */
export class Stop {
  cause: StopCause | null = null;
  onStop: ((cause: StopCause) => void) | null = null;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #abort = (): void => this.#fire("aborted");

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#signal = signal;
    if (signal?.aborted === true) this.cause = "aborted";
    else if (!(timeoutMs > 0)) this.cause = "deadline";
    signal?.addEventListener("abort", this.#abort);
    this.#timer = setTimeout(() => this.#fire("deadline"), Math.min(Math.max(timeoutMs, 0), LONGEST_TIMER_MS));
  }

  /** Waits for `work` until the stop; null when the stop came first. The work's own late failure is swallowed. */
  async race<Value>(work: Promise<Value>): Promise<Value | null> {
    if (this.cause !== null) {
      work.catch(() => {});
      return null;
    }
    return new Promise((resolve, reject) => {
      this.onStop = () => resolve(null);
      work.then(resolve, reject);
    });
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener("abort", this.#abort);
    this.onStop = null;
  }

  #fire(cause: StopCause): void {
    if (this.cause !== null) return;
    this.cause = cause;
    this.onStop?.(cause);
  }
}

/** A longer delay would overflow Node's timer and fire at once. */
const LONGEST_TIMER_MS = 2_147_483_647;
