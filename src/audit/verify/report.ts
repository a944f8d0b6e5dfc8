import type { Cut } from "../cut/cut.ts";
import type { Head } from "../receipt.ts";
import type { Era, SealedPoint } from "./era.ts";
import type { Breach, Notice } from "./findings.ts";

export interface SeenAttestation {
  readonly frame: number;
  readonly operator: string;
  readonly keyId: string;
  readonly headFrame: number;
  readonly timeSeconds: number;
  readonly unclean: boolean;
  /** Whether it vouches for the parts before its era that nobody attested. */
  readonly earlier: boolean;
  /** Null when no operator was pinned. */
  readonly pinned: boolean | null;
}

/** Who looked at a part of the log that nobody attested, and vouched for it later; of those whose word counts. */
export function vouchedBy(era: Era, attestations: readonly SeenAttestation[]): string | null {
  const later = attestations.find(({ earlier, pinned, frame }) => earlier && pinned !== false && frame > era.lastFrame);
  return later?.operator ?? null;
}

/** A passkey's answer that stands in clear beside a decision, and verified. */
export interface SeenHand {
  readonly operator: string;
  /** The operator's key that signed for the passkey, raw Ed25519. */
  readonly operatorKey: Buffer;
  readonly passkey: string;
  readonly credentialId: string;
  /** The passkey's own key: a credential id alone is anybody's word. */
  readonly publicKey: string;
  readonly counter: number;
  /** Of the sealed statement that was answered for, which names the card by its digest. */
  readonly statementDigest: string;
}

/** Decisions by passkey, counted by whose they are. */
export interface HandCount {
  readonly operator: string;
  readonly keyId: string;
  readonly passkey: string;
  readonly decisions: number;
  /** Null when no operator was pinned. */
  readonly pinned: boolean | null;
}

export interface UncleanEnd {
  readonly segment: number;
  readonly lastFrame: number;
  readonly sealedFrame: number;
  readonly tornBytes: number;
  /** The operator who attested this end as unclean, after the next start. */
  readonly acknowledgedBy: string | null;
}

export interface VerifyReport {
  readonly verdict: "intact" | "not_intact" | "unreadable";
  readonly exit: 0 | 1 | 2;
  readonly logId: string | null;
  readonly segments: number;
  readonly frames: number;
  readonly bytes: number;
  /** How far the seals reach: the verdict is about this and what stands before it. */
  readonly sealed: SealedPoint | null;
  readonly head: Head | null;
  readonly root: string;
  /** The first thing that is wrong; what follows it was not looked at. */
  readonly firstBreach: Breach | null;
  readonly breaches: readonly Breach[];
  readonly notices: readonly Notice[];
  readonly eras: readonly Era[];
  readonly uncleanEnds: readonly UncleanEnd[];
  readonly attestations: readonly SeenAttestation[];
  readonly hands: readonly HandCount[];
  /** Whether the caller said whose attestations count. */
  readonly operatorsPinned: boolean;
  /** Most frames between two seals. */
  readonly largestUnsealed: number;
  readonly checkpoint: { readonly seals: number; readonly signed: boolean; readonly held: boolean } | null;
  readonly heads: readonly { readonly frame: number; readonly held: boolean }[];
  /** What the log would begin with if it were cut where the caller asked. */
  readonly cut: Cut | null;
  /** The first segment that was looked at, and the first frame in it. */
  readonly begins: { readonly segment: number; readonly frame: number };
  /** Why the log could not be read, when it could not. */
  readonly trouble: string | null;
}
