const none = Buffer.alloc(0);

/** Gathers pieces into one buffer. From the second on they are copied, so that a million tiny pieces cost their size and no more. */
export class ByteCollector {
  #buffer: Buffer = none;
  #size = 0;
  /** Most bodies arrive in one piece, which can stand for the whole as it is. */
  #borrowed = true;

  get size(): number {
    return this.#size;
  }

  push(bytes: Uint8Array): void {
    const size = this.#size;
    if (size === 0) {
      this.#buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
      this.#size = bytes.length;
      this.#borrowed = true;
      return;
    }
    if (this.#borrowed || size + bytes.length > this.#buffer.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size * 2, size + bytes.length));
      this.#buffer.copy(grown, 0, 0, size);
      this.#buffer = grown;
      this.#borrowed = false;
    }
    this.#buffer.set(bytes, size);
    this.#size = size + bytes.length;
  }

  /** Everything so far. The collector must not be used afterwards. */
  take(): Buffer {
    return this.#buffer.subarray(0, this.#size);
  }
}
