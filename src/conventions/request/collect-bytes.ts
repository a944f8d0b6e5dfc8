/** Gathers pieces into one buffer. Pieces are copied, so that a body of a million tiny pieces costs its size and no more. */
export interface ByteCollector {
  readonly size: number;
  push(bytes: Uint8Array): void;
  /** Everything so far. The collector must not be used afterwards. */
  take(): Buffer;
}

const FIRST_BYTES = 1024;

export function collectBytes(): ByteCollector {
  let buffer = Buffer.alloc(0);
  let size = 0;
  return {
    get size() {
      return size;
    },
    push(bytes) {
      if (size + bytes.length > buffer.length) {
        const grown = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, buffer.length * 2, size + bytes.length));
        buffer.copy(grown, 0, 0, size);
        buffer = grown;
      }
      buffer.set(bytes, size);
      size += bytes.length;
    },
    take: () => buffer.subarray(0, size),
  };
}
