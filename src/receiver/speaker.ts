import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { type Frame, writeFrame } from "../conventions/ssh/frames.ts";

/** Writes frames without ever waiting for the reader: a gateway that hangs or has gone must not hold an operation up. */
export interface Speaker {
  say(frame: Frame): void;
  /** Resolves when everything was taken, the reader is gone, or the time is over. */
  drain(limitMs: number): Promise<void>;
}

const STANDARD_OUTPUT = 1;

export function createSpeaker(stream: Writable): Speaker {
  let gone = false;
  stream.on("error", () => {
    gone = true;
  });
  return {
    say(frame) {
      if (!gone) stream.write(writeFrame(frame));
    },
    drain(limitMs) {
      return new Promise((resolve) => {
        if (gone || stream.writableLength === 0) return resolve();
        const timer = setTimeout(resolve, limitMs);
        const done = () => {
          clearTimeout(timer);
          resolve();
        };
        stream.once("drain", done);
        stream.once("error", done);
        stream.write("", done);
      });
    },
  };
}

/** Node's own standard output blocks on pipes; a socket over the same descriptor does not. */
export function openStandardOutput(): Writable {
  try {
    return new Socket({ fd: STANDARD_OUTPUT, readable: false, writable: true });
  } catch {
    return process.stdout;
  }
}
