/**
 * Blowfish with the key schedule of bcrypt, for bcrypt-pbkdf alone. Its tables are the fraction of pi; they are computed,
 * not copied, and a test compares them with published words.
 */
export interface Blowfish {
  readonly p: Uint32Array;
  readonly s: Uint32Array;
}

const P_WORDS = 18;
const S_WORDS = 1_024;

let fraction: Uint32Array | undefined;

export function freshBlowfish(): Blowfish {
  fraction ??= piFraction(P_WORDS + S_WORDS);
  return { p: fraction.slice(0, P_WORDS), s: fraction.slice(P_WORDS) };
}

/** The schedule of bcrypt: keys XORed into P, then everything enciphered over, mixed with `data` when there is some. */
export function expandState(state: Blowfish, key: Buffer, data: Buffer | null): void {
  const nextKey = wordsOf(key);
  const nextData = data === null ? () => 0 : wordsOf(data);
  for (let index = 0; index < P_WORDS; index++) state.p[index] = at(state.p, index) ^ nextKey();
  const block = new Uint32Array(2);
  for (const table of [state.p, state.s]) {
    for (let index = 0; index < table.length; index += 2) {
      block[0] = at(block, 0) ^ nextData();
      block[1] = at(block, 1) ^ nextData();
      encipher(state, block, 0);
      table[index] = at(block, 0);
      table[index + 1] = at(block, 1);
    }
  }
}

export function encipher({ p, s }: Blowfish, block: Uint32Array, offset: number): void {
  let left = at(block, offset) ^ at(p, 0);
  let right = at(block, offset + 1);
  for (let round = 1; round <= 16; round += 2) {
    right ^= mix(s, left) ^ at(p, round);
    left ^= mix(s, right) ^ at(p, round + 1);
  }
  block[offset] = right ^ at(p, 17);
  block[offset + 1] = left;
}

/** Endless big-endian words of the bytes, starting over at the end. */
function wordsOf(bytes: Buffer): () => number {
  let position = 0;
  return () => {
    let word = 0;
    for (let count = 0; count < 4; count++) {
      word = (word << 8) | (bytes[position] ?? 0);
      position = (position + 1) % bytes.length;
    }
    return word;
  };
}

function mix(s: Uint32Array, word: number): number {
  const sum = (at(s, word >>> 24) + at(s, 256 + ((word >>> 16) & 255))) | 0;
  return ((sum ^ at(s, 512 + ((word >>> 8) & 255))) + at(s, 768 + (word & 255))) | 0;
}

function at(words: Uint32Array, index: number): number {
  return words[index] ?? 0;
}

/** Machin's formula in fixed point, with 64 guard bits: 16 atan(1/5) - 4 atan(1/239). */
function piFraction(words: number): Uint32Array {
  const guard = 64n;
  const bits = BigInt(words * 32);
  const one = 1n << (bits + guard);
  const pi = 16n * arctanInverse(5n, one) - 4n * arctanInverse(239n, one);
  const digits = (pi >> guard) & ((1n << bits) - 1n);
  const hex = digits.toString(16).padStart(words * 8, "0");
  return Uint32Array.from({ length: words }, (_, index) => Number.parseInt(hex.slice(index * 8, index * 8 + 8), 16));
}

function arctanInverse(x: bigint, one: bigint): bigint {
  const square = x * x;
  let power = one / x;
  let sum = 0n;
  for (let odd = 1n, sign = 1n; power > 0n; odd += 2n, sign = -sign) {
    sum += (sign * power) / odd;
    power /= square;
  }
  return sum;
}
