import { createHash, type Hash } from "node:crypto";
import { readSync } from "node:fs";

export interface ImageDigests {
  /** `sha256:<hex>`. */
  readonly sha256: string;
  /** For dpkg's records only; null when nobody asked or the machine forbids MD5. */
  readonly md5: string | null;
  readonly bytes: number;
}

const CHUNK_BYTES = 1_048_576;

/** Reads the opened file from its start, whatever became of its name. */
export function digestImage(fd: number, withMd5: boolean): ImageDigests {
  const sha256 = createHash("sha256");
  const md5 = withMd5 ? tryMd5() : null;
  let bytes = 0;
  for (const chunk of readChunks(fd)) {
    sha256.update(chunk);
    md5?.update(chunk);
    bytes += chunk.length;
  }
  return { sha256: `sha256:${sha256.digest("hex")}`, md5: md5?.digest("hex") ?? null, bytes };
}

export function* readChunks(fd: number): Generator<Buffer> {
  const chunk = Buffer.alloc(CHUNK_BYTES);
  for (let position = 0; ; ) {
    const count = readSync(fd, chunk, 0, chunk.length, position);
    if (count === 0) return;
    position += count;
    yield chunk.subarray(0, count);
  }
}

function tryMd5(): Hash | null {
  try {
    return createHash("md5");
  } catch {
    return null;
  }
}
