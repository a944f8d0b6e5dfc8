import { defaults } from "../../kernel/defaults.ts";
import type { AnswerStream } from "../attempt/sending.ts";

export interface AnswerHead {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
}

/** An answer between the provider who sends it and the tool that reads it: so much is in here and no more. */
export interface Pipe extends AnswerStream {
  /** Once there is an answer to pass on; never where there is none. */
  readonly head: Promise<AnswerHead>;
  /** What comes, until `finish`. For one reader. */
  pieces(): AsyncGenerator<Buffer>;
  finish(): void;
}

export function openPipe(gone: AbortSignal): Pipe {
  const heads = Promise.withResolvers<AnswerHead>();
  const waiting: Buffer[] = [];
  let held = 0;
  let begun = false;
  let over = false;
  let wake: (() => void) | null = null;
  let room: (() => void) | null = null;
  return {
    gone,
    head: heads.promise,
    get begun() {
      return begun;
    },
    begin(status, headers) {
      begun = true;
      heads.resolve({ status, headers: Object.entries(headers) });
    },
    write(bytes) {
      waiting.push(bytes);
      held += bytes.byteLength;
      wake?.();
      if (held < defaults.streamHeldBytes) return null;
      return new Promise((resolve) => {
        room = resolve;
      });
    },
    finish() {
      over = true;
      wake?.();
    },
    async *pieces() {
      for (;;) {
        const bytes = waiting.shift();
        if (bytes !== undefined) {
          held -= bytes.byteLength;
          if (held < defaults.streamHeldBytes) room?.();
          yield bytes;
        } else if (over) return;
        else
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
      }
    },
  };
}
