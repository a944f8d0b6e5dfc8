import { Secret } from "../../../kernel/secret.ts";

/** A secret while it is typed: bytes of ours alone, never a string of the whole. */
export interface SecretLine {
  readonly characters: number;
  add(bytes: Uint8Array): void;
  drop(): void;
  clear(): void;
  /** Hands the typed bytes over and starts anew. */
  take(): Secret;
}

const MAX_BYTES = 4_096;

export function createSecretLine(): SecretLine {
  const typed = Buffer.alloc(MAX_BYTES);
  let length = 0;
  const clear = (): void => {
    typed.fill(0);
    length = 0;
  };
  return {
    get characters() {
      return typed.subarray(0, length).filter((byte) => !isContinuation(byte)).length;
    },
    add(bytes) {
      for (const byte of bytes) if (byte >= 0x20 && byte !== 0x7f && length < MAX_BYTES) typed[length++] = byte;
    },
    drop() {
      while (length > 0) {
        length--;
        const gone = typed[length] ?? 0;
        typed[length] = 0;
        if (!isContinuation(gone)) break;
      }
    },
    clear,
    take() {
      const secret = Secret.take(Buffer.from(typed.subarray(0, length)));
      clear();
      return secret;
    },
  };
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}
