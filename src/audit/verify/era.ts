import type { Head } from "../receipt.ts";

export interface SealedPoint extends Head {
  readonly timeSeconds: number;
  /** Seals up to here, this one counted. */
  readonly seals: number;
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
