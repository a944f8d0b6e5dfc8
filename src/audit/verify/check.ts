import { isDeepStrictEqual } from "node:util";
import { growTree } from "../checkpoint/tree.ts";
import type { Cut } from "../cut/cut.ts";
import { GENESIS_LINK, segmentName } from "../frame/layout.ts";
import type { Breach, BreachCode } from "./findings.ts";
import { type ReadHand, startHands } from "./hands.ts";
import { cutOf, type Start, walkFrom } from "./start.ts";
import type { Walk } from "./walk.ts";
import { type Known, startWitnesses, type Witnesses } from "./witnesses.ts";

export interface CheckOptions extends Known {
  readonly folder: string;
  /** What a person ran, where it takes another folder with --log. */
  readonly command?: string;
  /** Raw Ed25519 keys. Given, only their attestations and checkpoints count. */
  readonly operators?: readonly Buffer[];
  readonly allowUnattested?: boolean;
  /** Reports what a log that begins with this segment would begin with; `newest`: with the last one there is. */
  readonly cutAt?: number | "newest";
  /** Verifies what passkeys answered, where it stands in clear. */
  readonly readHand?: ReadHand;
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
}

/** A check under way: where it began, how far its walk came, what is known of the log from elsewhere. */
export interface Check {
  readonly options: CheckOptions;
  readonly start: Start;
  /** Whether a writer holds the log: its last segment may be in motion. */
  readonly live: boolean;
  readonly walk: Walk;
  readonly witnesses: Witnesses;
  /** A checkpoint of the very seals that the cut stands for: no seal after the cut would be compared with it. */
  readonly wrongAtCut: BreachCode | null;
  readonly totalBytes: number;
  readonly cutAt: number | undefined;
  cut: Cut | null;
  bytes: number;
  segments: number;
}

export function startCheck(options: CheckOptions, start: Start, live: boolean): Check {
  const pins = options.operators ?? null;
  const witnesses = startWitnesses(options, pins, start.cut);
  const walk: Walk = {
    logId: null,
    segment: 1,
    file: segmentName(1),
    nextFrame: 0,
    link: Buffer.from(GENESIS_LINK),
    previous: null,
    endedBy: "none",
    sealKey: Buffer.alloc(0),
    sinceSeal: 0,
    afterOpen: false,
    largestUnsealed: 0,
    sealed: null,
    open: null,
    attestable: new Map(),
    commitments: new Map(),
    eras: [],
    uncleanEnds: [],
    attestations: [],
    notices: [],
    pins,
    signedThrough: options.sealed?.frame ?? -1,
    hands: options.readHand === undefined ? null : startHands(options.readHand, pins),
    tree: growTree(),
    ...(start.cut === null ? {} : walkFrom(start.cut)),
    onSeal: (seal) => (witnesses.atSeal(seal, () => walk.tree.root()) ? null : "checkpoint_mismatch"),
  };
  return {
    ...{ options, start, live, walk, witnesses },
    wrongAtCut: start.cut?.sealed == null ? null : walk.onSeal(start.cut.sealed),
    totalBytes: [...start.places.values()].reduce((sum, { bytes }) => sum + bytes, 0),
    cutAt: options.cutAt === "newest" ? start.last : options.cutAt,
    ...{ cut: null, bytes: 0, segments: 0 },
  };
}

export function breachAt(
  { walk }: Check,
  code: BreachCode,
  segment: number,
  offset: number,
  frame = walk.nextFrame,
): Breach {
  return { code, segment, file: segmentName(segment), offset, frame };
}

/** Between two segments: what a cut would say here, and whether the one that is there says the same. */
export function checkBoundary(check: Check, segment: number): Breach | null {
  const { start, walk, wrongAtCut } = check;
  const { wrongBefore } = check.witnesses;
  if (segment === start.first && wrongAtCut !== null) return breachAt(check, wrongAtCut, segment, 0);
  if (segment === start.first && wrongBefore !== null) return breachAt(check, "head_mismatch", segment, 0, wrongBefore);
  if (segment === check.cutAt) check.cut = cutOf(walk, segment);
  if (start.signed?.cut.segment !== segment || start.cut !== null) return null;
  const same = isDeepStrictEqual(unpinned(cutOf(walk, segment)), unpinned(start.signed.cut));
  return same ? null : breachAt(check, "cut_mismatch", segment, 0);
}

/** Whose attestations count depends on who asks, and is no part of the history. */
function unpinned(cut: Cut | null): Cut | null {
  return cut === null || cut.era === null ? cut : { ...cut, era: { ...cut.era, attestedBy: [] } };
}
