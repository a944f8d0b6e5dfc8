import type { Readable } from "node:stream";

export type Input =
  | { readonly kind: "whole"; readonly bytes: Buffer }
  | { readonly kind: "too_large" }
  | { readonly kind: "late" };

/** Reads to the end of the stream, within a bound and a time. Half a request is not a request. */
export function readInput(stream: Readable, limitBytes: number, limitMs: number): Promise<Input> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let length = 0;
    const done = (input: Input): void => {
      clearTimeout(timer);
      stream.removeAllListeners("data");
      stream.pause();
      resolve(input);
    };
    const timer = setTimeout(() => done({ kind: "late" }), limitMs);
    stream.on("data", (part: Buffer) => {
      length += part.length;
      if (length > limitBytes) done({ kind: "too_large" });
      else parts.push(part);
    });
    stream.on("end", () => done({ kind: "whole", bytes: Buffer.concat(parts) }));
    stream.on("error", () => done({ kind: "late" }));
  });
}
