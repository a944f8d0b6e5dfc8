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

export function rememberEnded(): EndedAttempts {
  const names = new Set<string>();
  return {
    has: (attempt) => names.has(attempt),
    add(attempt) {
      names.add(attempt);
      if (names.size <= KEPT) return;
      for (const oldest of names) {
        names.delete(oldest);
        return;
      }
    },
  };
}
