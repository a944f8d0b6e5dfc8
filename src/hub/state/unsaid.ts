import { Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { RowKey, StateParts } from "./parts.ts";
import type { SharedRow } from "./rows.ts";
import { away } from "./words.ts";

/** Somebody who sends nothing before the hub has these rows. */
export interface Waiting {
  readonly rows: readonly SharedRow[];
  tell(error: Denied | null): void;
}

export type Named = readonly [name: string, row: SharedRow | null];
export const nameOf = ({ table, id }: RowKey): string => `${table} ${id}`;

/** What the hub does not have yet: rows that somebody waits for, and rows that changed. */
export interface Unsaid {
  put(rows: readonly SharedRow[]): Promise<void>;
  touch(keys: readonly RowKey[]): void;
  /** What another process may end is looked at until it is gone. */
  watch(rows: Iterable<Named>): void;
  touchEnded(): void;
  /** All rows of this host, with whoever waits. */
  takeAll(): { readonly rows: readonly Named[]; readonly waiting: readonly Waiting[] };
  /** What is new; `isSaid` tells of a row whether the hub has it. */
  take(isSaid: (name: string) => boolean): { readonly rows: readonly Named[]; readonly waiting: readonly Waiting[] };
  /** Whoever waits, and these too, are told no; their rows go up when that is possible again. */
  refuse(error: Denied, more: readonly Waiting[]): void;
  /** Somebody waits. */
  isUrgent(): boolean;
  size(): number;
}

type Needs = Pick<StateParts, "all" | "find" | "isOpen" | "isEndedElsewhere" | "sleep">;

/** `news` is called with every row, and says whether somebody waits for it; `late` when somebody has waited for too long. */
export function collectUnsaid(parts: Needs, news: (isUrgent: boolean) => void, late: () => void): Unsaid {
  let queue: Waiting[] = [];
  const dirty = new Map<string, RowKey>();
  const watched = new Map<string, RowKey>();

  function touch(keys: readonly RowKey[]): void {
    for (const { table, id } of keys) dirty.set(nameOf({ table, id }), { table, id });
    news(false);
  }

  function withWaiting(rows: readonly Named[]) {
    dirty.clear();
    return { rows, waiting: queue.splice(0) };
  }

  return {
    put: (rows) =>
      new Promise((resolve, reject) => {
        const stop = new Waker();
        const waiting: Waiting = {
          rows,
          tell(error) {
            stop.wake();
            if (error === null) resolve();
            else reject(error);
          },
        };
        queue.push(waiting);
        news(true);
        void parts.sleep.sleep(defaults.hubWaitMs, stop).then(() => {
          if (stop.aborted) return;
          queue = queue.filter((one) => one !== waiting);
          touch(rows);
          late();
          reject(away());
        });
      }),
    touch,
    watch(rows) {
      for (const [name, row] of rows) if (row !== null && parts.isEndedElsewhere(row)) watched.set(name, row);
    },
    touchEnded() {
      for (const [name, key] of watched) {
        if (!parts.isOpen() || parts.find(key) !== null) continue;
        watched.delete(name);
        touch([key]);
      }
    },
    takeAll: () => withWaiting(parts.all().map((row): Named => [nameOf(row), row])),
    take(isSaid) {
      const changed = [...dirty].map(([name, key]): Named => [name, parts.find(key)]);
      return withWaiting(changed.filter(([name, row]) => row !== null || isSaid(name)));
    },
    refuse(error, more) {
      for (const { rows, tell } of [...queue.splice(0), ...more]) {
        touch(rows);
        tell(error);
      }
    },
    isUrgent: () => queue.length > 0,
    size: () => queue.length + dirty.size,
  };
}
