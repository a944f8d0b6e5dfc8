/** Gathers pieces into one buffer. From the second on they are copied, so that a million tiny pieces cost their size and no more. */
export interface ByteCollector {
  readonly size: number;
  push(bytes: Uint8Array): void;
  /** Everything so far. The collector must not be used afterwards. */
  take(): Buffer;
}

const none = Buffer.alloc(0);

export function collectBytes(): ByteCollector {
  let buffer: Buffer = none;
  let size = 0;
  // Most bodies arrive in one piece, which can stand for the whole as it is.
  let borrowed = true;
  return {
    get size() {
      return size;
    },
    push(bytes) {
      if (size === 0) {
        buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        size = bytes.length;
        borrowed = true;
        return;
      }
      if (borrowed || size + bytes.length > buffer.length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(size * 2, size + bytes.length));
        buffer.copy(grown, 0, 0, size);
        buffer = grown;
        borrowed = false;
      }
      buffer.set(bytes, size);
      size += bytes.length;
    },
    take: () => buffer.subarray(0, size),
  };
}
