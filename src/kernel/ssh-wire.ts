/**
 * The SSH binary encoding (RFC 4251 section 5): u32, string, mpint. Both the vault and the SSH transport speak it.
 * Reading is bounded by the buffer and total: a value that does not end where the buffer ends is no value.
 */
export interface SshReader {
  byte(): number;
  u32(): number;
  string(): Buffer;
  text(): string;
  /** A positive multiple-precision integer as unsigned big-endian bytes without leading zeros. */
  mpint(): Buffer;
  readonly left: number;
}

/** Reads all of `bytes`; undefined when they are too short, too long or hold a value that has no place there. */
export function readSsh<Value>(bytes: Buffer, read: (reader: SshReader) => Value | undefined): Value | undefined {
  let at = 0;
  const take = (length: number): Buffer => {
    if (length > bytes.length - at) throw new Malformed();
    at += length;
    return bytes.subarray(at - length, at);
  };
  const reader: SshReader = {
    byte: () => take(1).readUInt8(0),
    u32: () => take(4).readUInt32BE(0),
    string: () => take(take(4).readUInt32BE(0)),
    text: () => decodeAscii(take(take(4).readUInt32BE(0))),
    mpint: () => decodeMpint(take(take(4).readUInt32BE(0))),
    get left() {
      return bytes.length - at;
    },
  };
  try {
    const value = read(reader);
    return at === bytes.length ? value : undefined;
  } catch (error) {
    if (error instanceof Malformed) return undefined;
    throw error;
  }
}

export function sshU32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

export function sshString(value: Uint8Array | string): Buffer {
  const bytes = typeof value === "string" ? Buffer.from(value, "utf8") : value;
  return Buffer.concat([sshU32(bytes.length), bytes]);
}

/** Encodes unsigned big-endian bytes: no leading zeros, but one where the top bit would read as a sign. */
export function sshMpint(unsigned: Uint8Array): Buffer {
  let start = 0;
  while (start < unsigned.length && unsigned[start] === 0) start++;
  const bare = unsigned.subarray(start);
  const signed = (bare[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.of(0), bare]) : bare;
  return sshString(signed);
}

class Malformed extends Error {}

// Names in the protocol are ASCII; anything else could look like a name to one reader and not to another.
function decodeAscii(bytes: Buffer): string {
  for (const byte of bytes) if (byte < 0x20 || byte > 0x7e) throw new Malformed();
  return bytes.toString("latin1");
}

function decodeMpint(bytes: Buffer): Buffer {
  if (bytes.length === 0) return bytes;
  const first = bytes[0] ?? 0;
  if (first >= 0x80) throw new Malformed();
  if (first !== 0) return bytes;
  if (bytes.length === 1 || (bytes[1] ?? 0) < 0x80) throw new Malformed();
  return bytes.subarray(1);
}
