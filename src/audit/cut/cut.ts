import type { KeyObject } from "node:crypto";
import { canonicalJson } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { isNoteSignedBy, parseNote, signNote } from "../checkpoint/note.ts";
import type { Era, SealedPoint } from "../verify/era.ts";

/**
 * Where a log begins whose older segments were moved away: everything that a verifier carries from the last of them into
 * the first that stays. An operator signs it after verifying what it stands for.
 */
export interface Cut {
  readonly logId: string;
  /** The first segment that stays. */
  readonly segment: number;
  readonly nextFrame: number;
  readonly link: string;
  /** How the segment before it ended. */
  readonly previousLength: number;
  readonly tailLength: number;
  readonly tailHash: string;
  readonly endedBy: "none" | "clean" | "rotate";
  readonly sealKey: string;
  readonly sealed: SealedPoint | null;
  /** The era that may go on after the cut, and the latest frames in it that an attestation may name. */
  readonly open: CutOpen | null;
  readonly era: Era | null;
  readonly attestable: readonly (readonly [number, string])[];
  /** The tree of all seals so far. */
  readonly seals: number;
  readonly peaks: readonly string[];
}

interface CutOpen {
  readonly frame: number;
  readonly link: string;
  readonly before: string;
  readonly unclean: boolean;
}

export const CUT_NAME = "cut.gwcut";
export const MAX_CUT_BYTES = 65_536;
const ORIGIN = "gw-audit-cut/";

export function signCut(cut: Cut, approverKey: KeyObject): string {
  const origin = ORIGIN + cut.logId;
  return signNote(`${origin}\n${canonicalJson(cut as unknown as JsonObject)}\n`, origin, approverKey);
}

export interface ReadCut {
  readonly cut: Cut;
  /** Which of the given keys signed it; undefined when none did. */
  signedBy(keys: readonly Buffer[]): Buffer | undefined;
}

/** Undefined for text that is not a signed cut. Whether the signer may is for `judgeCutter`. */
export function readCut(text: string): ReadCut | undefined {
  const note = parseNote(text);
  if (note === undefined) return undefined;
  const [origin = "", body = ""] = note.text.slice(0, -1).split("\n");
  let cut: Cut;
  try {
    cut = JSON.parse(body) as Cut;
    if (origin !== ORIGIN + cut.logId || !isCut(cut)) return undefined;
    if (canonicalJson(cut as unknown as JsonObject) !== body) return undefined;
  } catch {
    return undefined;
  }
  return { cut, signedBy: (keys) => keys.find((key) => isNoteSignedBy(note, key)) };
}

const HASH = /^[0-9a-f]{64}$/;
const ENDS = ["none", "clean", "rotate"];
const REASONS = ["genesis", "boot", "crash"];

/** Whether all of it has the shape that the walk takes over unasked: a check that begins with nonsense proves nothing. */
export function isCut(cut: Cut): boolean {
  const { sealed, open, era, attestable, peaks } = cut;
  return (
    /^[0-9a-f]{32}$/.test(cut.logId) &&
    areCounts([cut.segment, cut.nextFrame, cut.previousLength, cut.tailLength, cut.seals]) &&
    cut.segment > 1 &&
    areHashes([cut.link, cut.tailHash, cut.sealKey]) &&
    ENDS.includes(cut.endedBy) &&
    [sealed, open, era].every((part) => typeof part === "object") &&
    (sealed === null || isSealedPoint(sealed)) &&
    (open === null || isOpen(open)) &&
    (era === null || isEra(era)) &&
    Array.isArray(attestable) &&
    attestable.every((one) => Array.isArray(one) && one.length === 2 && areCounts([one[0]]) && areHashes([one[1]])) &&
    Array.isArray(peaks) &&
    areHashes(peaks)
  );
}

function isSealedPoint({ segment, frame, link, timeSeconds, seals }: SealedPoint): boolean {
  return areCounts([segment, frame, timeSeconds, seals]) && areHashes([link]);
}

function isOpen({ frame, link, before, unclean }: CutOpen): boolean {
  return areCounts([frame]) && areHashes([link, before]) && typeof unclean === "boolean";
}

function isEra({ firstSegment, lastSegment, firstFrame, lastFrame, ...era }: Era): boolean {
  return (
    areCounts([firstSegment, lastSegment, firstFrame, lastFrame, era.vaultGeneration]) &&
    REASONS.includes(era.reason) &&
    areHashes([era.vaultHash]) &&
    Array.isArray(era.attestedBy) &&
    era.attestedBy.every((name) => typeof name === "string")
  );
}

const areCounts = (given: readonly unknown[]): boolean =>
  given.every((count) => Number.isSafeInteger(count) && (count as number) >= 0);
const areHashes = (given: readonly unknown[]): boolean =>
  given.every((hash) => typeof hash === "string" && HASH.test(hash));

/** Who may have signed a cut: an operator, and until when they were one. */
export interface Cutter {
  readonly key: Buffer;
  readonly name: string;
  /** Null for an operator of today. */
  readonly removedAtSeconds: number | null;
}

export type CutJudgement =
  | { readonly kind: "signed"; readonly by: string }
  | { readonly kind: "refused"; readonly why: "cut_signature" | "cut_signer_removed" };

/**
 * A cut counts when an operator signed it who still was one when the segment after it was opened. The name is the one
 * that the list of operators has for the key, whatever the note calls itself.
 */
export function judgeCutter(cut: ReadCut, cutters: readonly Cutter[], nextOpenedSeconds: number): CutJudgement {
  const key = cut.signedBy(cutters.map(({ key }) => key));
  const signer = cutters.find((one) => key !== undefined && one.key.equals(key));
  if (signer === undefined) return { kind: "refused", why: "cut_signature" };
  if (signer.removedAtSeconds !== null && nextOpenedSeconds >= signer.removedAtSeconds) {
    return { kind: "refused", why: "cut_signer_removed" };
  }
  return { kind: "signed", by: signer.name };
}
