import type { StateRow } from "../ports.ts";

/**
 * A row is a picture of memory at one moment, and the log may be written between that moment and the store's turn. A
 * picture that was taken later and kept sooner must not be painted over by the earlier one.
 */
export interface RowOrder {
  /** The moment in which rows are taken. It stays under way until `end`. */
  begin(): number;
  /** Those of the rows that nobody has kept a later picture of. */
  newest(moment: number, rows: readonly StateRow[]): readonly StateRow[];
  end(moment: number): void;
}

/** Past so many rows, those that no moment under way can be behind are let go. */
const REMEMBERED = 1_024;

export function createRowOrder(): RowOrder {
  const underWay = new Set<number>();
  const kept = new Map<string, number>();
  let last = 0;

  function letGo(): void {
    const [oldest = last + 1] = underWay;
    for (const [key, moment] of kept) if (moment < oldest) kept.delete(key);
  }

  return {
    begin() {
      underWay.add(++last);
      return last;
    },
    newest(moment, rows) {
      return rows.filter(({ table, id, unordered }) => {
        if (unordered === true) return true;
        const key = `${table} ${id}`;
        if ((kept.get(key) ?? 0) > moment) return false;
        kept.set(key, moment);
        return true;
      });
    },
    end(moment) {
      underWay.delete(moment);
      if (kept.size > REMEMBERED) letGo();
    },
  };
}
