/** One measured row. `beside` names the peer or limit measured in the same run, `ratio` is ours to theirs. */
export interface Row {
  readonly case: string;
  readonly value: number;
  readonly unit: string;
  readonly beside: string;
  readonly ratio: number;
}

export interface Bench {
  readonly name: string;
  run(emit: (row: Row) => void): Promise<void>;
}

/** Calls per second of `work` over about `ms` milliseconds, best of `rounds`, after a warm-up. */
export function rate(work: () => unknown, ms = 300, rounds = 3): number {
  for (const end = performance.now() + ms / 3; performance.now() < end; ) work();
  let best = 0;
  for (let round = 0; round < rounds; round++) {
    let calls = 0;
    const start = performance.now();
    while (performance.now() - start < ms / rounds) {
      work();
      calls++;
    }
    best = Math.max(best, calls / ((performance.now() - start) / 1000));
  }
  return best;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
