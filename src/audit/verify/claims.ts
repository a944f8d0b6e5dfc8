const TAKEN = 0;
const ALLOWED = 1;

/** Deals numbers out to threads, each once and in order, without asking one of them: it may be busy. */
export interface Claims {
  /** What another thread makes the same claims of. */
  readonly shared: SharedArrayBuffer;
  /** How many were taken so far. */
  taken(): number;
  /** How many may be begun. */
  allowed(): number;
  allow(count: number): void;
  take(): number;
  /** Waits on this thread until the number it took may be begun. */
  await(number: number): void;
}

export function shareClaims(
  shared: SharedArrayBuffer = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT),
): Claims {
  const counts = new Int32Array(shared);
  const allowed = (): number => Atomics.load(counts, ALLOWED);
  return {
    shared,
    taken: () => Atomics.load(counts, TAKEN),
    allowed,
    allow(count) {
      Atomics.store(counts, ALLOWED, count);
      Atomics.notify(counts, ALLOWED);
    },
    take: () => Atomics.add(counts, TAKEN, 1),
    await(number) {
      for (let now = allowed(); number >= now; now = allowed()) Atomics.wait(counts, ALLOWED, now);
    },
  };
}
