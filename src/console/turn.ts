import { inTurn } from "../kernel/in-turn.ts";

/**
 * The operator's copy of a home, one at a time: it is brought up to date before anything in it is looked at or signed, and nothing
 * is fetched between a signature and its delivery.
 */
export interface Turn {
  /** Up to date, then looked at. */
  seen<Result>(look: () => Result | Promise<Result>): Promise<Result>;
  /** Up to date, then changed, while nobody else does either. */
  changed<Result>(change: () => Promise<Result>): Promise<Result>;
}

export function createTurn(refresh: () => Promise<void>): Turn {
  const next = inTurn();
  return {
    seen: async (look) => {
      await next(refresh);
      return look();
    },
    changed: (change) =>
      next(async () => {
        await refresh();
        return change();
      }),
  };
}
