import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";
import type { Code } from "../../kernel/codes.ts";
import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";

/** A file that a person names on the command line: a regular one, whole, and never more than `most` bytes of it. */
export function readGivenFile(path: string, most: number, code: Code, tooLarge = code): Buffer {
  const descriptor = openGivenFile(path, code);
  try {
    const bytes = Buffer.alloc(most + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length <= most; length += count) {
      count = readSync(descriptor, bytes, length, bytes.length - length, null);
    }
    if (length > most) throw new Denied(tooLarge, `${path} is larger than ${most} bytes.`);
    return Buffer.from(bytes.subarray(0, length));
  } finally {
    closeSync(descriptor);
  }
}

/** Opened for reading. A link is followed, since a person named it; nothing but a regular file is. */
export function openGivenFile(path: string, code: Code): number {
  let descriptor: number;
  try {
    // Without O_NONBLOCK a pipe would hold us here for ever.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    throw new Denied(code, deniedByFiles(error)?.message ?? `${path} cannot be read.`);
  }
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new Denied(code, `${path} is no regular file.`);
}
