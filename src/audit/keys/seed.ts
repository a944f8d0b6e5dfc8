import { createSecretKey, hash, type KeyObject } from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import { Fault } from "../../kernel/failure.ts";
import type { WrappedSeed } from "../frame/bodies.ts";
import { writeUint64 } from "../frame/layout.ts";
import { openSealed, sealFor } from "./hpke.ts";
import { keyIdOf, rawPublicOf } from "./raw.ts";

/** A segment's seed, its commitment, and the one-way chain of frame keys that starts from it. */
const SEED_BYTES = 32;
const CHAIN_LABEL = Buffer.from("gw-audit-v1 chain");
const COMMIT_LABEL = Buffer.from("gw-audit-v1 commitment");
const WRAP_LABEL = Buffer.from("gw-audit-v1 seed");

export function makeSeed(random: Random): Buffer {
  return random.bytes(SEED_BYTES);
}

export function commitTo(seed: Buffer): Buffer {
  const input = Buffer.concat([COMMIT_LABEL, seed]);
  try {
    return hash("sha256", input, "buffer");
  } finally {
    input.fill(0);
  }
}

export interface SegmentName {
  readonly logId: Buffer;
  readonly segment: number;
  readonly commitment: Buffer;
}

export function wrapSeed(name: SegmentName, seed: Buffer, recipient: KeyObject, random: Random): WrappedSeed {
  const keyId = keyIdOf(rawPublicOf("x25519", recipient));
  return { keyId, ...sealFor(recipient, wrapInfo(name), name.commitment, seed, random) };
}

/** The seed, when this key opens it and it is the one the segment committed to. */
export function unwrapSeed(name: SegmentName, wrapped: WrappedSeed, key: KeyObject): Buffer | undefined {
  const seed = openSealed(key, wrapped, wrapInfo(name), name.commitment);
  if (seed === undefined) return undefined;
  if (seed.length === SEED_BYTES && commitTo(seed).equals(name.commitment)) return seed;
  seed.fill(0);
  return undefined;
}

function wrapInfo({ logId, segment }: SegmentName): Buffer {
  const number = Buffer.alloc(8);
  writeUint64(number, segment, 0);
  return Buffer.concat([WRAP_LABEL, logId, number]);
}

/** Gives each DATA frame its key and forgets how to make the ones before. */
export interface FrameKeys {
  next(): KeyObject;
  /** Passes over a frame whose key nobody wants. */
  skip(): void;
  /** After this there are no more keys. */
  wipe(): void;
}

/** Takes the seed: it is wiped here. */
export function startFrameKeys(seed: Buffer): FrameKeys {
  const input = Buffer.concat([CHAIN_LABEL, seed]);
  seed.fill(0);
  const chain = input.subarray(CHAIN_LABEL.length);
  let wiped = false;
  const advance = (): Buffer => {
    // A chain of zeros would go on giving keys, and anyone could make them too.
    if (wiped) throw new Fault("the keys of this segment have been wiped");
    const output = hash("sha512", input, "buffer");
    output.copy(chain, 0, 0, SEED_BYTES);
    return output;
  };
  return {
    next() {
      const output = advance();
      // A KeyObject, because a cipher made from a plain buffer costs ten times as much.
      const key = createSecretKey(output.subarray(SEED_BYTES));
      output.fill(0);
      return key;
    },
    skip() {
      advance().fill(0);
    },
    wipe() {
      wiped = true;
      input.fill(0);
    },
  };
}
