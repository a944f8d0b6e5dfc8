import type { KeyObject } from "node:crypto";
import { closeSync, fsyncSync, openSync, readdirSync, renameSync, writeSync } from "node:fs";
import { join } from "node:path";
import type { Random } from "../../kernel/clock.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ReadFile } from "../files.ts";
import { decodeOpen } from "../frame/bodies.ts";
import { openCursor } from "../frame/cursor.ts";
import { FRAME_TYPES, HEADER_BYTES, segmentName, segmentOf } from "../frame/layout.ts";
import { keyIdOf, rawPublicOf } from "../keys/raw.ts";
import { wrapSeed } from "../keys/seed.ts";
import { openIfThere } from "../node-files.ts";
import { findSeed } from "./seeds.ts";
import { encodeSideFile, sideFileName } from "./side-file.ts";

/**
 * Lets another reader into the segments that exist: their seeds, wrapped for `recipient`, go to side files. No segment
 * is rewritten. Who has read once cannot be made to forget; a removed recipient loses what is written from then on.
 */
export function rewrapSeeds(
  folder: string,
  readingKey: KeyObject,
  recipient: KeyObject,
  random: Random,
): readonly number[] {
  const keyId = keyIdOf(rawPublicOf("x25519", recipient));
  const done: number[] = [];
  for (const name of readdirSync(folder).sort()) {
    const segment = segmentOf(name);
    if (segment === undefined) continue;
    const file = openIfThere(join(folder, segmentName(segment)));
    if (file === undefined) continue;
    const open = readOpen(file);
    if (open === undefined) throw new Denied("log_damaged", `${name} does not start with a whole OPEN frame`);
    if (open.recipients.some((known) => known.keyId.equals(keyId))) continue;
    const seed = findSeed(folder, open, readingKey);
    if (seed === undefined) throw new Denied("log_unreadable", `the key does not open segment ${segment}`);
    try {
      writeAtomically(
        join(folder, sideFileName(segment, keyId)),
        encodeSideFile(open, wrapSeed(open, seed, recipient, random)),
      );
    } finally {
      seed.fill(0);
    }
    done.push(segment);
  }
  return done;
}

function readOpen(file: ReadFile) {
  try {
    const cursor = openCursor(file);
    if (cursor?.next() !== "frame" || cursor.header.type !== FRAME_TYPES.open) return undefined;
    const start = cursor.at + HEADER_BYTES;
    return decodeOpen(Buffer.from(cursor.buffer.subarray(start, start + cursor.header.bodyLength)));
  } finally {
    file.close();
  }
}

function writeAtomically(path: string, bytes: Buffer): void {
  const temporary = `${path}.new`;
  const fd = openSync(temporary, "w", 0o600);
  try {
    writeSync(fd, bytes);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(temporary, path);
}
