import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { counted } from "../../kernel/display.ts";
import { growTree } from "../checkpoint/tree.ts";
import type { Cut, Cutter } from "../cut/cut.ts";
import { openCursor } from "../frame/cursor.ts";
import { FRAME_TYPES, GENESIS_LINK, HEADER_BYTES, LINK_BYTES, MAGIC, segmentName } from "../frame/layout.ts";
import { examineTail } from "../frame/tail.ts";
import { isWriterLive } from "../lock.ts";
import { openReadFile } from "../node-files.ts";
import type { Breach, BreachCode } from "./findings.ts";
import { type ReadHand, startHands } from "./hands.ts";
import { replay } from "./replay.ts";
import type { VerifyReport } from "./report.ts";
import { hashesToLink, type Scan } from "./scan.ts";
import { strangeSideFiles } from "./side-files.ts";
import { cutOf, findStart, type Start, WHOLE, walkFrom } from "./start.ts";
import { visitFrame, type Walk } from "./walk.ts";
import { type Known, startWitnesses } from "./witnesses.ts";

/**
 * Checks a log with nothing but its folder: no key, no vault, no store. Frames, links, numbers, seals, attestations,
 * the continuity of segments, declared torn ends; and, when they are given, a checkpoint and heads that were seen.
 */
export interface VerifyOptions extends Known {
  readonly folder: string;
  /** Raw Ed25519 keys. Given, only their attestations and checkpoints count. */
  readonly operators?: readonly Buffer[];
  readonly allowUnattested?: boolean;
  /** Who may have moved older segments away, with names and times from the list of operators. */
  readonly cutters?: readonly Cutter[];
  /** Folders with segments that were moved away: given, the log is checked from its beginning. */
  readonly archives?: readonly string[];
  /** Reports what a log that begins with this segment would begin with; `newest`: with the last one there is. */
  readonly cutAt?: number | "newest";
  /** What an earlier check of this very log reported as its cut, remembered outside the log's folder: only what follows is checked. */
  readonly from?: Cut | null;
  /** Verifies what passkeys answered, where it stands in clear. */
  readonly readHand?: ReadHand;
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
  /** Looks at segments ahead of the walk, on several threads. It is asked for none that a live writer may still change. */
  readonly scanAhead?: (segments: readonly ToScan[]) => ScanAhead;
}

export interface ToScan {
  readonly segment: number;
  readonly path: string;
  readonly bytes: number;
}

export interface ScanAhead {
  /** In the order in which they were named. Null where nothing was scanned, or nothing ordinary was found. */
  take(segment: number): Promise<Scan | null>;
  close(): void;
}

/** Bytes between two looks at the rest of the world. */
const TURN_BYTES = 16_777_216;
const LIVE_WAITS = 40;
const LIVE_WAIT_MS = 25;

export async function verifyLog(options: VerifyOptions): Promise<VerifyReport> {
  let start: Start;
  let totalBytes = 0;
  try {
    start = findStart(options);
    for (const folder of start.places.values()) totalBytes += folder.bytes;
  } catch (error) {
    return startCheck(options, WHOLE).unreadable(error);
  }
  const check = startCheck(options, start);
  if (start.places.size === 0) return check.unreadable(new Error(`there is no log in ${options.folder}`));
  const live = isWriterLive(options.folder);
  if (start.breach !== null) return check.finish(check.breach(start.breach, start.first, 0), live);
  const settled = [...start.places].filter(([segment]) => segment >= start.first && !(live && segment === start.last));
  const ahead = options.scanAhead?.(
    settled
      .map(([segment, { folder, bytes }]) => ({ segment, bytes, path: join(folder, segmentName(segment)) }))
      .sort((a, b) => a.segment - b.segment),
  );
  try {
    return await walkSegments(options, start, check, live, totalBytes, ahead);
  } finally {
    ahead?.close();
  }
}

async function walkSegments(
  options: VerifyOptions,
  start: Start,
  check: ReturnType<typeof startCheck>,
  live: boolean,
  totalBytes: number,
  ahead: ScanAhead | undefined,
): Promise<VerifyReport> {
  for (let segment = start.first; segment <= start.last; segment++) {
    const place = start.places.get(segment);
    if (place === undefined) return check.finish(check.breach("segment_missing", segment, 0), live);
    try {
      const progress = (done: number): void => options.onProgress?.(done, totalBytes);
      const { folder } = place;
      const breach =
        check.boundary(segment) ??
        (await check.segment(
          folder,
          segment,
          segment === start.last,
          live,
          progress,
          (await ahead?.take(segment)) ?? null,
        ));
      if (breach !== null) return check.finish(breach, live);
    } catch (error) {
      return check.unreadable(error);
    }
  }
  const breach = check.boundary(start.last + 1);
  return check.finish(breach, live);
}

/** Whose attestations count depends on who asks, and is no part of the history. */
function unpinned(cut: Cut | null): Cut | null {
  return cut === null || cut.era === null ? cut : { ...cut, era: { ...cut.era, attestedBy: [] } };
}

function startCheck(options: VerifyOptions, start: Start) {
  const pins = options.operators ?? null;
  const cutAt = options.cutAt === "newest" ? start.last : options.cutAt;
  const begins = { segment: start.first, frame: start.cut?.nextFrame ?? 0 };
  const witnesses = startWitnesses(options, pins, start.cut);
  let cut: Cut | null = null;
  let bytes = 0;
  let segments = 0;
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
    hands: options.readHand === undefined ? null : startHands(options.readHand, pins),
    tree: growTree(),
    ...(start.cut === null ? {} : walkFrom(start.cut)),
    onSeal: (seal) => (witnesses.atSeal(seal, () => walk.tree.root()) ? null : "checkpoint_mismatch"),
  };

  /** A checkpoint of the very seals that the cut stands for: no seal after the cut would be compared with it. */
  const wrongAtCut = start.cut?.sealed == null ? null : walk.onSeal(start.cut.sealed);

  const breach = (code: BreachCode, segment: number, offset: number, frame = walk.nextFrame): Breach => ({
    code,
    segment,
    file: segmentName(segment),
    offset,
    frame,
  });

  /** Between two segments: what a cut would say here, and whether the one that is there says the same. */
  function boundary(segment: number): Breach | null {
    if (segment === start.first && wrongAtCut !== null) return breach(wrongAtCut, segment, 0);
    const { wrongBefore } = witnesses;
    if (segment === start.first && wrongBefore !== null) return breach("head_mismatch", segment, 0, wrongBefore);
    if (segment === cutAt) cut = cutOf(walk, segment);
    if (start.signed?.cut.segment !== segment || start.cut !== null) return null;
    const same = isDeepStrictEqual(unpinned(cutOf(walk, segment)), unpinned(start.signed.cut));
    return same ? null : breach("cut_mismatch", segment, 0);
  }

  async function checkSegment(
    folder: string,
    segment: number,
    isLast: boolean,
    live: boolean,
    progress: (done: number) => void,
    scan: Scan | null,
  ): Promise<Breach | null> {
    walk.segment = segment;
    walk.file = segmentName(segment);
    segments++;
    const file = openReadFile(join(folder, walk.file));
    try {
      if (scan !== null && file.size() >= scan.end && mayReplay(scan)) {
        const { firstFrame } = scan;
        const wrong = replay(walk, scan);
        if (wrong === null) return endOf(file, segment, scan.end, isLast, live, null, progress);
        const found = breach(wrong.code, segment, wrong.offset, wrong.frame);
        return wrong.frame === firstFrame ? carriedOr(found) : found;
      }
      const cursor = openCursor(file);
      if (cursor === undefined) return carriedOr(breach("segment_unknown", segment, 0));
      const linkBefore = cursor.buffer.subarray(MAGIC.length, MAGIC.length + LINK_BYTES);
      if (!linkBefore.equals(walk.link)) return carriedOr(breach("segment_not_continued", segment, MAGIC.length));
      const firstFrame = walk.nextFrame;
      let broke: Breach | null = null;
      let waits = isLast && live ? LIVE_WAITS : 0;
      /** A frame that a live writer has in flight is whole a moment later; a broken one never is. */
      const awaitWriter = async (): Promise<boolean> => {
        if (waits === 0) return false;
        waits--;
        await new Promise((resolve) => setTimeout(resolve, LIVE_WAIT_MS));
        cursor.again();
        return true;
      };
      let turnAt = TURN_BYTES;
      let nextHead = witnesses.nextHead();
      for (;;) {
        const step = cursor.next();
        if (step === "end") break;
        const { offset } = cursor;
        if (step === "torn") {
          if (await awaitWriter()) continue;
          broke = breach("frame_impossible", segment, offset);
          break;
        }
        const { buffer, at, header } = cursor;
        const end = at + HEADER_BYTES + header.bodyLength;
        if (!hashesToLink(cursor)) {
          if (await awaitWriter()) continue;
          broke = breach("frame_link", segment, offset);
          break;
        }
        if (header.frame !== walk.nextFrame) return carriedOr(breach("frame_number", segment, offset));
        if ((header.type === FRAME_TYPES.open) !== (header.frame === firstFrame)) {
          return breach("frame_misplaced", segment, offset);
        }
        const wrong = visitFrame(walk, cursor);
        if (wrong !== null)
          return header.frame === firstFrame
            ? carriedOr(breach(wrong, segment, offset))
            : breach(wrong, segment, offset);
        buffer.copy(walk.link, 0, end, end + LINK_BYTES);
        while (header.frame === nextHead) {
          if (!witnesses.atHead(walk.link.toString("hex"))) return breach("head_mismatch", segment, offset);
          nextHead = witnesses.nextHead();
        }
        walk.nextFrame++;
        if (offset > turnAt) {
          progress(bytes + offset);
          turnAt = offset + TURN_BYTES;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      if (walk.nextFrame === firstFrame) return broke ?? breach("segment_empty", segment, cursor.offset);
      return endOf(file, segment, cursor.offset, isLast, live, broke, progress);
    } finally {
      file.close();
    }
  }

  /** A scan stands for the walk where it goes on from here and no head that somebody remembers is within it. */
  function mayReplay({ linkBefore, firstFrame, marks, recordsAfter }: Scan): boolean {
    const frames = marks.reduce((sum, { records }) => sum + records + 1, recordsAfter);
    return walk.link.equals(linkBefore) && firstFrame === walk.nextFrame && witnesses.nextHead() >= firstFrame + frames;
  }

  /** What stands behind the whole frames of a segment, for the next one to agree with. */
  function endOf(
    file: ReturnType<typeof openReadFile>,
    segment: number,
    length: number,
    isLast: boolean,
    live: boolean,
    broke: Breach | null,
    progress: (done: number) => void,
  ): Breach | null {
    const tail = examineTail(file, length, walk.nextFrame);
    bytes += length;
    progress(bytes);
    const era = walk.eras.at(-1);
    if (era !== undefined)
      walk.eras[walk.eras.length - 1] = { ...era, lastSegment: segment, lastFrame: walk.nextFrame - 1 };
    if (tail.damage !== null && !(isLast && live && broke === null))
      return broke ?? breach(tail.damage, segment, length);
    if (tail.length > 0 && walk.endedBy === "clean") return breach("tail_after_stop", segment, length);
    walk.previous = { segment, length, tail, broke };
    return null;
  }

  /** When the segment before broke off and its successor does not explain that, the break is what was found first. */
  function carriedOr(found: Breach): Breach {
    return walk.previous?.broke ?? found;
  }

  function finish(stopped: Breach | null, live: boolean): VerifyReport {
    const found: Breach[] = stopped === null ? [] : [stopped];
    const end = walk.previous;
    const lastFrame = Math.max(0, walk.nextFrame - 1);
    const place = { segment: walk.segment, file: walk.file, offset: end?.length ?? 0, frame: lastFrame };
    if (live) walk.notices.push({ ...place, code: "writer_live", detail: "" });
    const at = { segment: begins.segment, file: segmentName(begins.segment), offset: 0, frame: begins.frame };
    for (const { code, detail } of start.notices) walk.notices.push({ ...at, code, detail });
    for (const frame of witnesses.headsBefore) walk.notices.push({ ...at, frame, code: "head_archived", detail: "" });
    if (stopped === null) {
      // Where the caller cuts right after the last segment, the cut declares how that one ended.
      const declared = cutAt === walk.segment + 1;
      if (end !== null && end.tail.length > 0 && !live && !declared)
        found.push(breach("tail_undeclared", end.segment, end.length));
      if (walk.sinceSeal > 0) {
        walk.largestUnsealed = Math.max(walk.largestUnsealed, walk.sinceSeal);
        walk.notices.push({ ...place, code: "unsealed_tail", detail: counted(walk.sinceSeal, "frame") });
      }
      if (walk.endedBy !== "clean" && !live) {
        walk.notices.push({ ...place, code: "unclean_end", detail: "no writer is live" });
      }
      const { wrong, archived } = witnesses.atEnd(walk.logId?.toString("hex") ?? null, walk.tree.size());
      for (const { code, frame } of wrong) found.push(breach(code, walk.segment, end?.length ?? 0, frame));
      if (archived !== null) walk.notices.push({ ...at, frame: archived, code: "checkpoint_archived", detail: "" });
      for (const [name, segment] of strangeSideFiles(options.folder, walk, begins.segment)) {
        walk.notices.push({ segment, file: name, offset: 0, frame: 0, code: "side_file_mismatch", detail: name });
      }
    }
    for (const era of walk.eras) {
      if (era.attestedBy.length > 0 || (stopped !== null && era === walk.eras.at(-1))) continue;
      const at = { segment: era.firstSegment, file: segmentName(era.firstSegment), offset: 0, frame: era.firstFrame };
      if (options.allowUnattested === true) walk.notices.push({ ...at, code: "unattested", detail: "" });
      else found.push({ ...at, code: "unattested" });
    }
    return report(found.length === 0 ? "intact" : "not_intact", found, null);
  }

  function report(verdict: VerifyReport["verdict"], found: readonly Breach[], trouble: string | null): VerifyReport {
    const frames = walk.nextFrame;
    return {
      verdict,
      exit: verdict === "intact" ? 0 : verdict === "not_intact" ? 1 : 2,
      logId: walk.logId?.toString("hex") ?? null,
      segments,
      frames,
      bytes,
      sealed: walk.sealed,
      head: frames === 0 ? null : { segment: walk.segment, frame: frames - 1, link: walk.link.toString("hex") },
      root: walk.tree.root().toString("hex"),
      firstBreach: found[0] ?? null,
      breaches: found,
      notices: walk.notices,
      eras: walk.eras,
      uncleanEnds: walk.uncleanEnds,
      attestations: walk.attestations,
      hands: walk.hands?.counts() ?? [],
      operatorsPinned: pins !== null,
      largestUnsealed: walk.largestUnsealed,
      ...witnesses.report(),
      cut,
      begins,
      trouble,
    };
  }

  return {
    breach,
    boundary,
    segment: checkSegment,
    finish,
    unreadable: (error: unknown): VerifyReport =>
      report("unreadable", [], error instanceof Error ? error.message : String(error)),
  };
}
