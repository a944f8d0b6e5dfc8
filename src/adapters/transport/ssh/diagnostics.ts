import type { Readable } from "node:stream";
import { tameDiagnostics } from "../../../conventions/ssh/evidence.ts";

const BYTES_MAX = 4_096;

/** Keeps the end of what the client writes about the connection, and gives it back as one tame line. */
export function keepDiagnostics(stream: Readable): () => string {
  let kept: Buffer = Buffer.alloc(0);
  stream.on("data", (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk.subarray(-BYTES_MAX)]).subarray(-BYTES_MAX);
  });
  return () => tameDiagnostics(kept);
}
