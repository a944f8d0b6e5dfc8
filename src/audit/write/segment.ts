import { createCipheriv, type KeyObject } from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import type { LogFile, LogFiles } from "../files.ts";
import { encodeOpen, encodeSeal, HASH_BYTES, KEY_BYTES, type OpenReason } from "../frame/bodies.ts";
import {
  FRAME_OVERHEAD_BYTES,
  FRAME_TYPES,
  type FrameType,
  HEADER_BYTES,
  LINK_BYTES,
  linkOf,
  MAGIC,
  SEAL_FLAG_CLEAN,
  SEAL_FLAG_ROTATE,
  SEGMENT_HEADER_BYTES,
  segmentName,
  writeHeader,
} from "../frame/layout.ts";
import { paddedLength } from "../frame/padding.ts";
import { makeSealKey, type SealKey, sealMessage, signSeal } from "../keys/seal-key.ts";
import { commitTo, type FrameKeys, makeSeed, startFrameKeys, wrapSeed } from "../keys/seed.ts";

export interface SegmentStart {
  readonly logId: Buffer;
  readonly segment: number;
  readonly reason: OpenReason;
  readonly frame: number;
  readonly link: Buffer;
  readonly previousLength: number;
  readonly tornLength: number;
  readonly tornHash: Buffer;
  readonly vaultGeneration: number;
  readonly vaultHash: Buffer;
  readonly recipients: readonly KeyObject[];
  /** The key that the last seal announced; a fresh one after a boot. */
  readonly sealKey: SealKey;
  readonly timeSeconds: number;
}

const TAG_BYTES = 16;
/** A frame below this part of the space set aside at a time counts as small. */
const SMALL_PART = 32;
const ZERO_NONCE = Buffer.alloc(12);

/** The segment being written: builds one frame at a time and puts it on disk, unsynced. */
export interface Segment {
  readonly number: number;
  readonly openFrame: number;
  readonly openLink: Buffer;
  readonly file: LogFile;
  /** Frame number and link of the last frame. */
  head(): { readonly frame: number; readonly link: Buffer };
  position(): number;
  /** Frames since the last seal. */
  unsealed(): number;
  /** Seals `plaintext`, padded with the zeros that must follow it in `bytes`, into a DATA frame. */
  writeData(bytes: Buffer, length: number): number;
  writeSeal(end: "none" | "clean" | "rotate", timeSeconds: number): number;
  writeAttest(flags: number, body: Buffer): number;
  /** The key for the first seal of the segment after a rotation. */
  takeSealKey(): SealKey;
  /** Forgets all keys. What is on the disk stays as it is. */
  abandon(): void;
  /** Gives back the space set aside and forgets all keys. */
  finish(): void;
}

/** The file and its name are durable when this returns. */
export function createSegment(files: LogFiles, start: SegmentStart, random: Random, spaceBytes: number): Segment {
  const name = segmentName(start.segment);
  const seed = makeSeed(random);
  const commitment = commitTo(seed);
  const label = { logId: start.logId, segment: start.segment, commitment };
  const recipients = start.recipients.map((recipient) => wrapSeed(label, seed, recipient, random));
  const frameKeys = startFrameKeys(seed);
  const body = encodeOpen({ ...start, commitment, recipients, firstSealKey: start.sealKey.rawPublic });
  const builder = startBuilder(start.link, start.frame);
  const openBytes = builder.build(FRAME_TYPES.open, 0, body);
  const head = Buffer.concat([MAGIC, start.link, openBytes]);

  const temporary = `${name}.new`;
  if (files.list().includes(temporary)) files.remove(temporary);
  const file = files.create(temporary);
  try {
    file.write(head, 0);
    file.syncInline();
    files.rename(temporary, name);
    files.syncFolder();
  } catch (error) {
    file.close();
    frameKeys.wipe();
    throw error;
  }
  return startSegment(file, start, builder, frameKeys, random, spaceBytes, SEGMENT_HEADER_BYTES + openBytes.length);
}

function startSegment(
  file: LogFile,
  start: SegmentStart,
  builder: FrameBuilder,
  frameKeys: FrameKeys,
  random: Random,
  spaceBytes: number,
  length: number,
): Segment {
  const openLink = builder.link();
  const space = Buffer.alloc(spaceBytes);
  let position = length;
  let allocated = length;
  let unsealed = 1;
  let sealKey: SealKey | null = start.sealKey;

  /**
   * Zeros written ahead: a flush that does not also have to grow the file is a quarter faster. A large frame gains
   * nothing by it and would be written twice.
   */
  const put = (bytes: Buffer): void => {
    if (position + bytes.length > allocated && bytes.length < space.length / SMALL_PART) {
      file.write(space, allocated);
      allocated += space.length;
    }
    file.write(bytes, position);
    position += bytes.length;
    allocated = Math.max(allocated, position);
  };

  const abandon = (): void => {
    frameKeys.wipe();
    sealKey = null;
  };

  return {
    number: start.segment,
    openFrame: start.frame,
    openLink,
    file,
    head: () => ({ frame: builder.frame() - 1, link: builder.link() }),
    position: () => position,
    unsealed: () => unsealed,
    writeData(bytes, length) {
      const plaintext = bytes.subarray(0, paddedLength(length));
      const { additional } = builder.begin(FRAME_TYPES.data, 0, plaintext.length + TAG_BYTES);
      const cipher = createCipheriv("aes-256-gcm", frameKeys.next(), ZERO_NONCE);
      cipher.setAAD(additional);
      builder.add(cipher.update(plaintext));
      cipher.final();
      builder.add(cipher.getAuthTag());
      const frame = builder.frame();
      put(builder.end());
      unsealed++;
      return frame;
    },
    writeSeal(end, timeSeconds) {
      if (sealKey === null) throw new Error("the seal chain of this segment has ended");
      const flags = end === "clean" ? SEAL_FLAG_CLEAN : end === "rotate" ? SEAL_FLAG_ROTATE : 0;
      const next = end === "clean" ? null : makeSealKey(random);
      const fields = encodeSeal({ count: unsealed, timeSeconds, nextKey: next?.rawPublic ?? Buffer.alloc(KEY_BYTES) });
      const { header, linkPrevious } = builder.begin(FRAME_TYPES.seal, flags, fields.length + 2 * HASH_BYTES);
      builder.add(fields);
      builder.add(signSeal(sealKey, sealMessage(start.logId, linkPrevious, header, fields)));
      sealKey = next;
      const frame = builder.frame();
      put(builder.end());
      unsealed = 0;
      return frame;
    },
    writeAttest(flags, body) {
      const frame = builder.frame();
      put(builder.build(FRAME_TYPES.attest, flags, body));
      unsealed++;
      return frame;
    },
    takeSealKey() {
      if (sealKey === null) throw new Error("the seal chain of this segment has ended");
      const key = sealKey;
      sealKey = null;
      return key;
    },
    abandon,
    finish() {
      abandon();
      if (allocated > position) file.truncate(position);
    },
  };
}

/** Lays frames out as `link_prev ‖ header ‖ body ‖ link` in one buffer, so that the link hashes one range. */
interface FrameBuilder {
  frame(): number;
  link(): Buffer;
  begin(
    type: FrameType,
    flags: number,
    bodyLength: number,
  ): { header: Buffer; linkPrevious: Buffer; additional: Buffer };
  add(bytes: Buffer): void;
  /** The frame's bytes, lent until the next `begin`. */
  end(): Buffer;
  build(type: FrameType, flags: number, body: Buffer): Buffer;
}

const ROOM_BYTES = 65_536;

function startBuilder(link: Buffer, firstFrame: number): FrameBuilder {
  let room = Buffer.alloc(ROOM_BYTES);
  const current = Buffer.from(link);
  let frame = firstFrame;
  let at = 0;
  const self: FrameBuilder = {
    frame: () => frame,
    link: () => Buffer.from(current),
    begin(type, flags, bodyLength) {
      const needed = FRAME_OVERHEAD_BYTES + LINK_BYTES + bodyLength;
      if (needed > room.length) room = Buffer.alloc(needed + ROOM_BYTES);
      current.copy(room, 0);
      writeHeader(room, LINK_BYTES, { bodyLength, type, flags, frame });
      at = LINK_BYTES + HEADER_BYTES;
      const header = room.subarray(LINK_BYTES, at);
      return { header, linkPrevious: current, additional: Buffer.concat([header, current]) };
    },
    add(bytes) {
      at += bytes.copy(room, at);
    },
    end() {
      const link = linkOf(room.subarray(0, at));
      link.copy(current);
      link.copy(room, at);
      frame++;
      return room.subarray(LINK_BYTES, at + LINK_BYTES);
    },
    build(type, flags, body) {
      self.begin(type, flags, body.length);
      self.add(body);
      return self.end();
    },
  };
  return self;
}
