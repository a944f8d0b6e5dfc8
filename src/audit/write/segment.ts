import { type CipherGCM, createCipheriv, type KeyObject } from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import type { LogFile, LogFiles } from "../files.ts";
import { encodeOpen, encodeSeal, KEY_BYTES, type OpenReason, SIGNATURE_BYTES } from "../frame/bodies.ts";
import {
  DATA_FLAG_REDO,
  FRAME_TYPES,
  HEADER_BYTES,
  MAGIC,
  SEAL_FLAG_CLEAN,
  SEAL_FLAG_ROTATE,
  SEGMENT_HEADER_BYTES,
  segmentName,
} from "../frame/layout.ts";
import { paddedLength } from "../frame/padding.ts";
import { makeSealKey, type SealKey, sealMessage, signSeal } from "../keys/seal-key.ts";
import { commitTo, type FrameKeys, makeSeed, startFrameKeys, wrapSeed } from "../keys/seed.ts";
import type { Head } from "../receipt.ts";
import { type FrameBuilder, startBuilder } from "./frame-builder.ts";

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
const SECTION_LENGTH_BYTES = 4;
/** A frame below this part of the space set aside at a time counts as small. */
const SMALL_PART = 32;
const ZERO_NONCE = Buffer.alloc(12);

/** The segment being written: builds one frame at a time and puts it on disk, unsynced. */
export interface Segment {
  readonly number: number;
  readonly openFrame: number;
  /** Hex, like every link that leaves the segment. */
  readonly openLink: string;
  readonly file: LogFile;
  /** Of the last frame. */
  head(): Head;
  position(): number;
  /** Frames since the last seal. */
  unsealed(): number;
  /** Derives the next frame's key now, while there is time. The chain that it comes from is in memory either way. */
  prepare(): void;
  /** Seals the first `length` bytes, padded with the zeros that must follow them in `bytes`, into a DATA frame. */
  writeData(bytes: Buffer, length: number, section: Buffer | null): void;
  writeSeal(end: "none" | "clean" | "rotate", timeSeconds: number): void;
  writeAttest(flags: number, body: Buffer): void;
  /** The key for the first seal of the segment after a rotation. */
  takeSealKey(): SealKey;
  /** Forgets all keys. What is on the disk stays as it is. */
  abandon(): void;
  /** Gives back the space set aside and forgets all keys. */
  finish(): void;
}

/** A file for the segment after this one, open before it is needed: a turn takes no new descriptor. */
export function openAhead(files: LogFiles, segment: number): LogFile {
  const temporary = `${segmentName(segment)}.new`;
  if (files.list().includes(temporary)) files.remove(temporary);
  return files.create(temporary);
}

/** The file and its name are durable when this returns. `ahead` is what openAhead gave for this very segment. */
export function createSegment(
  files: LogFiles,
  start: SegmentStart,
  random: Random,
  spaceBytes: number,
  ahead: LogFile | null = null,
): Segment {
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

  const file = ahead ?? openAhead(files, start.segment);
  try {
    file.write(head, 0);
    file.syncInline();
    files.rename(`${name}.new`, name);
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
  const sectionLength = Buffer.alloc(SECTION_LENGTH_BYTES);
  let position = length;
  let allocated = length;
  let unsealed = 1;
  let sealKey: SealKey | null = start.sealKey;
  let cipher: CipherGCM | null = null;

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
    cipher = null;
    sealKey = null;
  };

  const takeCipher = (): CipherGCM => {
    const taken = cipher ?? createCipheriv("aes-256-gcm", frameKeys.next(), ZERO_NONCE);
    cipher = null;
    return taken;
  };

  return {
    number: start.segment,
    openFrame: start.frame,
    openLink,
    file,
    head: () => ({ segment: start.segment, frame: builder.frame() - 1, link: builder.link() }),
    position: () => position,
    unsealed: () => unsealed,
    prepare() {
      cipher ??= takeCipher();
    },
    writeData(bytes, length, section) {
      const plaintext = bytes.subarray(0, paddedLength(length));
      const after = section === null ? 0 : section.length + SECTION_LENGTH_BYTES;
      builder.begin(FRAME_TYPES.data, section === null ? 0 : DATA_FLAG_REDO, plaintext.length + TAG_BYTES + after);
      const taken = takeCipher();
      taken.setAAD(builder.additional);
      builder.add(taken.update(plaintext));
      taken.final();
      builder.add(taken.getAuthTag());
      if (section !== null) {
        builder.add(section);
        sectionLength.writeUInt32LE(section.length);
        builder.add(sectionLength);
      }
      put(builder.end());
      unsealed++;
    },
    writeSeal(end, timeSeconds) {
      if (sealKey === null) throw new Error("the seal chain of this segment has ended");
      const flags = end === "clean" ? SEAL_FLAG_CLEAN : end === "rotate" ? SEAL_FLAG_ROTATE : 0;
      const next = end === "clean" ? null : makeSealKey(random);
      const fields = encodeSeal({ count: unsealed, timeSeconds, nextKey: next?.rawPublic ?? Buffer.alloc(KEY_BYTES) });
      builder.begin(FRAME_TYPES.seal, flags, fields.length + SIGNATURE_BYTES);
      const header = builder.additional.subarray(0, HEADER_BYTES);
      const linkPrevious = builder.additional.subarray(HEADER_BYTES);
      builder.add(fields);
      builder.add(signSeal(sealKey, sealMessage(start.logId, linkPrevious, header, fields)));
      sealKey = next;
      put(builder.end());
      unsealed = 0;
    },
    writeAttest(flags, body) {
      put(builder.build(FRAME_TYPES.attest, flags, body));
      unsealed++;
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
