import { keyIdOf } from "../keys/raw.ts";
import type { BreachCode } from "./findings.ts";
import type { HandCount, SeenHand } from "./report.ts";

/**
 * Verifies one text about a passkey's answer; undefined where it does not hold. Of one that was `verified` before only what it says is
 * read. This room knows nothing of passkeys.
 */
export type ReadHand = (text: string, verified: boolean) => SeenHand | undefined;

/** What passkeys answered, from frame to frame: each verified, now or before, and none twice. */
export interface Hands {
  take(texts: readonly string[], verified: boolean): TakenHands;
  counts(): readonly HandCount[];
}

interface TakenHands {
  readonly wrong: BreachCode | null;
  /** Whose, where nobody pinned the operator's key. */
  readonly unpinned: string | null;
  /** Whose, where a counter is not above the one before. */
  readonly countedBack: string | null;
}

export function startHands(read: ReadHand, pins: readonly Buffer[] | null): Hands {
  const answered = new Set<string>();
  const counters = new Map<string, number>();
  const counts = new Map<string, HandCount>();

  return {
    take(texts, verified) {
      let unpinned: string | null = null;
      let countedBack: string | null = null;
      for (const text of texts) {
        const hand = read(text, verified);
        if (hand === undefined) return { wrong: "hand_invalid", unpinned, countedBack };
        const { operator, operatorKey, passkey, counter } = hand;
        if (answered.has(hand.statementDigest)) return { wrong: "hand_repeated", unpinned, countedBack };
        answered.add(hand.statementDigest);
        const keyId = keyIdOf(operatorKey).toString("hex");
        const whose = `${JSON.stringify(operator)}, key ${keyId}`;
        // Anybody can write another's name or credential id into an enrolment of their own.
        const key = [operatorKey.toString("hex"), hand.publicKey, hand.credentialId].join(" ");
        const before = counters.get(key) ?? 0;
        // No breach: a gateway that lost its state knows of no count. There may be a second authenticator all the same.
        if (counter < before || (counter === before && counter !== 0)) countedBack = whose;
        counters.set(key, Math.max(before, counter));
        const pinned = pins === null ? null : pins.some((pin) => pin.equals(operatorKey));
        if (pinned === false) unpinned = whose;
        counts.set(key, { operator, keyId, passkey, pinned, decisions: (counts.get(key)?.decisions ?? 0) + 1 });
      }
      return { wrong: null, unpinned, countedBack };
    },
    counts: () => [...counts.values()],
  };
}
