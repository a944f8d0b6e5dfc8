import { closeSync, mkdirSync, openSync, read, rmSync, unlinkSync, write } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import type { SpoolFile, SpoolPort } from "../../gateway/ports.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";

const writeAt = promisify(write);
const readAt = promisify(read);
const PIECE_BYTES = 262_144;

/**
 * Files for bodies that are too large to be held, in a folder of the gateway's own. Each loses its name the moment it is made:
 * nobody else can open it, and it is gone with the process, however that ends. The folder is taken away at the start, for the one moment between.
 */
export function createSpool(folder: string, space: { low(moreBytes: number): boolean }): SpoolPort {
  rmSync(folder, { recursive: true, force: true });
  /** The users of those that are open: nobody alone takes every place. */
  const open: number[] = [];
  let made = 0;
  return {
    open(uid) {
      const own = open.filter((one) => one === uid).length;
      if (own >= defaults.spooledAtOnceOfUser || open.length >= defaults.spooledAtOnce)
        throw new Denied(
          "too_many_requests",
          `${open.length} large uploads are on their way already, ${own} of them of user ${uid}. Try again when one is done.`,
        );
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const path = join(folder, String(made++));
      const fd = openSync(path, "wx+", 0o600);
      unlinkSync(path);
      open.push(uid);
      return spoolFile(
        fd,
        (bytes) => requireRoom(space, bytes),
        () => open.splice(open.indexOf(uid), 1),
      );
    },
  };
}

/** As much again as the reserve is left: an upload never keeps others from beginning something small. */
function requireRoom(space: { low(moreBytes: number): boolean }, bytes: number): void {
  if (!space.low(defaults.diskReserveBytes + bytes)) return;
  throw new Denied("disk_low", "The disk under the gateway's home has no room for this upload. Nothing was sent.");
}

function spoolFile(fd: number, requireRoom: (bytes: number) => void, onClosed: () => void): SpoolFile {
  /** What the kernel still works at: the file is not closed under it, since another would get its number. */
  let busy: Promise<unknown> = Promise.resolve();
  let size = 0;
  let closed = false;
  const close = (): void => {
    if (closed) return;
    closed = true;
    void busy
      .catch(() => undefined)
      .then(() => {
        closeSync(fd);
        onClosed();
      });
  };
  /** A stream of Node's own would close the file when it ends. */
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < size; ) {
      if (closed) throw new Error("the body was let go");
      const length = Math.min(PIECE_BYTES, size - at);
      const reading = readAt(fd, Buffer.allocUnsafe(length), 0, length, at);
      busy = reading;
      const { bytesRead, buffer } = await reading;
      if (bytesRead === 0) throw new Error("the file of a body is shorter than it was");
      at += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }
  return {
    write(bytes) {
      requireRoom(bytes.byteLength);
      const from = size;
      size += bytes.byteLength;
      const writing = busy.then(() => writeWhole(fd, bytes, from));
      busy = writing;
      return writing;
    },
    async end() {
      await busy;
    },
    abort: close,
    close,
    body: (digest) => ({ byteLength: size, digest, read: () => Readable.from(pieces(), { objectMode: false }) }),
  };
}

async function writeWhole(fd: number, bytes: Buffer, from: number): Promise<void> {
  for (let done = 0; done < bytes.byteLength; ) {
    const { bytesWritten } = await writeAt(fd, bytes, done, bytes.byteLength - done, from + done);
    done += bytesWritten;
  }
}
