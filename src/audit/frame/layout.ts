import { hash } from "node:crypto";

/** The bytes that every part of this room agrees on. docs/log-format.md is the same in words. */
export const MAGIC = Buffer.from("GWAUDIT1", "latin1");
export const LINK_BYTES = 32;
export const SEGMENT_HEADER_BYTES = MAGIC.length + LINK_BYTES;
export const HEADER_BYTES = 16;
export const FRAME_OVERHEAD_BYTES = HEADER_BYTES + LINK_BYTES;
/** No frame is larger, whatever its length field says. */
export const MAX_BODY_BYTES = 4_194_304;
export const GENESIS_LINK: Buffer = Buffer.alloc(LINK_BYTES);

/** An attestation names one of the latest OPEN or SEAL frames of its era: this many are remembered. */
export const ATTESTABLE_HEADS = 4_096;
/** Of those from before a segment: so many a cut carries, and nobody who starts at one knows an older one. */
export const ATTESTABLE_KEPT = 32;

export const FRAME_TYPES = { open: 1, data: 2, seal: 3, attest: 4 } as const;
export type FrameType = (typeof FRAME_TYPES)[keyof typeof FRAME_TYPES];

export const DATA_FLAG_REDO = 2;
export const SEAL_FLAG_CLEAN = 1;
export const SEAL_FLAG_ROTATE = 2;
export const ATTEST_FLAG_UNCLEAN = 1;
/** The operator looked at the parts before this era that nobody attested, and vouches for them too. */
export const ATTEST_FLAG_EARLIER = 2;

const ALLOWED_FLAGS: Readonly<Record<FrameType, number>> = {
  1: 0,
  2: DATA_FLAG_REDO,
  3: SEAL_FLAG_CLEAN | SEAL_FLAG_ROTATE,
  4: ATTEST_FLAG_UNCLEAN | ATTEST_FLAG_EARLIER,
};

export interface FrameHeader {
  readonly bodyLength: number;
  readonly type: FrameType;
  readonly flags: number;
  readonly frame: number;
}

export function writeHeader(target: Buffer, offset: number, header: FrameHeader): void {
  target.writeUInt32LE(header.bodyLength, offset);
  target.writeUInt8(header.type, offset + 4);
  target.writeUInt8(header.flags, offset + 5);
  target.writeUInt16LE(0, offset + 6);
  writeUint64(target, header.frame, offset + 8);
}

/** Undefined for sixteen bytes that no frame of ours can start with. */
export function readHeader(source: Buffer, offset: number): FrameHeader | undefined {
  const bodyLength = source.readUInt32LE(offset);
  const type = source.readUInt8(offset + 4);
  const flags = source.readUInt8(offset + 5);
  const frame = readUint64(source, offset + 8);
  if (bodyLength > MAX_BODY_BYTES || !isFrameType(type) || source.readUInt16LE(offset + 6) !== 0) return undefined;
  if ((flags & ~ALLOWED_FLAGS[type]) !== 0 || frame === undefined) return undefined;
  return { bodyLength, type, flags, frame };
}

/** SHA-256(link_prev ‖ header ‖ body). On disk the three stand side by side, so one range is hashed. */
export function linkOf(linkHeaderBody: Buffer): Buffer {
  return hash("sha256", linkHeaderBody, "buffer");
}

export function segmentName(segment: number): string {
  return `${String(segment).padStart(10, "0")}.gwlog`;
}

/** The number a file name claims; undefined for a file that is no segment. */
export function segmentOf(name: string): number | undefined {
  const digits = /^(\d{10})\.gwlog$/.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

export function writeUint64(target: Buffer, value: number, offset: number): void {
  target.writeUInt32LE(value % 0x1_0000_0000, offset);
  target.writeUInt32LE(Math.floor(value / 0x1_0000_0000), offset + 4);
}

/** Undefined above 2^53 - 1: no honest counter gets there. */
export function readUint64(source: Buffer, offset: number): number | undefined {
  const high = source.readUInt32LE(offset + 4);
  return high > 0x1f_ffff ? undefined : high * 0x1_0000_0000 + source.readUInt32LE(offset);
}

function isFrameType(value: number): value is FrameType {
  return value >= FRAME_TYPES.open && value <= FRAME_TYPES.attest;
}
