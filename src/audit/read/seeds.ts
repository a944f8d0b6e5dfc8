import type { KeyObject } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenBody, WrappedSeed } from "../frame/bodies.ts";
import { keyIdOf, rawPublicOf } from "../keys/raw.ts";
import { unwrapSeed } from "../keys/seed.ts";
import { decodeSideFile, sideFileName } from "./side-file.ts";

/** The seed of a segment for this key, from the OPEN frame or a side file; undefined when neither has it. */
export function findSeed(folder: string, open: OpenBody, readingKey: KeyObject): Buffer | undefined {
  const keyId = keyIdOf(rawPublicOf("x25519", readingKey));
  const wrapped =
    open.recipients.find((recipient) => recipient.keyId.equals(keyId)) ?? fromSideFile(folder, open, keyId);
  return wrapped === undefined ? undefined : unwrapSeed(open, wrapped, readingKey);
}

function fromSideFile(folder: string, open: OpenBody, keyId: Buffer): WrappedSeed | undefined {
  try {
    return decodeSideFile(readFileSync(join(folder, sideFileName(open.segment, keyId))))?.wrapped;
  } catch {
    return undefined;
  }
}
