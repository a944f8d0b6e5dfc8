/** What is due when, soonest first. A thing may stand in it more than once; whoever takes it checks that it is still due. */
export interface DueQueue<Thing> {
  add(atMs: number, thing: Thing): void;
  /** The soonest time, or null when it is empty. */
  next(): number | null;
  take(): Thing | undefined;
  clear(): void;
}

interface Entry<Thing> {
  readonly atMs: number;
  readonly thing: Thing;
}

/** A binary heap: adding and taking cost the logarithm of what waits. */
export function createDueQueue<Thing>(): DueQueue<Thing> {
  const heap: Entry<Thing>[] = [];

  function place(from: number, entry: Entry<Thing>): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || above.atMs <= entry.atMs) break;
      heap[at] = above;
      at = parent;
    }
    heap[at] = entry;
  }

  function sink(entry: Entry<Thing>): void {
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      const [one, other] = [heap[left], heap[left + 1]];
      if (one === undefined) break;
      const child = other !== undefined && other.atMs < one.atMs ? left + 1 : left;
      const below = heap[child];
      if (below === undefined || below.atMs >= entry.atMs) break;
      heap[at] = below;
      at = child;
    }
    heap[at] = entry;
  }

  return {
    add: (atMs, thing) => place(heap.length, { atMs, thing }),
    next: () => heap[0]?.atMs ?? null,
    take() {
      const [first] = heap;
      const last = heap.pop();
      if (first === undefined || last === undefined) return undefined;
      if (heap.length > 0) sink(last);
      return first.thing;
    },
    clear: () => void heap.splice(0),
  };
}
