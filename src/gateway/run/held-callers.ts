import type { LiveCaller } from "../ports.ts";

/**
 * Processes that opened a run, held until they end or newer ones take their place: whoever opens a connection for each request is
 * the same caller in the next one too, and is told how its run and its calls ended.
 */
export interface HeldCallers {
  keep(caller: LiveCaller): void;
}

export function createHeldCallers(limits: { readonly perUid: number; readonly total: number }): HeldCallers {
  const held = new Map<string, LiveCaller>();

  function letGo(caller: LiveCaller): void {
    held.delete(caller.key);
    caller.close();
  }

  return {
    keep(caller) {
      if (caller.binding !== "process") return;
      const own = held.get(caller.key) ?? caller.retain();
      const isNew = !held.delete(caller.key);
      held.set(caller.key, own);
      if (!isNew) return;
      own.onExit(() => letGo(own));
      const ofUser = [...held.values()].filter(({ uid }) => uid === caller.uid);
      const [oldest] = ofUser.length > limits.perUid ? ofUser : held.size > limits.total ? held.values() : [];
      if (oldest !== undefined) letGo(oldest);
    },
  };
}
