import { hash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type ReadCheckpoint, readCheckpoint } from "../checkpoint/checkpoint.ts";
import { growTree } from "../checkpoint/tree.ts";
import { openCursor } from "../frame/cursor.ts";
import { FRAME_TYPES, GENESIS_LINK, HEADER_BYTES, LINK_BYTES, MAGIC, segmentName, segmentOf } from "../frame/layout.ts";
import { examineTail } from "../frame/tail.ts";
import { isWriterLive } from "../lock.ts";
import { openReadFile } from "../node-files.ts";
import type { Breach, BreachCode } from "./findings.ts";
import type { VerifyReport } from "./report.ts";
import { strangeSideFiles } from "./side-files.ts";
import { visitFrame, type Walk } from "./walk.ts";

/**
 * Checks a log with nothing but its folder: no key, no vault, no store. Frames, links, numbers, seals, attestations,
 * the continuity of segments, declared torn ends; and, when they are given, a checkpoint and heads that were seen.
 */
export interface VerifyOptions {
  readonly folder: string;
  /** Raw Ed25519 keys. Given, only their attestations and checkpoints count. */
  readonly operators?: readonly Buffer[];
  readonly allowUnattested?: boolean;
  /** The text of a signed checkpoint. */
  readonly checkpoint?: string;
  /** Heads that someone remembers, kept outside the log's folder. */
  readonly heads?: readonly { readonly frame: number; readonly link: string }[];
  readonly onProgress?: (doneBytes: number, totalBytes: number) => void;
}

/** Bytes between two looks at the rest of the world. */
const TURN_BYTES = 16_777_216;
const LIVE_WAITS = 40;
const LIVE_WAIT_MS = 25;

export async function verifyLog(options: VerifyOptions): Promise<VerifyReport> {
  const check = startCheck(options);
  let names: string[];
  let totalBytes = 0;
  try {
    names = readdirSync(options.folder)
      .filter((name) => segmentOf(name) !== undefined)
      .sort();
    for (const name of names) totalBytes += statSync(join(options.folder, name)).size;
  } catch (error) {
    return check.unreadable(error);
  }
  if (names.length === 0) return check.unreadable(new Error(`there is no log in ${options.folder}`));
  const live = isWriterLive(options.folder);
  for (const [index, name] of names.entries()) {
    const segment = segmentOf(name) ?? 0;
    if (segment !== index + 1) return check.finish(check.breach("segment_missing", index + 1, 0), live);
    try {
      const breach = await check.segment(segment, index === names.length - 1, live, (done) =>
        options.onProgress?.(done, totalBytes),
      );
      if (breach !== null) return check.finish(breach, live);
    } catch (error) {
      return check.unreadable(error);
    }
  }
  return check.finish(null, live);
}

function startCheck(options: VerifyOptions) {
  const pins = options.operators ?? null;
  const checkpoint = options.checkpoint === undefined ? null : readCheckpoint(options.checkpoint, pins ?? []);
  const heads = [...(options.heads ?? [])].sort((a, b) => a.frame - b.frame);
  const heldHeads: { frame: number; held: boolean }[] = [];
  let checkpointHeld = false;
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
    tree: growTree(),
    onSeal(seal) {
      if (checkpoint === null || checkpoint === undefined || seal.seals !== checkpoint.seals) return null;
      const same =
        checkpoint.root.equals(walk.tree.root()) && checkpoint.frame === seal.frame && checkpoint.link === seal.link;
      checkpointHeld = same;
      return same ? null : "checkpoint_mismatch";
    },
  };

  const breach = (code: BreachCode, segment: number, offset: number, frame = walk.nextFrame): Breach => ({
    code,
    segment,
    file: segmentName(segment),
    offset,
    frame,
  });

  async function checkSegment(
    segment: number,
    isLast: boolean,
    live: boolean,
    progress: (done: number) => void,
  ): Promise<Breach | null> {
    walk.segment = segment;
    walk.file = segmentName(segment);
    segments++;
    const file = openReadFile(join(options.folder, walk.file));
    try {
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
      let nextHead = heads[heldHeads.length]?.frame ?? -1;
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
        // Compared as text: making a string is the cheapest way to get a hash out of OpenSSL.
        const link = hash("sha256", buffer.subarray(at - LINK_BYTES, end), "binary");
        if (link !== buffer.toString("latin1", end, end + LINK_BYTES)) {
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
        if (header.frame === nextHead) {
          const known = heads[heldHeads.length];
          const held = known?.link === walk.link.toString("hex");
          heldHeads.push({ frame: nextHead, held });
          if (!held) return breach("head_mismatch", segment, offset);
          nextHead = heads[heldHeads.length]?.frame ?? -1;
        }
        walk.nextFrame++;
        if (offset > turnAt) {
          progress(bytes + offset);
          turnAt = offset + TURN_BYTES;
          await new Promise((resolve) => setImmediate(resolve));
        }
      }
      if (walk.nextFrame === firstFrame) return broke ?? breach("segment_empty", segment, cursor.offset);
      const tail = examineTail(file, cursor.offset, walk.nextFrame);
      bytes += cursor.offset;
      progress(bytes);
      const era = walk.eras.at(-1);
      if (era !== undefined)
        walk.eras[walk.eras.length - 1] = { ...era, lastSegment: segment, lastFrame: walk.nextFrame - 1 };
      if (tail.damage !== null && !(isLast && live && broke === null)) {
        return broke ?? breach(tail.damage, segment, cursor.offset);
      }
      if (tail.length > 0 && walk.endedBy === "clean") return breach("tail_after_stop", segment, cursor.offset);
      walk.previous = { segment, length: cursor.offset, tail, broke };
      return null;
    } finally {
      file.close();
    }
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
    if (stopped === null) {
      if (end !== null && end.tail.length > 0 && !live) found.push(breach("tail_undeclared", end.segment, end.length));
      if (walk.sinceSeal > 0) {
        walk.largestUnsealed = Math.max(walk.largestUnsealed, walk.sinceSeal);
        walk.notices.push({ ...place, code: "unsealed_tail", detail: `${walk.sinceSeal} frames` });
      }
      if (walk.endedBy !== "clean" && !live) {
        walk.notices.push({ ...place, code: "unclean_end", detail: "no writer is live" });
      }
      found.push(...checkKnown());
      for (const [name, segment] of strangeSideFiles(options.folder, walk)) {
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

  /** What only a witness outside the folder can tell: that the log once went further. */
  function checkKnown(): Breach[] {
    const found: Breach[] = [];
    const at = walk.previous?.length ?? 0;
    if (checkpoint === undefined) found.push(breach("checkpoint_malformed", walk.segment, at));
    else if (checkpoint !== null) {
      const code = judgeCheckpoint(checkpoint);
      if (code !== null) found.push(breach(code, walk.segment, at));
    }
    for (const head of heads.slice(heldHeads.length)) {
      heldHeads.push({ frame: head.frame, held: false });
      found.push(breach("head_behind", walk.segment, at, head.frame));
    }
    return found;
  }

  function judgeCheckpoint(known: ReadCheckpoint): BreachCode | null {
    if (known.logId !== walk.logId?.toString("hex")) return "checkpoint_other_log";
    if (pins !== null && known.signedBy === undefined) return "checkpoint_signature";
    if (known.seals > walk.tree.size()) return "checkpoint_behind";
    if (known.seals === 0) checkpointHeld = true;
    return null;
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
      operatorsPinned: pins !== null,
      largestUnsealed: walk.largestUnsealed,
      checkpoint:
        checkpoint === null || checkpoint === undefined
          ? null
          : { seals: checkpoint.seals, signed: checkpoint.signedBy !== undefined, held: checkpointHeld },
      heads: heldHeads,
      trouble,
    };
  }

  return {
    breach,
    segment: checkSegment,
    finish,
    unreadable: (error: unknown): VerifyReport =>
      report("unreadable", [], error instanceof Error ? error.message : String(error)),
  };
}
