/** Base64 by hand: what Node makes of it goes through a string, which stays in the heap and cannot be wiped. */
const ALPHABET = Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/");
const [PLUS, SLASH, DASH, LINE, PAD] = [0x2b, 0x2f, 0x2d, 0x5f, 0x3d];

export function base64Bytes(prefix: Buffer, bytes: Buffer): Buffer {
  const text = Buffer.alloc(prefix.length + 4 * Math.ceil(bytes.length / 3), PAD);
  prefix.copy(text);
  let at = prefix.length;
  for (let index = 0; index < bytes.length; index += 3) {
    const [a = 0, b = 0, c = 0] = bytes.subarray(index, index + 3);
    const digits = [a >> 2, ((a & 3) << 4) | (b >> 4), ((b & 15) << 2) | (c >> 6), c & 63];
    const used = Math.min(bytes.length - index, 3) + 1;
    for (const digit of digits.slice(0, used)) text[at++] = ALPHABET[digit] ?? PAD;
    at += 4 - used;
  }
  return text;
}

/** Without padding. */
export function base64UrlBytes(bytes: Buffer): Buffer {
  const text = base64Bytes(Buffer.alloc(0), bytes);
  for (const [at, byte] of text.entries()) {
    if (byte === PLUS) text[at] = DASH;
    if (byte === SLASH) text[at] = LINE;
  }
  const end = text.indexOf(PAD);
  return end < 0 ? text : text.subarray(0, end);
}

/** What base64url stands for; digits that are none of it count as nothing. */
export function bytesOfBase64Url(text: Buffer): Buffer {
  const bytes = Buffer.alloc(Math.floor((text.length * 3) / 4));
  let [at, pending, bits] = [0, 0, 0];
  for (const byte of text) {
    const digit = ALPHABET.indexOf(byte === DASH ? PLUS : byte === LINE ? SLASH : byte);
    if (digit < 0) continue;
    pending = ((pending << 6) | digit) & 0xfff;
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    bytes[at++] = (pending >> bits) & 0xff;
  }
  return bytes.subarray(0, at);
}
