import { createHash } from "node:crypto";
import { encipher, expandState, freshBlowfish } from "./blowfish.ts";

const HASH_BYTES = 32;
const MAGIC = Buffer.from("OxychromaticBlowfishSwatDynamite", "latin1");

/** The key derivation of encrypted OpenSSH keys. Slow on purpose: call it through `bcrypt-thread.ts`. */
export function bcryptPbkdf(passphrase: Buffer, salt: Buffer, rounds: number, length: number): Buffer {
  const key = Buffer.alloc(length);
  const stride = Math.ceil(length / HASH_BYTES);
  const perBlock = Math.ceil(length / stride);
  const hashedPass = sha512(passphrase);
  for (let block = 0; block < stride; block++) {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(block + 1);
    let step = bcryptHash(hashedPass, sha512(Buffer.concat([salt, count])));
    const sum = Buffer.from(step);
    for (let round = 1; round < rounds; round++) {
      step = bcryptHash(hashedPass, sha512(step));
      for (const [index, byte] of step.entries()) sum[index] = (sum[index] ?? 0) ^ byte;
    }
    // Bytes of one block are spread over the key, so that every part of it costs all rounds.
    for (let index = 0; index < perBlock && index * stride + block < length; index++) {
      key[index * stride + block] = sum[index] ?? 0;
    }
    sum.fill(0);
  }
  hashedPass.fill(0);
  return key;
}

function bcryptHash(pass: Buffer, salt: Buffer): Buffer {
  const state = freshBlowfish();
  expandState(state, pass, salt);
  for (let round = 0; round < 64; round++) {
    expandState(state, salt, null);
    expandState(state, pass, null);
  }
  const words = Uint32Array.from({ length: HASH_BYTES / 4 }, (_, index) => MAGIC.readUInt32BE(index * 4));
  for (let round = 0; round < 64; round++) {
    for (let offset = 0; offset < words.length; offset += 2) encipher(state, words, offset);
  }
  const hash = Buffer.alloc(HASH_BYTES);
  for (const [index, word] of words.entries()) hash.writeUInt32LE(word, index * 4);
  state.p.fill(0);
  state.s.fill(0);
  return hash;
}

function sha512(bytes: Buffer): Buffer {
  return createHash("sha512").update(bytes).digest();
}
