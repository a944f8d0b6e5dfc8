import type { Head } from "../receipt.ts";
import type { Breach, Notice } from "./findings.ts";

export interface SealedPoint extends Head {
  readonly timeSeconds: number;
  /** Seals up to here, this one counted. */
  readonly seals: number;
}

export interface SeenAttestation {
  readonly frame: number;
  readonly operator: string;
  readonly keyId: string;
  readonly headFrame: number;
  readonly timeSeconds: number;
  readonly unclean: boolean;
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

/** One process's stretch of the log: from its OPEN over all rotations to its end. */
export interface Era {
  readonly firstSegment: number;
  readonly lastSegment: number;
  readonly firstFrame: number;
  readonly lastFrame: number;
  readonly reason: "genesis" | "boot" | "crash";
  readonly vaultGeneration: number;
  readonly vaultHash: string;
  readonly attestedBy: readonly string[];
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
  /** Whether the caller said whose attestations count. */
  readonly operatorsPinned: boolean;
  /** Most frames between two seals. */
  readonly largestUnsealed: number;
  readonly checkpoint: { readonly seals: number; readonly signed: boolean; readonly held: boolean } | null;
  readonly heads: readonly { readonly frame: number; readonly held: boolean }[];
  /** Why the log could not be read, when it could not. */
  readonly trouble: string | null;
}
