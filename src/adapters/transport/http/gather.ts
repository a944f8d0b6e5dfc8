import { nextTurn } from "./next-turn.ts";

/**
 * Puts the pieces of a body together before they are handed on. Whoever looks at a piece looks once more at what came before it: a
 * server that sends byte by byte, any number of them in one breath, would have that done for each byte, and nothing else.
 */
export class Gather {
  readonly #hand: (bytes: Buffer) => void;
  /** Worth a look at once. */
  readonly #plenty: number;
  /** Grows by doubling: see `AnswerReader`. */
  #held: Buffer = NOTHING;
  #size = 0;
  #due = false;
  #timer: NodeJS.Timeout | null = null;
  #restsUntil = 0;

  /** `looksBack` is how much is looked at once more. `hand` must not throw: nobody may be there to hear it. */
  constructor(looksBack: number, hand: (bytes: Buffer) => void) {
    this.#plenty = Math.max(looksBack, PLENTY_BYTES);
    this.#hand = hand;
  }

  /** A copy: the chunk is a window on what the socket read. */
  add(chunk: Buffer): void {
    const size = this.#size + chunk.byteLength;
    if (size > this.#held.byteLength) {
      const grown = Buffer.allocUnsafeSlow(Math.max(size, 2 * this.#held.byteLength));
      this.#held.copy(grown, 0, 0, this.#size);
      this.#held = grown;
    }
    chunk.copy(this.#held, this.#size);
    this.#size = size;
    if (size >= this.#plenty) this.flush();
    else if (!this.#due) this.#schedule();
  }

  /** Hands on what there is, now. */
  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#size === 0) return;
    const bytes = this.#held.subarray(0, this.#size);
    this.#held = NOTHING;
    this.#size = 0;
    const began = performance.now();
    this.#hand(bytes);
    const ended = performance.now();
    this.#restsUntil = ended + RESTS * (ended - began);
  }

  /** With the end of this turn, and not before the loop had its time for others. */
  #schedule(): void {
    const waitMs = this.#restsUntil - performance.now();
    if (waitMs > 0) {
      this.#timer ??= setTimeout(() => this.flush(), waitMs);
      return;
    }
    this.#due = true;
    nextTurn(() => {
      this.#due = false;
      this.flush();
    });
  }
}

/** What a socket gives at once, at most. */
const PLENTY_BYTES = 65_536;
/** After a look, so many times as long as it took. */
const RESTS = 4;
const NOTHING = Buffer.alloc(0);
