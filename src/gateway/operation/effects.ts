/** Side effects that calls and operators have on their way. What was sent before a lock is left to end by itself. */
export interface Effects {
  during<Result>(work: Promise<Result>): Promise<Result>;
  /** Once none is on its way, and what its answer proves is kept. */
  ended(): Promise<void>;
}

export function createEffects(): Effects {
  const underWay = new Set<Promise<unknown>>();
  return {
    async during(work) {
      underWay.add(work);
      try {
        return await work;
      } finally {
        underWay.delete(work);
      }
    },
    async ended() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
