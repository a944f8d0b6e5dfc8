import { availableParallelism } from "node:os";
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";

/** What a thread that opens frames is started with. */
export interface OpenWork {
  readonly path: string;
  /** Where the chain of frame keys stands at the first frame behind `at`; wiped by whoever begins with it. */
  readonly chain: Uint8Array;
  readonly at: number;
  /** The first frame that is opened begins here or later. */
  readonly from: number;
  readonly port: MessagePort;
  readonly counts: SharedArrayBuffer;
}

/** DATA frames that opened, one after the other in the order of the segment. */
export interface OpenedFrames {
  readonly frames: Float64Array;
  /** Where the plaintext of each ends in `bytes`. */
  readonly ends: Uint32Array;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Opens the frames of a segment on a thread of its own, a little ahead of whoever reads them, up to the first that does not open. */
export interface OpenedAhead {
  /** Frames before this place in the file are not the thread's. */
  readonly from: number;
  /** Undefined where the thread has nothing more: whoever reads goes on alone. */
  take(frame: number): Buffer | undefined;
  close(): void;
}

/** Indices of the counts that both sides look at: batches that were sent, and those of which nothing is left to take. */
export const SENT = 0;
export const TAKEN = 1;

/** What is opened on this thread while the other one starts. */
const START_BYTES = 8_388_608;
/** A thread is worth its start where it has so much to open behind that. */
const WORTH_BYTES = 16_777_216;
/** Frames of one event take a key and a cipher each, as long as all else together; of larger ones only the records take time. */
const SHORT_BYTES = 4_096;
/** Longer than any batch takes. A thread that was ended from without says nothing, and is not waited for again. */
const LOST_MS = 1_000;

export function isWorthThread(left: number, bytesAFrame: number): boolean {
  return left >= START_BYTES + WORTH_BYTES && bytesAFrame < SHORT_BYTES && availableParallelism() > 1;
}

/** Null where the system gives no further thread. */
export function openAhead(path: string, chain: Buffer, at: number): OpenedAhead | null {
  const { port1, port2 } = new MessageChannel();
  const counts = new Int32Array(new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT));
  const from = at + START_BYTES;
  const worker = startThread({ path, chain: new Uint8Array(chain), at, from, port: port2, counts: counts.buffer });
  chain.fill(0);
  if (worker === null) return null;
  let received = 0;
  let batch: (Omit<OpenedFrames, "bytes"> & { readonly bytes: Buffer }) | undefined;
  let index = 0;

  /** The batch after the one that was used up; undefined at the end. */
  function receive(): typeof batch {
    if (batch !== undefined) {
      Atomics.add(counts, TAKEN, 1);
      Atomics.notify(counts, TAKEN);
    }
    index = 0;
    for (;;) {
      const got = receiveMessageOnPort(port1) as { readonly message: OpenedFrames | null } | undefined;
      if (got !== undefined) {
        received++;
        const { message } = got;
        return message === null ? undefined : { ...message, bytes: Buffer.from(message.bytes.buffer) };
      }
      if (Atomics.wait(counts, SENT, received, LOST_MS) === "timed-out") return undefined;
    }
  }

  return {
    from,
    take(frame) {
      if (index === (batch?.frames.length ?? 0)) batch = receive();
      if (batch === undefined || batch.frames[index] !== frame) return undefined;
      const start = index === 0 ? 0 : batch.ends[index - 1];
      const end = batch.ends[index++] ?? 0;
      return batch.bytes.subarray(start, end);
    },
    close() {
      port1.close();
      void worker.terminate();
    },
  };
}

function startThread(work: OpenWork): Worker | null {
  // The package holds compiled files: the worker has the extension that this file has.
  const file = import.meta.url.endsWith(".ts") ? "./open-worker.ts" : "./open-worker.js";
  try {
    const worker = new Worker(new URL(file, import.meta.url), {
      env: {},
      workerData: work,
      transferList: [work.port, work.chain.buffer as ArrayBuffer],
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    // One that fails has sent what it opened until then.
    worker.on("error", () => undefined);
    worker.unref();
    return worker;
  } catch {
    return null;
  }
}
