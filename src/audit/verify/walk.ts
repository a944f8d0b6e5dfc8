import { readAttestation } from "../attestation.ts";
import type { Tree } from "../checkpoint/tree.ts";
import { decodeAttest, decodeOpen, decodeSeal, type OpenBody, SEAL_SIGNED_BYTES } from "../frame/bodies.ts";
import type { Cursor } from "../frame/cursor.ts";
import {
  ATTEST_FLAG_EARLIER,
  ATTEST_FLAG_UNCLEAN,
  ATTESTABLE_HEADS,
  DATA_FLAG_REDO,
  FRAME_TYPES,
  HEADER_BYTES,
  LINK_BYTES,
  SEAL_FLAG_CLEAN,
  SEAL_FLAG_ROTATE,
} from "../frame/layout.ts";
import { isPadded } from "../frame/padding.ts";
import { handsIn, sectionOf } from "../frame/section.ts";
import type { Tail } from "../frame/tail.ts";
import { isSignedBy, keyIdOf } from "../keys/raw.ts";
import { sealMessage } from "../keys/seal-key.ts";
import type { Era, SealedPoint } from "./era.ts";
import type { Breach, BreachCode, Notice } from "./findings.ts";
import type { Hands } from "./hands.ts";
import type { SeenAttestation, UncleanEnd } from "./report.ts";

/** The end of the segment that was just walked, for the next OPEN to agree with. */
export interface SegmentEnd {
  readonly segment: number;
  readonly length: number;
  readonly tail: Tail;
  /** What broke the walk off, if anything did; harmless when the next OPEN declares the end to be torn right there. */
  readonly broke: Breach | null;
}

type EndedBy = "none" | "clean" | "rotate";

/** What a walk over the log carries from frame to frame. */
export interface Walk {
  logId: Buffer | null;
  segment: number;
  file: string;
  nextFrame: number;
  link: Buffer;
  previous: SegmentEnd | null;
  endedBy: EndedBy;
  sealKey: Buffer;
  sinceSeal: number;
  /** The frame before is an OPEN: only a seal may follow. */
  afterOpen: boolean;
  largestUnsealed: number;
  sealed: SealedPoint | null;
  /** The OPEN that began the present era, and the link before it. */
  open: { frame: number; link: Buffer; before: Buffer; unclean: boolean } | null;
  attestable: Map<number, Buffer>;
  /** What each segment committed to, for the side files that claim to hold its seed. */
  readonly commitments: Map<number, Buffer>;
  eras: Era[];
  uncleanEnds: UncleanEnd[];
  attestations: SeenAttestation[];
  notices: Notice[];
  readonly pins: readonly Buffer[] | null;
  /** Up to this frame signatures were verified before; that it is still the same log, the head of that frame tells. */
  readonly signedThrough: number;
  /** Null where nobody here can read them. */
  readonly hands: Hands | null;
  readonly tree: Tree;
  readonly onSeal: (seal: SealedPoint) => BreachCode | null;
}

/** A frame and where it stands. */
export type Standing = Pick<Cursor, "buffer" | "at" | "offset" | "header">;

/** Looks at a frame whose number and link are right. */
export function visitFrame(walk: Walk, cursor: Standing): BreachCode | null {
  const start = cursor.at + HEADER_BYTES;
  const { type, bodyLength } = cursor.header;
  if (type === FRAME_TYPES.data) return visitData(walk, cursor);
  const body = cursor.buffer.subarray(start, start + bodyLength);
  const link = Buffer.from(cursor.buffer.subarray(start + bodyLength, start + bodyLength + LINK_BYTES));
  switch (type) {
    case FRAME_TYPES.open:
      return visitOpen(walk, cursor, body, link);
    case FRAME_TYPES.seal:
      return visitSeal(walk, cursor, body, link);
    case FRAME_TYPES.attest:
      return visitAttest(walk, cursor, body);
  }
}

/** Looks at so many records that follow each other, whose padding has been looked at. */
export function visitRecords(walk: Walk, count: number): BreachCode | null {
  if (count === 0) return null;
  if (walk.endedBy !== "none") return "frame_misplaced";
  if (walk.afterOpen) return "seal_missing";
  walk.sinceSeal += count;
  return null;
}

function visitData(walk: Walk, cursor: Standing): BreachCode | null {
  const { header } = cursor;
  const wrong = visitRecords(walk, 1);
  if (wrong !== null) return wrong;
  if (!isPadded(header)) return "frame_size";
  const { flags } = header;
  return flags === DATA_FLAG_REDO && walk.hands !== null ? visitHands(walk, walk.hands, cursor) : null;
}

function visitHands(walk: Walk, hands: Hands, cursor: Standing): BreachCode | null {
  const section = sectionOf(cursor);
  const texts = section === undefined ? [] : handsIn(section);
  if (texts === undefined) return "hand_invalid";
  const { wrong, unpinned, countedBack } = hands.take(texts, cursor.header.frame <= walk.signedThrough);
  if (unpinned !== null) notice(walk, cursor, "hand_not_pinned", `signed as ${unpinned}`);
  if (countedBack !== null) notice(walk, cursor, "hand_counted_back", `signed as ${countedBack}`);
  return wrong;
}

function visitOpen(walk: Walk, cursor: Standing, body: Buffer, link: Buffer): BreachCode | null {
  const open = decodeOpen(body);
  if (open === undefined) return "open_malformed";
  if (walk.logId !== null && !walk.logId.equals(open.logId)) return "open_other_log";
  if (open.segment !== walk.segment) return "open_other_number";
  const wrong = walk.previous === null ? checkGenesis(open, cursor) : checkPredecessor(walk, walk.previous, open);
  if (wrong !== null) return wrong;
  walk.logId = Buffer.from(open.logId);
  walk.commitments.set(open.segment, Buffer.from(open.commitment));
  if (open.reason !== "rotate") beginEra(walk, cursor, open, link);
  walk.endedBy = "none";
  walk.sealKey = Buffer.from(open.firstSealKey);
  walk.sinceSeal = 1;
  walk.afterOpen = true;
  remember(walk, cursor.header.frame, link);
  return null;
}

function checkGenesis(open: OpenBody, cursor: Standing): BreachCode | null {
  const first = open.reason === "genesis" && open.segment === 1 && cursor.header.frame === 0;
  return first && open.previousLength === 0 && open.tornLength === 0 ? null : "segment_not_first";
}

function checkPredecessor(walk: Walk, previous: SegmentEnd, open: OpenBody): BreachCode | null {
  if (open.previousLength !== previous.length) return "length_mismatch";
  const zeros = open.tornHash.every((byte) => byte === 0);
  const same = open.tornLength === 0 ? zeros : open.tornHash.equals(previous.tail.hash);
  if (open.tornLength !== previous.tail.length || !same) return "tail_mismatch";
  switch (open.reason) {
    case "genesis":
      return "open_reason";
    case "rotate":
      if (walk.endedBy !== "rotate" || open.tornLength !== 0) return "open_reason";
      return open.firstSealKey.equals(walk.sealKey) ? null : "open_seal_key";
    case "boot":
      return walk.endedBy === "clean" && open.tornLength === 0 ? null : "open_reason";
    case "crash":
      return walk.endedBy === "clean" ? "open_reason" : null;
  }
}

function beginEra(walk: Walk, cursor: Standing, open: OpenBody, link: Buffer): void {
  const { frame } = cursor.header;
  if (open.reason === "crash") {
    walk.uncleanEnds.push({
      segment: walk.segment - 1,
      lastFrame: frame - 1,
      sealedFrame: walk.sealed?.frame ?? 0,
      tornBytes: open.tornLength,
      acknowledgedBy: null,
    });
  }
  walk.open = { frame, link, before: Buffer.from(walk.link), unclean: open.reason === "crash" };
  walk.attestable.clear();
  walk.eras.push({
    firstSegment: walk.segment,
    lastSegment: walk.segment,
    firstFrame: frame,
    lastFrame: frame,
    reason: open.reason === "rotate" ? "boot" : open.reason,
    vaultGeneration: open.vaultGeneration,
    vaultHash: open.vaultHash.toString("hex"),
    attestedBy: [],
  });
}

function visitSeal(walk: Walk, cursor: Standing, body: Buffer, link: Buffer): BreachCode | null {
  if (walk.endedBy !== "none" || walk.logId === null) return "frame_misplaced";
  const seal = decodeSeal(body);
  if (seal === undefined) return "seal_malformed";
  if (seal.count !== walk.sinceSeal) return "seal_count";
  const header = cursor.buffer.subarray(cursor.at, cursor.at + HEADER_BYTES);
  const message = sealMessage(walk.logId, walk.link, header, body.subarray(0, SEAL_SIGNED_BYTES));
  const { flags, frame } = cursor.header;
  if (frame > walk.signedThrough && !isSignedBy(walk.sealKey, message, seal.signature)) return "seal_signature";
  const clean = (flags & SEAL_FLAG_CLEAN) !== 0;
  if (clean && ((flags & SEAL_FLAG_ROTATE) !== 0 || seal.nextKey.some((byte) => byte !== 0))) return "seal_malformed";
  walk.endedBy = clean ? "clean" : (flags & SEAL_FLAG_ROTATE) !== 0 ? "rotate" : "none";
  walk.largestUnsealed = Math.max(walk.largestUnsealed, walk.sinceSeal);
  walk.sinceSeal = 0;
  walk.afterOpen = false;
  walk.sealKey = Buffer.from(seal.nextKey);
  if (walk.sealed !== null && seal.timeSeconds < walk.sealed.timeSeconds) {
    notice(walk, cursor, "clock_stepped_back", `by ${walk.sealed.timeSeconds - seal.timeSeconds} s`);
  }
  walk.tree.add(cursor.buffer.subarray(cursor.at, cursor.at + HEADER_BYTES + body.length + LINK_BYTES));
  walk.sealed = {
    segment: walk.segment,
    frame,
    link: link.toString("hex"),
    timeSeconds: seal.timeSeconds,
    seals: walk.tree.size(),
  };
  remember(walk, frame, link);
  return walk.onSeal(walk.sealed);
}

function visitAttest(walk: Walk, cursor: Standing, body: Buffer): BreachCode | null {
  if (walk.endedBy !== "none" || walk.logId === null || walk.open === null) return "frame_misplaced";
  if (walk.afterOpen) return "seal_missing";
  const { flags, frame } = cursor.header;
  const attest = frame > walk.signedThrough ? readAttestation(walk.logId, flags, body) : decodeAttest(body);
  if (attest === undefined) return "attest_malformed";
  const { open } = walk;
  const ours =
    attest.openFrame === open.frame &&
    attest.openLink.equals(open.link) &&
    attest.beforeFrame === Math.max(0, open.frame - 1) &&
    attest.beforeLink.equals(open.before) &&
    (flags & ATTEST_FLAG_UNCLEAN) === (open.unclean ? ATTEST_FLAG_UNCLEAN : 0) &&
    walk.attestable.get(attest.headFrame)?.equals(attest.headLink) === true;
  if (!ours) return "attest_mismatch";
  walk.sinceSeal++;
  const pinned = walk.pins === null ? null : walk.pins.some((pin) => pin.equals(attest.operatorKey));
  walk.attestations.push({
    frame,
    operator: attest.operator,
    keyId: keyIdOf(attest.operatorKey).toString("hex"),
    headFrame: attest.headFrame,
    timeSeconds: attest.timeSeconds,
    unclean: open.unclean,
    earlier: (flags & ATTEST_FLAG_EARLIER) !== 0,
    pinned,
  });
  if (pinned === false) notice(walk, cursor, "attester_not_pinned", `signed as ${JSON.stringify(attest.operator)}`);
  else credit(walk, attest.operator, (flags & ATTEST_FLAG_EARLIER) !== 0);
  return null;
}

/** The attestation counts for the whole era: what precedes it by the chain, what follows by the seal keys. */
function credit(walk: Walk, operator: string, earlier: boolean): void {
  const era = walk.eras.at(-1);
  if (era !== undefined && !era.attestedBy.includes(operator)) {
    walk.eras[walk.eras.length - 1] = { ...era, attestedBy: [...era.attestedBy, operator] };
  }
  walk.uncleanEnds = walk.uncleanEnds.map((end, index, all) => {
    const told = earlier || (walk.open?.unclean === true && index === all.length - 1);
    return told && end.acknowledgedBy === null ? { ...end, acknowledgedBy: operator } : end;
  });
}

function remember(walk: Walk, frame: number, link: Buffer): void {
  walk.attestable.set(frame, link);
  if (walk.attestable.size > ATTESTABLE_HEADS) {
    for (const oldest of walk.attestable.keys()) {
      walk.attestable.delete(oldest);
      break;
    }
  }
}

function notice(walk: Walk, cursor: Standing, code: Notice["code"], detail: string): void {
  const place = { segment: walk.segment, file: walk.file, offset: cursor.offset, frame: cursor.header.frame };
  walk.notices.push({ ...place, code, detail });
}
