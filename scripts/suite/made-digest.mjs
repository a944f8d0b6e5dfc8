import { createHash } from "node:crypto";
import { fstatSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as image from "./digest-of-image.js";

export { readChunks } from "./digest-of-image.js";

/**
 * Takes the place of digest.js in the product that tests start (product.ts): nearly every caller is a process of Node, 126 MB that each
 * of hundreds of gateways would read through, half a second of a processor. It is read once a run and user. Smaller files always are.
 */
const LARGE_BYTES = 64 * 1024 * 1024;
const folder = join(import.meta.dirname, "digests");

export function digestImage(fd, withMd5) {
  const { dev, ino, mtimeNs, ctimeNs, size } = fstatSync(fd, { bigint: true });
  if (size < LARGE_BYTES) return image.digestImage(fd, withMd5);
  const identity = [process.getuid(), dev, ino, mtimeNs, ctimeNs, size, withMd5].join(":");
  const file = join(folder, createHash("sha256").update(identity).digest("hex"));
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    const made = image.digestImage(fd, withMd5);
    keep(file, JSON.stringify(made));
    return made;
  }
}

/** Where this may not be written, or another is writing it, it is made again. */
function keep(file, text) {
  try {
    writeFileSync(file, text, { flag: "wx" });
  } catch {}
}
