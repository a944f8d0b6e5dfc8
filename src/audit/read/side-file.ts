import {
  cutter,
  HASH_BYTES,
  KEY_BYTES,
  KEY_ID_BYTES,
  LOG_ID_BYTES,
  WRAPPED_SEED_BYTES,
  type WrappedSeed,
} from "../frame/bodies.ts";
import { readUint64, segmentName, writeUint64 } from "../frame/layout.ts";
import type { SegmentName } from "../keys/seed.ts";
import { openReadFile } from "../node-files.ts";

/** A segment's seed, wrapped again for a reader who came later. It stands beside the segment, which never changes. */
const MAGIC = Buffer.from("GWSEED01", "latin1");
const SIDE_FILE_BYTES = MAGIC.length + LOG_ID_BYTES + 8 + HASH_BYTES + KEY_ID_BYTES + KEY_BYTES + WRAPPED_SEED_BYTES;

export function sideFileName(segment: number, keyId: Buffer): string {
  return `${segmentName(segment)}.${keyId.toString("hex")}.seed`;
}

/** The segment that a file name claims to belong to; undefined for a file of another kind. */
export function sideFileSegment(name: string): number | undefined {
  const digits = /^(\d{10})\.gwlog\.[0-9a-f]{32}\.seed$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function encodeSideFile({ logId, segment, commitment }: SegmentName, wrapped: WrappedSeed): Buffer {
  const number = Buffer.alloc(8);
  writeUint64(number, segment, 0);
  return Buffer.concat([MAGIC, logId, number, commitment, wrapped.keyId, wrapped.encapsulated, wrapped.sealed]);
}

function decodeSideFile(bytes: Buffer): { readonly name: SegmentName; readonly wrapped: WrappedSeed } | undefined {
  if (bytes.length !== SIDE_FILE_BYTES || !bytes.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const cut = cutter(bytes.subarray(MAGIC.length));
  const logId = cut(LOG_ID_BYTES);
  const segment = readUint64(cut(8), 0);
  const commitment = cut(HASH_BYTES);
  const wrapped = { keyId: cut(KEY_ID_BYTES), encapsulated: cut(KEY_BYTES), sealed: cut(WRAPPED_SEED_BYTES) };
  return segment === undefined ? undefined : { name: { logId, segment, commitment }, wrapped };
}

/** Undefined where there is none, or something else in its place: whoever can write the folder may put a pipe or a link there. */
export function readSideFile(path: string): ReturnType<typeof decodeSideFile> {
  try {
    const file = openReadFile(path);
    try {
      const bytes = Buffer.alloc(SIDE_FILE_BYTES + 1);
      return decodeSideFile(bytes.subarray(0, file.read(bytes, 0)));
    } finally {
      file.close();
    }
  } catch {
    return undefined;
  }
}
