import { parentPort, workerData } from "node:worker_threads";
import { bcryptPbkdf } from "./bcrypt-pbkdf.ts";
import type { BcryptJob } from "./bcrypt-thread.ts";

const { passphrase, salt, rounds, length } = workerData as BcryptJob;
const phrase = Buffer.from(passphrase.buffer, passphrase.byteOffset, passphrase.byteLength);
const key = bcryptPbkdf(phrase, Buffer.from(salt), rounds, length);
phrase.fill(0);
const owned = new Uint8Array(key);
key.fill(0);
parentPort?.postMessage(owned, [owned.buffer]);
