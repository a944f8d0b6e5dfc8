import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import type { OpenBody } from "../frame/bodies.ts";
import { keyIdOf, rawPublicOf } from "../keys/raw.ts";
import { unwrapSeed } from "../keys/seed.ts";
import { readSideFile, sideFileName } from "./side-file.ts";

/** The seed of a segment for this key, from the OPEN frame or a side file; undefined when neither has it. */
export function findSeed(folder: string, open: OpenBody, readingKey: KeyObject): Buffer | undefined {
  const keyId = keyIdOf(rawPublicOf("x25519", readingKey));
  const wrapped =
    open.recipients.find((recipient) => recipient.keyId.equals(keyId)) ??
    readSideFile(join(folder, sideFileName(open.segment, keyId)))?.wrapped;
  return wrapped === undefined ? undefined : unwrapSeed(open, wrapped, readingKey);
}
