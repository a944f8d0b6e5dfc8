import type { AnswerHolder, AnswerRoom } from "./ports.ts";

/**
 * The memory that all large answers under way share. Whoever has a place in it has it for the whole answer, and gives it
 * back before it waits for a larger one, so that nobody waits while others wait for them; places are given in turn. One
 * caller has half of it at most, or one answer: whoever has slow answers, or reads them slowly, does not have everybody
 * wait for them.
 */
export function createAnswerRoom(limitBytes: number): AnswerRoom {
  const held = new Map<AnswerHolder, number>();
  const queue = new Map<AnswerHolder, { readonly bytes: number; readonly ready: () => void }>();
  const ofCaller = new Map<string, number>();
  let heldBytes = 0;

  function hold(holder: AnswerHolder, bytes: number): void {
    held.set(holder, bytes);
    count(holder, bytes);
  }

  function count({ callerKey }: AnswerHolder, more: number): void {
    heldBytes += more;
    const next = (ofCaller.get(callerKey) ?? 0) + more;
    if (next === 0) ofCaller.delete(callerKey);
    else ofCaller.set(callerKey, next);
  }

  function release(holder: AnswerHolder): void {
    const bytes = held.get(holder);
    if (bytes === undefined) return;
    held.delete(holder);
    count(holder, -bytes);
  }

  function mayTake({ callerKey }: AnswerHolder, bytes: number): boolean {
    const own = ofCaller.get(callerKey) ?? 0;
    return own === 0 || own + bytes <= limitBytes / 2;
  }

  /** In turn: whoever does not fit yet holds up all who came later, or the large would never come to their turn. */
  function admit(): void {
    for (const [holder, { bytes, ready }] of queue) {
      if (!mayTake(holder, bytes)) continue;
      if (heldBytes + bytes > limitBytes) return;
      queue.delete(holder);
      hold(holder, bytes);
      ready();
    }
  }

  return {
    take(holder, wanted, ready) {
      const bytes = Math.min(wanted, limitBytes);
      if ((held.get(holder) ?? -1) >= bytes) return true;
      release(holder);
      let waits = false;
      queue.set(holder, { bytes, ready: () => void (waits && ready()) });
      admit();
      waits = true;
      return held.has(holder);
    },
    fit(holder, bytes) {
      const had = held.get(holder);
      if (had === undefined || bytes >= had) return;
      held.set(holder, bytes);
      count(holder, bytes - had);
      admit();
    },
    pass(from, to) {
      const bytes = held.get(from);
      if (bytes === undefined) return false;
      held.delete(from);
      held.set(to, bytes);
      count(from, -bytes);
      count(to, bytes);
      return true;
    },
    leave(holder) {
      if (held.size === 0 && queue.size === 0) return;
      queue.delete(holder);
      release(holder);
      admit();
    },
    status: () => ({ heldBytes, waiting: queue.size }),
  };
}
