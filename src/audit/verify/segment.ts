import { join } from "node:path";
import { lastNonZero, openCursor } from "../frame/cursor.ts";
import { FRAME_TYPES, HEADER_BYTES, LINK_BYTES, MAGIC, segmentName } from "../frame/layout.ts";
import { examineTail, NO_TAIL, type Tail } from "../frame/tail.ts";
import { openReadFile } from "../node-files.ts";
import { breachAt, type Check } from "./check.ts";
import type { Breach } from "./findings.ts";
import { replay } from "./replay.ts";
import { hashesToLink, type Scan } from "./scan.ts";
import { visitFrame, type Walk } from "./walk.ts";

/** Bytes between two looks at the rest of the world. */
const TURN_BYTES = 16_777_216;
const LIVE_WAITS = 40;
const LIVE_WAIT_MS = 25;

type OpenFile = ReturnType<typeof openReadFile>;

/** Walks one segment, by its frames or by the scan that looked at them already. */
export async function checkSegment(
  check: Check,
  segment: number,
  folder: string,
  scan: Scan | null,
): Promise<Breach | null> {
  const { walk } = check;
  walk.segment = segment;
  walk.file = segmentName(segment);
  check.segments++;
  const file = openReadFile(join(folder, walk.file));
  try {
    // Behind what was scanned may stand more by now, where another command brings a copy up to date.
    if (
      scan === null ||
      file.size() < scan.end ||
      lastNonZero(file, scan.end, file.size()) >= 0 ||
      !mayReplay(check, scan)
    )
      return await walkFrames(check, file);
    const wrong = replay(walk, scan);
    if (wrong === null) return endSegment(check, scan.end, NO_TAIL, null);
    const found = breachAt(check, wrong.code, segment, wrong.offset, wrong.frame);
    return wrong.frame === scan.firstFrame ? carriedOr(walk, found) : found;
  } finally {
    file.close();
  }
}

/** A scan stands for the walk where it goes on from here and no head that somebody remembers is within it. */
function mayReplay({ walk, witnesses }: Check, { linkBefore, firstFrame, marks, recordsAfter }: Scan): boolean {
  const frames = marks.reduce((sum, { records }) => sum + records + 1, recordsAfter);
  return walk.link.equals(linkBefore) && firstFrame === walk.nextFrame && witnesses.nextHead() >= firstFrame + frames;
}

async function walkFrames(check: Check, file: OpenFile): Promise<Breach | null> {
  const { walk, witnesses } = check;
  const { segment } = walk;
  const cursor = openCursor(file);
  if (cursor === undefined) return carriedOr(walk, breachAt(check, "segment_unknown", segment, 0));
  const linkBefore = cursor.buffer.subarray(MAGIC.length, MAGIC.length + LINK_BYTES);
  if (!linkBefore.equals(walk.link))
    return carriedOr(walk, breachAt(check, "segment_not_continued", segment, MAGIC.length));
  const firstFrame = walk.nextFrame;
  let broke: Breach | null = null;
  let waits = segment === check.start.last ? LIVE_WAITS : 0;
  let tail = NO_TAIL;
  /** A frame that a writer has in flight is whole a moment later; a broken one never is. */
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
    if (step === "torn" || !hashesToLink(cursor)) {
      if (check.live && (await awaitWriter())) continue;
      const behind = examineTail(file, offset, walk.nextFrame);
      // A copy has no lock that says who writes to it: by now other bytes may stand there than those that were judged.
      if (!check.live && cursor.changed() && (await awaitWriter())) continue;
      tail = behind;
      broke = breachAt(check, step === "torn" ? "frame_impossible" : "frame_link", segment, offset);
      break;
    }
    const { buffer, at, header } = cursor;
    const end = at + HEADER_BYTES + header.bodyLength;
    if (header.frame !== walk.nextFrame) return carriedOr(walk, breachAt(check, "frame_number", segment, offset));
    if ((header.type === FRAME_TYPES.open) !== (header.frame === firstFrame))
      return breachAt(check, "frame_misplaced", segment, offset);
    const wrong = visitFrame(walk, cursor);
    if (wrong !== null) {
      const found = breachAt(check, wrong, segment, offset);
      return header.frame === firstFrame ? carriedOr(walk, found) : found;
    }
    buffer.copy(walk.link, 0, end, end + LINK_BYTES);
    while (header.frame === nextHead) {
      if (!witnesses.atHead(walk.link.toString("hex"))) return breachAt(check, "head_mismatch", segment, offset);
      nextHead = witnesses.nextHead();
    }
    walk.nextFrame++;
    if (offset > turnAt) {
      tellProgress(check, check.bytes + offset);
      turnAt = offset + TURN_BYTES;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
  if (walk.nextFrame === firstFrame) return broke ?? breachAt(check, "segment_empty", segment, cursor.offset);
  return endSegment(check, cursor.offset, tail, broke);
}

/** What stands behind the whole frames of a segment, for the next one to agree with. */
function endSegment(check: Check, length: number, tail: Tail, broke: Breach | null): Breach | null {
  const { walk } = check;
  const { segment } = walk;
  check.bytes += length;
  tellProgress(check, check.bytes);
  const era = walk.eras.at(-1);
  if (era !== undefined)
    walk.eras[walk.eras.length - 1] = { ...era, lastSegment: segment, lastFrame: walk.nextFrame - 1 };
  if (broke !== null && tail.damage !== null) return broke;
  if (tail.length > 0 && walk.endedBy === "clean") return breachAt(check, "tail_after_stop", segment, length);
  walk.previous = { segment, length, tail, broke };
  return null;
}

/** When the segment before broke off and its successor does not explain that, the break is what was found first. */
function carriedOr({ previous }: Walk, found: Breach): Breach {
  return previous?.broke ?? found;
}

function tellProgress({ options, totalBytes }: Check, doneBytes: number): void {
  options.onProgress?.(doneBytes, totalBytes);
}
