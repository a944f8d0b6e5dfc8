import { createHmac, hash, type KeyObject, timingSafeEqual } from "node:crypto";
import { BOOT_BYTES, encodeStamp, STAMP_TAG_BYTES, type Stamp, stampedPart } from "../../audit/frame/stamp.ts";
import { findStamp } from "../../audit/read/marks.ts";
import { Denied } from "../../kernel/failure.ts";
import type { HighWater } from "../../vault/high-water.ts";

/** How far the state had been written when the log last heard of it. */
export interface StateMark {
  readonly written: number;
  readonly durable: number;
}

/** The stamp of the next frame. `state` is null while the state is closed: then nobody could tag it. */
export function stampOf(
  high: HighWater,
  state: { readonly mark: StateMark; readonly key: KeyObject } | null,
  bootId: string,
): Buffer {
  const stamp: Stamp = {
    vaultGeneration: high.vault?.generation ?? 0,
    vaultHash: bytesOf(high.vault?.manifestHash),
    policyVersion: high.policy?.version ?? 0,
    policyDigest: bytesOf(high.policy?.digest),
    stateWritten: state?.mark.written ?? 0,
    stateDurable: state?.mark.durable ?? 0,
    boot: bootOf(bootId),
    tag: Buffer.alloc(STAMP_TAG_BYTES),
  };
  return encodeStamp(state === null ? stamp : { ...stamp, tag: tagOf(state.key, stamp) });
}

/** The same for the gateway: while vault, policy and state stand as they were, the next frame bears the very same one. */
export function createStamper(bootId: string): (...about: StampedAbout) => Buffer {
  let last: { readonly about: StampedAbout; readonly bytes: Buffer } | null = null;
  return (high, state) => {
    if (last === null || !isSame(last.about, [high, state]))
      last = { about: [high, state], bytes: stampOf(high, state, bootId) };
    return last.bytes;
  };
}

type StampedAbout = [high: HighWater, state: { readonly mark: StateMark; readonly key: KeyObject } | null];

function isSame([high, state]: StampedAbout, [nextHigh, next]: StampedAbout): boolean {
  if (high !== nextHigh || state?.key !== next?.key) return false;
  return state?.mark.written === next?.mark.written && state?.mark.durable === next?.mark.durable;
}

/** The last word of the log about a state that this key guards; undefined in a log that never had one. */
export function lastStateMark(logFolder: string, key: KeyObject, bootId: string): StateMark | undefined {
  const stamp = findStamp(logFolder, (one) => timingSafeEqual(one.tag, tagOf(key, one)));
  if (stamp === undefined) return undefined;
  const sameBoot = stamp.boot.equals(bootOf(bootId));
  return { written: sameBoot ? stamp.stateWritten : stamp.stateDurable, durable: stamp.stateDurable };
}

/** Denied `state_rolled_back` where the file is older than the log knows it. After a power cut, less was promised. */
export function checkStateMark(expected: StateMark, found: StateMark | null): void {
  if (found !== null && found.written >= expected.written) return;
  throw new Denied(
    "state_rolled_back",
    `state.db was written ${found?.written ?? 0} times, and the log has seen it at ${expected.written}: this is an old copy, and what it says of budgets, plans and tickets is out of date. Put the newest file back; if it is lost, restore a backup with gw restore FILE, or go on with what is there with gw restore --as-found.`,
  );
}

function tagOf(key: KeyObject, stamp: Stamp): Buffer {
  return createHmac("sha256", key).update(stampedPart(stamp)).digest().subarray(0, STAMP_TAG_BYTES);
}

function bootOf(bootId: string): Buffer {
  return hash("sha256", `gw boot\0${bootId}`, "buffer").subarray(0, BOOT_BYTES);
}

function bytesOf(digest: string | undefined): Buffer {
  return digest === undefined ? Buffer.alloc(32) : Buffer.from(digest.slice("sha256:".length), "hex");
}
