import { keyIdOf } from "../keys/raw.ts";
import type { BreachCode } from "./findings.ts";
import type { HandCount, SeenHand } from "./report.ts";

/** Verifies one text about a passkey's answer; undefined where it does not hold. This room knows nothing of passkeys. */
export type ReadHand = (text: string) => SeenHand | undefined;

/** What passkeys answered, from frame to frame: each verified, none twice, no counter that goes back. */
export interface Hands {
  take(texts: readonly string[]): { readonly wrong: BreachCode | null; readonly unpinned: string | null };
  counts(): readonly HandCount[];
}

export function startHands(read: ReadHand, pins: readonly Buffer[] | null): Hands {
  const answered = new Set<string>();
  const counters = new Map<string, number>();
  const counts = new Map<string, HandCount>();

  function isNew({ challenge, credentialId, counter }: SeenHand): boolean {
    const before = counters.get(credentialId) ?? 0;
    counters.set(credentialId, counter);
    const fresh = !answered.has(challenge);
    answered.add(challenge);
    return fresh && (counter > before || (counter === 0 && before === 0));
  }

  return {
    take(texts) {
      let unpinned: string | null = null;
      for (const text of texts) {
        const hand = read(text);
        if (hand === undefined) return { wrong: "hand_invalid", unpinned };
        if (!isNew(hand)) return { wrong: "hand_repeated", unpinned };
        const { operator, operatorKey, passkey, credentialId } = hand;
        const pinned = pins === null ? null : pins.some((pin) => pin.equals(operatorKey));
        if (pinned === false) unpinned = operator;
        const known = counts.get(credentialId);
        const keyId = keyIdOf(operatorKey).toString("hex");
        counts.set(credentialId, { operator, keyId, passkey, pinned, decisions: (known?.decisions ?? 0) + 1 });
      }
      return { wrong: null, unpinned };
    },
    counts: () => [...counts.values()],
  };
}
