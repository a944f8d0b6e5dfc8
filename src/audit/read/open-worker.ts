import { workerData } from "node:worker_threads";
import { openCursor } from "../frame/cursor.ts";
import { FRAME_TYPES } from "../frame/layout.ts";
import { startFrameKeys } from "../keys/seed.ts";
import { openIfThere } from "../node-files.ts";
import { type OpenedFrames, type OpenWork, SENT, TAKEN } from "./open-ahead.ts";
import { openFrame } from "./open-frame.ts";

/** Opens frame after frame and stops before the first that it cannot open: what that means is for the reader to say. */
const { path, chain, at, from, port, counts: shared } = workerData as OpenWork;
const BATCH_BYTES = 1_048_576;
/** Batches that wait to be taken: more would only be memory. */
const AHEAD = 4;

const counts = new Int32Array(shared);
const keys = startFrameKeys(Buffer.from(chain.buffer));
const file = openIfThere(path);
const cursor = file === undefined ? undefined : openCursor(file);
let frames: number[] = [];
let ends: number[] = [];
let bytes = new Uint8Array(BATCH_BYTES);
let filled = 0;

while (cursor?.next() === "frame") {
  if (cursor.header.type !== FRAME_TYPES.data || cursor.offset < at) continue;
  if (cursor.offset < from) {
    keys.skip();
    continue;
  }
  const plaintext = openFrame(cursor, keys.next());
  if (plaintext === undefined) break;
  if (filled + plaintext.length > bytes.length) sendBatch(plaintext.length);
  bytes.set(plaintext, filled);
  plaintext.fill(0);
  filled += plaintext.length;
  frames.push(cursor.header.frame);
  ends.push(filled);
}
keys.wipe();
file?.close();
if (frames.length > 0) sendBatch(0);
send(null, []);
port.close();

function sendBatch(next: number): void {
  const batch = { frames: Float64Array.from(frames), ends: Uint32Array.from(ends), bytes: bytes.subarray(0, filled) };
  if (frames.length > 0) {
    awaitRoom();
    send(batch, [batch.frames.buffer, batch.ends.buffer, bytes.buffer]);
  }
  frames = [];
  ends = [];
  bytes = new Uint8Array(Math.max(BATCH_BYTES, next));
  filled = 0;
}

function send(batch: OpenedFrames | null, moved: ArrayBuffer[]): void {
  port.postMessage(batch, moved);
  Atomics.add(counts, SENT, 1);
  Atomics.notify(counts, SENT);
}

function awaitRoom(): void {
  const sent = Atomics.load(counts, SENT);
  for (let taken = Atomics.load(counts, TAKEN); sent - taken >= AHEAD; taken = Atomics.load(counts, TAKEN))
    Atomics.wait(counts, TAKEN, taken);
}
