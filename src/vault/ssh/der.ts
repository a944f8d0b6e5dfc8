/** The few DER types that a private key is built from; buffers, so that they can be wiped. */
export function derSequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

/** A positive integer of big-endian digits. */
export function derInteger(digits: Buffer): Buffer {
  let start = 0;
  while (start < digits.length - 1 && digits[start] === 0) start++;
  const shortest = digits.subarray(start);
  return tagged(0x02, (shortest[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), shortest]) : shortest);
}

export function derOctets(bytes: Buffer): Buffer {
  return tagged(0x04, bytes);
}

export function derBits(bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.concat([Buffer.of(0), bytes]));
}

export function derContext(number: number, content: Buffer): Buffer {
  return tagged(0xa0 | number, content);
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.of(tag, length), content]);
  if (length < 0x100) return Buffer.concat([Buffer.of(tag, 0x81, length), content]);
  return Buffer.concat([Buffer.of(tag, 0x82, length >> 8, length & 255), content]);
}
