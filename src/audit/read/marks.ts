import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Digest } from "../../kernel/canonical-json.ts";
import type { ReadFile } from "../files.ts";
import { decodeOpen, type OpenBody } from "../frame/bodies.ts";
import { type Cursor, isLinked, openCursor } from "../frame/cursor.ts";
import {
  FRAME_OVERHEAD_BYTES,
  FRAME_TYPES,
  GENESIS_LINK,
  HEADER_BYTES,
  LINK_BYTES,
  linkOf,
  MAGIC,
  readHeader,
  SEGMENT_HEADER_BYTES,
  segmentName,
  segmentOf,
} from "../frame/layout.ts";
import { sectionOf } from "../frame/section.ts";
import { decodeStamp, STAMP_BYTES, type Stamp } from "../frame/stamp.ts";
import { openIfThere } from "../node-files.ts";

/** How new vault and policy were, as the log says it without any key: what is older than this was put back. */
export interface LogMarks {
  readonly vault: { readonly generation: number; readonly manifestHash: Digest } | null;
  readonly policy: { readonly version: number; readonly digest: Digest } | null;
}

/** The largest OPEN frame: sixteen recipients. */
const OPEN_BYTES = SEGMENT_HEADER_BYTES + FRAME_OVERHEAD_BYTES + 4_096;

/** The highest of every OPEN frame, and of the stamps in the newest segment that has some. */
export function readMarks(folder: string): LogMarks {
  const segments = segmentsOf(folder);
  let vault: LogMarks["vault"] = null;
  let policy: LogMarks["policy"] = null;
  const raise = (generation: number, hash: Buffer): void => {
    if (generation > (vault?.generation ?? 0)) vault = { generation, manifestHash: named(hash) };
  };
  for (const segment of segments) {
    const open = readSegmentOpen(folder, segment);
    if (open !== undefined) raise(open.vaultGeneration, open.vaultHash);
  }
  for (const stamp of newestStamps(folder, segments)) {
    raise(stamp.vaultGeneration, stamp.vaultHash);
    if (stamp.policyVersion > (policy?.version ?? 0)) {
      policy = { version: stamp.policyVersion, digest: named(stamp.policyDigest) };
    }
  }
  return { vault, policy };
}

/** The last stamp that `isOurs` knows again, looked for from the end of the log; undefined where there is none. */
export function findStamp(folder: string, isOurs: (stamp: Stamp) => boolean): Stamp | undefined {
  for (const segment of segmentsOf(folder).reverse()) {
    const found = withSegment(folder, segment, stampsIn)?.findLast(isOurs);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Whether this log says that no state was ever open while it was written: it is here from its first frame on, in one chain, and all
 * its records stand in frames whose stamps nobody tagged. A log that is archived in part, has frames without a stamp, or
 * lost the end of a segment that others follow cannot say it.
 */
export function tellsOfNoState(folder: string): boolean {
  const segments = segmentsOf(folder);
  let link: Buffer | undefined = GENESIS_LINK;
  for (const [index, segment] of segments.entries()) {
    if (link === undefined || segment !== index + 1) return false;
    const before: Buffer = link;
    const last = index === segments.length - 1;
    link = withSegment(folder, segment, (file) => untaggedTo(file, before, last));
  }
  return segments.length > 0 && link !== undefined;
}

/** The OPEN frame of one segment; undefined where it is not whole or not there. */
export function readSegmentOpen(folder: string, segment: number): OpenBody | undefined {
  return withSegment(folder, segment, readOpen);
}

/** Which log this is, by its own word; null where there is none. */
export function readLogId(folder: string): string | null {
  const [first] = segmentsOf(folder);
  return first === undefined ? null : (readSegmentOpen(folder, first)?.logId.toString("hex") ?? null);
}

function newestStamps(folder: string, segments: readonly number[]): readonly Stamp[] {
  for (const segment of segments.toReversed()) {
    const stamps = withSegment(folder, segment, stampsIn) ?? [];
    if (stamps.length > 0) return stamps;
  }
  return [];
}

/** A log that is not there has nothing to say; one that cannot be read is an error of its own. */
function segmentsOf(folder: string): number[] {
  try {
    return readdirSync(folder)
      .map(segmentOf)
      .filter((segment) => segment !== undefined)
      .sort((a, b) => a - b);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}

/** Undefined for one that is gone since the folder was listed. */
function withSegment<Result>(folder: string, segment: number, work: (file: ReadFile) => Result): Result | undefined {
  const file = openIfThere(join(folder, segmentName(segment)));
  if (file === undefined) return undefined;
  try {
    return work(file);
  } finally {
    file.close();
  }
}

function readOpen(file: ReadFile): OpenBody | undefined {
  const bytes = Buffer.alloc(OPEN_BYTES);
  const got = file.read(bytes, 0);
  const start = SEGMENT_HEADER_BYTES;
  if (got < start + FRAME_OVERHEAD_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const header = readHeader(bytes, start);
  if (header?.type !== FRAME_TYPES.open) return undefined;
  const end = start + HEADER_BYTES + header.bodyLength;
  if (end + LINK_BYTES > got) return undefined;
  if (!linkOf(bytes.subarray(start - LINK_BYTES, end)).equals(bytes.subarray(end, end + LINK_BYTES))) return undefined;
  return decodeOpen(bytes.subarray(start + HEADER_BYTES, end));
}

/** Neighbours that say the same are one. */
function stampsIn(file: ReadFile): readonly Stamp[] {
  const stamps: Stamp[] = [];
  const cursor = openCursor(file);
  let last: Buffer | undefined;
  while (cursor !== undefined && cursor.next() === "frame") {
    const section = sectionOf(cursor);
    if (section === undefined || last?.equals(section) === true || !isLinked(cursor)) continue;
    last = Buffer.from(section);
    const stamp = decodeStamp(last.subarray(0, STAMP_BYTES));
    if (stamp !== undefined) stamps.push(stamp);
  }
  return stamps;
}

/** The link with which a segment ends that continues `before`; undefined where one of its frames is not sound, or tells of a state. */
function untaggedTo(file: ReadFile, before: Buffer, last: boolean): Buffer | undefined {
  const cursor = openCursor(file);
  let step = cursor?.next();
  if (cursor === undefined || step !== "frame") return undefined;
  let link = Buffer.from(cursor.buffer.subarray(cursor.at - LINK_BYTES, cursor.at));
  if (!link.equals(before)) return undefined;
  for (; step === "frame"; step = cursor.next()) {
    // Of the newest segment a frame may be half written at this very moment, by the process that asks.
    if (!isLinked(cursor)) return last ? link : undefined;
    if (!isUntagged(cursor)) return undefined;
    const end = cursor.at + HEADER_BYTES + cursor.header.bodyLength;
    link = Buffer.from(cursor.buffer.subarray(end, end + LINK_BYTES));
  }
  return step === "end" || last ? link : undefined;
}

function isUntagged(cursor: Cursor): boolean {
  if (cursor.header.type !== FRAME_TYPES.data) return true;
  const section = sectionOf(cursor);
  const stamp = section === undefined ? undefined : decodeStamp(Buffer.from(section.subarray(0, STAMP_BYTES)));
  return stamp?.tag.every((byte) => byte === 0) === true;
}

function named(hash: Buffer): Digest {
  return `sha256:${hash.toString("hex")}` as Digest;
}
