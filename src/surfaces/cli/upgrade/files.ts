import { randomBytes } from "node:crypto";
import { open, rename, unlink, writeFile } from "node:fs/promises";
import { Denied } from "../../../kernel/failure.ts";

/** One byte more than the limit is enough to refuse a file; a device or a huge file is never read whole. */
export async function readBounded(path: string, limit: number): Promise<Buffer> {
  const handle = await opened(path);
  try {
    const { size } = await handle.stat();
    // A pipe says size 0 and still has content; a file that says more than the limit is not worth reading.
    const buffer = Buffer.alloc(Math.min(size > 0 ? size : limit, limit) + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, null);
      length += bytesRead;
      if (bytesRead === 0 || length === buffer.length) break;
    }
    if (length > limit) throw new Denied("document_too_large", `${path} has more than ${limit} bytes.`);
    return buffer.subarray(0, length);
  } finally {
    await handle.close();
  }
}

export async function readIfThere(path: string, limit: number): Promise<Buffer | null> {
  try {
    return await readBounded(path, limit);
  } catch (error) {
    if (error instanceof Denied && error.code === "file_unreadable" && error.extra["errno"] === "ENOENT") return null;
    throw error;
  }
}

/** Whole or not at all: a review file cut in half would have lost decisions. */
export async function writeWhole(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFile(draft, text, { flag: "wx", mode: 0o644, flush: true });
    await rename(draft, path);
  } catch (error) {
    await unlink(draft).catch(() => {});
    throw new Denied("file_unreadable", `${path} cannot be written (${errnoOf(error)}).`);
  }
}

async function opened(path: string): ReturnType<typeof open> {
  try {
    return await open(path, "r");
  } catch (error) {
    const errno = errnoOf(error);
    throw new Denied("file_unreadable", `${path} cannot be read (${errno}).`, { extra: { errno } });
  }
}

function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown";
}
