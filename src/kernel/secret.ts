import { timingSafeEqual } from "node:crypto";
import { inspect } from "node:util";

const SHOWN = "[secret]";

/** Holds secret bytes so that no accidental print, JSON or inspection shows them. `use` is the only way in. */
export class Secret {
  readonly #bytes: Buffer;
  #wiped = false;

  private constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /** Takes ownership of `bytes`: they are wiped with the secret. */
  static take(bytes: Buffer): Secret {
    return new Secret(bytes);
  }

  static fromText(text: string): Secret {
    return new Secret(Buffer.from(text, "utf8"));
  }

  get byteLength(): number {
    return this.#bytes.byteLength;
  }

  /** The bytes are lent for the call only; a reader that keeps them must copy and wipe them itself. */
  use<Result>(reader: (bytes: Buffer) => Result): Result {
    if (this.#wiped) throw new Error("secret was used after it was wiped");
    return reader(this.#bytes);
  }

  /** Bytes of its own, wiped by whoever asked for them. */
  copy(): Secret {
    return this.use((bytes) => new Secret(Buffer.from(bytes)));
  }

  equals(other: Secret): boolean {
    return this.use((mine) =>
      other.use((theirs) => mine.byteLength === theirs.byteLength && timingSafeEqual(mine, theirs)),
    );
  }

  wipe(): void {
    this.#bytes.fill(0);
    this.#wiped = true;
  }

  [Symbol.dispose](): void {
    this.wipe();
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [inspect.custom](): string {
    return SHOWN;
  }
}
