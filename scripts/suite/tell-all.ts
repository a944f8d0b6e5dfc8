import { fstatSync, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { isMainThread } from "node:worker_threads";

/**
 * Loaded before a test file: what it tells its runner is written before it goes on. A process that ends itself, as one of tests does when
 * they are through, would leave out what waits in its pipe while the runner is busy.
 */
const OUT = 1;
const PAUSE_MS = 1;
const pause = new Int32Array(new SharedArrayBuffer(4));

/** To the last byte; where a program that shares the pipe made it one that does not wait, this waits itself. */
function writeWhole(bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) {
    try {
      written += writeSync(OUT, bytes, written);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      Atomics.wait(pause, 0, 0, PAUSE_MS);
    }
  }
}

const kind = fstatSync(OUT);
// A thread tells the main one, by a stream of its own kind.
if (isMainThread && (kind.isFIFO() || kind.isSocket())) {
  const value = new Writable({
    decodeStrings: true,
    write(bytes: Buffer, _encoding, done) {
      writeWhole(bytes);
      done();
    },
  });
  Object.defineProperty(process, "stdout", { value });
}
