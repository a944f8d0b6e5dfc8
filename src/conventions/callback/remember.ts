import type { Digest } from "../../kernel/canonical-json.ts";

/** One remembered event and the slot it is kept in; a later one takes the slot over. */
export interface SeenEvent {
  readonly serial: number;
  readonly key: Digest;
}

/** The last so many events of one sender. What it forgets may be taken again, which costs a read and changes nothing. */
export interface SeenEvents {
  /** Null when it is known already. */
  add(key: Digest): SeenEvent | null;
  /** It could not be recorded: its repeat must count. */
  drop(event: SeenEvent): void;
  /** Back from where it was kept. */
  load(event: SeenEvent): void;
  readonly size: number;
}

export function createSeenEvents(most: number): SeenEvents {
  const bySlot = new Map<number, Digest>();
  const known = new Set<Digest>();
  let next = 0;
  const put = ({ serial, key }: SeenEvent): void => {
    const slot = serial % most;
    const before = bySlot.get(slot);
    if (before !== undefined) known.delete(before);
    bySlot.set(slot, key);
    known.add(key);
  };
  return {
    add(key) {
      if (known.has(key)) return null;
      const event = { serial: next++, key };
      put(event);
      return event;
    },
    drop({ serial, key }) {
      known.delete(key);
      // Else whoever takes the slot over would forget the repeat, which stands in another.
      if (bySlot.get(serial % most) === key) bySlot.delete(serial % most);
    },
    load(event) {
      put(event);
      next = Math.max(next, event.serial + 1);
    },
    get size() {
      return known.size;
    },
  };
}

/** Callbacks that came before the answer which names their job: few, and not for long. */
export interface EarlyCallbacks {
  add(name: string, nowMs: number): void;
  /** Whether one came; it is then used up. */
  take(name: string, nowMs: number): boolean;
  clear(): void;
  readonly size: number;
}

export function createEarlyCallbacks(most: number, keptMs: number): EarlyCallbacks {
  const until = new Map<string, number>();
  const tidy = (nowMs: number): void => {
    for (const [name, untilMs] of until) {
      if (untilMs > nowMs && until.size <= most) break;
      until.delete(name);
    }
  };
  return {
    add(name, nowMs) {
      until.delete(name);
      until.set(name, nowMs + keptMs);
      tidy(nowMs);
    },
    take(name, nowMs) {
      tidy(nowMs);
      return until.delete(name);
    },
    clear: () => until.clear(),
    get size() {
      return until.size;
    },
  };
}
