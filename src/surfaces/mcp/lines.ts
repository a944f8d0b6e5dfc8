export interface Lines {
  readonly whole: readonly Buffer[];
  /** What came after them can no longer be a line within the bound. */
  readonly tooLong: boolean;
}

export interface LineReader {
  push(chunk: Buffer): Lines;
}

const NEWLINE = 0x0a;

/**
 * Cuts bytes into lines and holds at most one bounded line that is not finished, in one buffer however small the pieces
 * are that it comes in. Blank lines are left out.
 */
export function createLineReader(maxBytes: number): LineReader {
  let held = Buffer.alloc(0);
  let heldBytes = 0;

  function hold(piece: Buffer): void {
    if (heldBytes + piece.length > held.length) {
      const larger = Buffer.allocUnsafe(Math.min(maxBytes, Math.max(4_096, 2 * (heldBytes + piece.length))));
      held.copy(larger, 0, 0, heldBytes);
      held = larger;
    }
    piece.copy(held, heldBytes);
    heldBytes += piece.length;
  }

  return {
    push(chunk) {
      const whole: Buffer[] = [];
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        const piece = chunk.subarray(from, at);
        from = at + 1;
        if (heldBytes + piece.length > maxBytes) return { whole, tooLong: true };
        let line = piece;
        if (heldBytes > 0) {
          hold(piece);
          line = held.subarray(0, heldBytes);
          held = Buffer.alloc(0);
          heldBytes = 0;
        }
        if (!isBlank(line)) whole.push(line);
      }
      const rest = chunk.subarray(from);
      if (heldBytes + rest.length > maxBytes) return { whole, tooLong: true };
      if (rest.length > 0) hold(rest);
      return { whole, tooLong: false };
    },
  };
}

function isBlank(line: Buffer): boolean {
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d);
}
