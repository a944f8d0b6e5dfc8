import { HASH_BYTES } from "./bodies.ts";
import { readUint64, writeUint64 } from "./layout.ts";

/**
 * What the gateway writes for its own next start, in the second section of a DATA frame and in clear: how new the vault,
 * the policy and the state were when the frame was written. The links cover it like any byte; the part about the state
 * counts only with a tag that a holder of the state key made, since frames after the last seal could be anybody's.
 */
export interface Stamp {
  readonly vaultGeneration: number;
  readonly vaultHash: Buffer;
  /** 0 where no policy was ever in force. */
  readonly policyVersion: number;
  readonly policyDigest: Buffer;
  /** Zeros while the state is closed. */
  readonly stateWritten: number;
  readonly stateDurable: number;
  /** Names the boot: after another one the state may have lost what was not durable. */
  readonly boot: Buffer;
  readonly tag: Buffer;
}

export const BOOT_BYTES = 16;
export const STAMP_TAG_BYTES = 16;
const VERSION = 1;
export const STAMP_BYTES: number = 1 + 2 * (8 + HASH_BYTES) + 2 * 8 + BOOT_BYTES + STAMP_TAG_BYTES;

export function encodeStamp(stamp: Stamp): Buffer {
  const bytes = Buffer.alloc(STAMP_BYTES);
  bytes.writeUInt8(VERSION, 0);
  let at = 1;
  for (const [count, hash] of [
    [stamp.vaultGeneration, stamp.vaultHash],
    [stamp.policyVersion, stamp.policyDigest],
  ] as const) {
    writeUint64(bytes, count, at);
    hash.copy(bytes, at + 8);
    at += 8 + HASH_BYTES;
  }
  writeUint64(bytes, stamp.stateWritten, at);
  writeUint64(bytes, stamp.stateDurable, at + 8);
  stamp.boot.copy(bytes, at + 16);
  stamp.tag.copy(bytes, at + 16 + BOOT_BYTES);
  return bytes;
}

/** Undefined for a section that this version did not make. */
export function decodeStamp(bytes: Buffer): Stamp | undefined {
  if (bytes.length !== STAMP_BYTES || bytes[0] !== VERSION) return undefined;
  const state = 1 + 2 * (8 + HASH_BYTES);
  const [vaultGeneration, policyVersion] = [readUint64(bytes, 1), readUint64(bytes, 9 + HASH_BYTES)];
  const [stateWritten, stateDurable] = [readUint64(bytes, state), readUint64(bytes, state + 8)];
  if (vaultGeneration === undefined || policyVersion === undefined) return undefined;
  if (stateWritten === undefined || stateDurable === undefined) return undefined;
  return {
    vaultGeneration,
    vaultHash: Buffer.from(bytes.subarray(9, 9 + HASH_BYTES)),
    policyVersion,
    policyDigest: Buffer.from(bytes.subarray(17 + HASH_BYTES, 17 + 2 * HASH_BYTES)),
    stateWritten,
    stateDurable,
    boot: Buffer.from(bytes.subarray(state + 16, state + 16 + BOOT_BYTES)),
    tag: Buffer.from(bytes.subarray(state + 16 + BOOT_BYTES)),
  };
}

/** What the tag is made over. */
export function stampedPart(stamp: Stamp): Buffer {
  return encodeStamp(stamp).subarray(0, STAMP_BYTES - STAMP_TAG_BYTES);
}
