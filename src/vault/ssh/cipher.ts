import { createDecipheriv, timingSafeEqual } from "node:crypto";

/** The ciphers that ssh-keygen offers for private keys (-Z). `open` is undefined when a tag does not fit. */
export interface KeyFileCipher {
  readonly keyBytes: number;
  readonly ivBytes: number;
  readonly tagBytes: number;
  readonly blockBytes: number;
  open(key: Buffer, iv: Buffer, sealed: Buffer, tag: Buffer): Buffer | undefined;
}

export const KEY_FILE_CIPHERS: ReadonlyMap<string, KeyFileCipher> = new Map([
  ...[16, 24, 32].flatMap((keyBytes): [string, KeyFileCipher][] => [
    [`aes${keyBytes * 8}-ctr`, plain(`aes-${keyBytes * 8}-ctr`, keyBytes)],
    [`aes${keyBytes * 8}-cbc`, plain(`aes-${keyBytes * 8}-cbc`, keyBytes)],
  ]),
  ["aes128-gcm@openssh.com", gcm("aes-128-gcm", 16)],
  ["aes256-gcm@openssh.com", gcm("aes-256-gcm", 32)],
  ["chacha20-poly1305@openssh.com", { keyBytes: 64, ivBytes: 0, tagBytes: 16, blockBytes: 8, open: openChacha }],
]);

function plain(name: string, keyBytes: number): KeyFileCipher {
  return {
    keyBytes,
    ivBytes: 16,
    tagBytes: 0,
    blockBytes: 16,
    open(key, iv, sealed) {
      const decipher = createDecipheriv(name, key, iv).setAutoPadding(false);
      return Buffer.concat([decipher.update(sealed), decipher.final()]);
    },
  };
}

function gcm(name: "aes-128-gcm" | "aes-256-gcm", keyBytes: number): KeyFileCipher {
  return {
    keyBytes,
    ivBytes: 12,
    tagBytes: 16,
    blockBytes: 16,
    open(key, iv, sealed, tag) {
      const decipher = createDecipheriv(name, key, iv, { authTagLength: 16 }).setAuthTag(tag);
      const open = decipher.update(sealed);
      try {
        decipher.final();
        return open;
      } catch {
        open.fill(0);
        return undefined;
      }
    },
  };
}

/** OpenSSH's own construction, with packet number 0: block 0 of the key stream keys Poly1305, the text starts at block 1. */
function openChacha(key: Buffer, _iv: Buffer, sealed: Buffer, tag: Buffer): Buffer | undefined {
  const main = key.subarray(0, 32);
  const polyKey = chacha(main, 0, Buffer.alloc(32));
  if (!timingSafeEqual(poly1305(polyKey, sealed), tag)) return undefined;
  return chacha(main, 1, sealed);
}

function chacha(key: Buffer, block: number, text: Buffer): Buffer {
  const iv = Buffer.alloc(16);
  iv.writeUInt32LE(block);
  return createDecipheriv("chacha20", key, iv).update(text);
}

/** RFC 8439, 2.5, in plain integers: it checks one short file, so speed and timing do not matter. */
function poly1305(key: Buffer, text: Buffer): Buffer {
  const prime = (1n << 130n) - 5n;
  const r = littleEndian(key.subarray(0, 16)) & 0x0ffffffc0ffffffc0ffffffc0fffffffn;
  let sum = 0n;
  for (let start = 0; start < text.length; start += 16) {
    const block = text.subarray(start, start + 16);
    sum = ((sum + littleEndian(block) + (1n << BigInt(8 * block.length))) * r) % prime;
  }
  const tag = (sum + littleEndian(key.subarray(16, 32))) & ((1n << 128n) - 1n);
  return Buffer.from(tag.toString(16).padStart(32, "0"), "hex").reverse();
}

function littleEndian(bytes: Buffer): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}
