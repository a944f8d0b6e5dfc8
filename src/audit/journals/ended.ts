/** More than can be under way when a gateway stops: a start tells of those again. */
const KEPT = 4_096;

/**
 * The newest attempts whose end was told. What was not observed is told twice, and a start, which goes by the state, calls unknown what may
 * have ended in the log.
 */
export interface EndedAttempts {
  has(attempt: string): boolean;
  add(attempt: string): void;
}

/** So many of the newest at least, and never twice as many: taking the oldest out one by one costs more than a second set. */
export function rememberEnded(): EndedAttempts {
  let newer = new Set<string>();
  let older = newer;
  return {
    has: (attempt) => newer.has(attempt) || older.has(attempt),
    add(attempt) {
      newer.add(attempt);
      if (newer.size < KEPT) return;
      older = newer;
      newer = new Set();
    },
  };
}
