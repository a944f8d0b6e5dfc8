import { Worker } from "node:worker_threads";
import { Fault } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";

export interface BcryptJob {
  readonly passphrase: Uint8Array<ArrayBuffer>;
  readonly salt: Uint8Array;
  readonly rounds: number;
  readonly length: number;
}

/** Derives in a worker: seconds of arithmetic must not hold up a terminal, and the thread's memory goes with it. */
export async function deriveInThread(
  passphrase: Secret,
  salt: Buffer,
  rounds: number,
  length: number,
): Promise<Buffer> {
  const phrase = passphrase.use((bytes) => new Uint8Array(bytes));
  const job: BcryptJob = { passphrase: phrase, salt, rounds, length };
  // The package holds compiled files: the worker has the extension that this file has.
  const file = import.meta.url.endsWith(".ts") ? "./bcrypt-worker.ts" : "./bcrypt-worker.js";
  const worker = new Worker(new URL(file, import.meta.url), {
    workerData: job,
    transferList: [phrase.buffer],
    env: {},
  });
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  worker.once("message", (key: Uint8Array) => resolve(Buffer.from(key.buffer, key.byteOffset, key.byteLength)));
  worker.once("error", () => reject(new Fault("the thread that derives a key failed")));
  worker.once("exit", () => reject(new Fault("the thread that derives a key ended early")));
  try {
    return await promise;
  } finally {
    await worker.terminate();
  }
}
