/** Just enough DER to write certificates. */
export function der(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(body.length), body]);
}

export const sequence = (...parts: readonly Uint8Array[]): Buffer => der(0x30, ...parts);
export const set = (...parts: readonly Uint8Array[]): Buffer => der(0x31, ...parts);
export const octets = (bytes: Uint8Array): Buffer => der(0x04, bytes);
export const utf8 = (text: string): Buffer => der(0x0c, Buffer.from(text));
export const bits = (bytes: Uint8Array): Buffer => der(0x03, Buffer.from([0]), bytes);
export const yes = (): Buffer => der(0x01, Buffer.from([0xff]));
export const explicit = (number: number, ...parts: readonly Uint8Array[]): Buffer => der(0xa0 + number, ...parts);

export function integer(value: number | Uint8Array): Buffer {
  return der(0x02, typeof value === "number" ? Buffer.from([value]) : value);
}

export function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(0x06, Buffer.from(bytes));
}

/** UTCTime, which certificates use for every date before 2050. */
export function utcTime(date: Date): Buffer {
  const text = `${date.toISOString().slice(2, 19).replace(/[-T:]/g, "")}Z`;
  return der(0x17, Buffer.from(text));
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let left = length; left > 0; left >>>= 8) bytes.unshift(left & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}
