import type { OutputFrame } from "../../../conventions/ssh/frames.ts";
import { OUTPUT_BYTES_MAX } from "../../../conventions/ssh/manifest.ts";
import {
  dataWithin,
  HEAD_BYTES,
  PIECE_BYTES,
  type RecordedChunk,
  type SshRecording,
  writtenBytes,
} from "../../../conventions/ssh/recording.ts";

/** Keeps what an operation wrote, up to its bounds; what is beyond them is counted as cut and forgotten. */
export interface OutputKeeper {
  take(frame: OutputFrame): void;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly truncated: boolean;
  readonly heldBytes: number;
  /** All that it may come to hold. */
  readonly mostBytes: number;
  /** There is no room: what follows is cut, and the recording goes on. */
  close(): void;
  recording(requestId: string): SshRecording;
}

export interface OutputBounds {
  readonly bodyBytes: number;
  /** 0 records nothing. */
  readonly recordingBytes: number;
}

export function createOutputKeeper(bounds: OutputBounds, elapsedMs: () => number): OutputKeeper {
  const bin = { stdout: createBin(bounds.bodyBytes), stderr: createBin(bounds.bodyBytes) };
  const tape = createTape(bounds.recordingBytes);
  const most = Math.min(2 * bounds.bodyBytes, OUTPUT_BYTES_MAX);
  let left = most;
  let cut = false;
  return {
    take({ stream, data }) {
      const kept = bin[stream].add(data.subarray(0, left));
      left -= kept;
      cut ||= kept < data.length;
      tape.add(stream, data, Math.round(elapsedMs()));
    },
    get stdout() {
      return bin.stdout.bytes();
    },
    get stderr() {
      return bin.stderr.bytes();
    },
    get truncated() {
      return cut;
    },
    get heldBytes() {
      return bin.stdout.bytes().length + bin.stderr.bytes().length;
    },
    mostBytes: most + bounds.recordingBytes,
    close() {
      left = 0;
    },
    recording: (requestId) => ({ requestId, ...tape.played() }),
  };
}

/** What comes within this time is one piece: nobody sees it apart. */
const PIECE_MS = 10;

/**
 * What was written and when, up to so many bytes of the recording as it is kept. A host that writes byte by byte, on both streams in
 * turns, fills it with what a piece takes beside its data.
 */
function createTape(limit: number) {
  const bin = createBin(dataWithin(limit));
  const pieces: { readonly stream: OutputFrame["stream"]; readonly afterMs: number; bytes: number }[] = [];
  let left = limit - HEAD_BYTES;
  let capped = false;
  return {
    add(stream: OutputFrame["stream"], data: Buffer, afterMs: number): void {
      const last = pieces.at(-1);
      const joins = last?.stream === stream && afterMs - last.afterMs < PIECE_MS ? last : null;
      const before = joins?.bytes ?? 0;
      const beside = joins === null ? PIECE_BYTES : 0;
      const room = dataWithin(left - beside + writtenBytes(before)) - before;
      const bytes = capped ? 0 : bin.add(data.subarray(0, Math.max(0, room)));
      capped ||= bytes < data.length;
      if (bytes === 0) return;
      left -= beside + writtenBytes(before + bytes) - writtenBytes(before);
      if (joins === null) pieces.push({ stream, afterMs, bytes });
      else joins.bytes += bytes;
    },
    played(): Pick<SshRecording, "chunks" | "capped"> {
      const all = bin.bytes();
      let at = 0;
      const chunks = pieces.map(({ stream, afterMs, bytes }): RecordedChunk => {
        at += bytes;
        return { afterMs, stream, data: all.subarray(at - bytes, at) };
      });
      return { chunks, capped };
    },
  };
}

const EMPTY = Buffer.alloc(0);

/** Grows by doubling: kept as they come, pieces of a byte each would be many objects. */
function createBin(limit: number) {
  let room: Buffer = EMPTY;
  let size = 0;
  return {
    /** How much of it there was room for. */
    add(data: Buffer): number {
      const part = data.subarray(0, limit - size);
      const needed = size + part.length;
      if (needed > room.length) {
        const grown = Buffer.allocUnsafeSlow(Math.min(limit, Math.max(needed, 2 * room.length)));
        room.copy(grown, 0, 0, size);
        room = grown;
      }
      part.copy(room, size);
      size = needed;
      return part.length;
    },
    bytes: (): Buffer => room.subarray(0, size),
  };
}
