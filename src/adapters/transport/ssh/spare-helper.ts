import { type HelperProgram, startHelper, type WaitingHelper } from "./start-helper.ts";

/**
 * One helper that stands ready, so that a call does not wait for Node to start (some 35 ms of 150). It knows nothing
 * before its order, serves one connection like any other, and goes when no call came for a while or the gateway ends.
 */
export interface SpareHelper {
  take(): WaitingHelper | string;
  /** Puts one ready, unless there is one. */
  refill(): void;
  close(): void;
}

export function createSpareHelper(program: HelperProgram, keepMs: number): SpareHelper {
  let spare: WaitingHelper | null = null;
  let expiry: NodeJS.Timeout | undefined;
  const drop = (): WaitingHelper | null => {
    clearTimeout(expiry);
    const dropped = spare;
    spare = null;
    return dropped;
  };
  return {
    take() {
      const ready = drop();
      if (ready?.lives() !== true) return startHelper(program);
      ready.hold(true);
      return ready;
    },
    refill() {
      if (keepMs <= 0) return;
      const kept = drop();
      const next = kept?.lives() === true ? kept : startHelper(program);
      if (typeof next === "string") return;
      next.hold(false);
      spare = next;
      expiry = setTimeout(() => drop()?.kill(), keepMs);
      expiry.unref();
    },
    close: () => drop()?.kill(),
  };
}
