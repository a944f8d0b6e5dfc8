/** Two kinds of time. Wall time is for people and records; only boot time decides anything. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  wallMs(): number;
  /** Milliseconds since this machine booted, counting suspend (CLOCK_BOOTTIME). */
  bootMs(): number;
  /** Names the boot that `bootMs` counts from. Deadlines of another boot are over. */
  bootId(): string;
}

export interface Sleep {
  /** Resolves after `ms`, or early when `signal` aborts; never rejects. */
  sleep(ms: number, signal?: Waking): Promise<void>;
}

/** As much of an AbortSignal as a sleeper listens to. */
export interface Waking {
  readonly aborted: boolean;
  addEventListener(event: "abort", hear: () => void, options?: { readonly once: boolean }): void;
  removeEventListener(event: "abort", hear: () => void): void;
}

/** What wakes one sleeper, once. A busy gateway makes thousands a second: an AbortController costs ten times as much. */
export class Waker implements Waking {
  aborted = false;
  #hear: (() => void) | null = null;
  addEventListener(_event: "abort", hear: () => void): void {
    this.#hear = hear;
  }
  removeEventListener(): void {
    this.#hear = null;
  }
  wake(): void {
    this.aborted = true;
    this.#hear?.();
  }
}

export interface Random {
  bytes(length: number): Buffer;
}

/** The wall time, going on from the latest that it has been here: setting the clock back does not set this back. */
export function createLatestWall({ wallMs, bootMs }: Pick<Clock, "wallMs" | "bootMs">): () => number {
  let latest = { wallMs: wallMs(), bootMs: bootMs() };
  return () => {
    const now = bootMs();
    latest = { wallMs: Math.max(wallMs(), latest.wallMs + now - latest.bootMs), bootMs: now };
    return latest.wallMs;
  };
}

/** ISO 8601 UTC, as every record writes time. Most records of a busy moment bear the same one, or the same second. */
export function isoTime(wallMs: number): string {
  if (wallMs !== lastMs) {
    const second = Math.floor(wallMs / 1_000);
    if (second !== lastSecond) {
      lastStart = new Date(second * 1_000).toISOString().slice(0, -"000Z".length);
      lastSecond = second;
    }
    lastText = `${lastStart}${String(Math.floor(wallMs) - second * 1_000).padStart(3, "0")}Z`;
    lastMs = wallMs;
  }
  return lastText;
}

let lastMs = Number.NaN;
let lastText = "";
let lastSecond = Number.NaN;
let lastStart = "";
