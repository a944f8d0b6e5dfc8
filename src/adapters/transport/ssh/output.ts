import type { OutputFrame } from "../../../conventions/ssh/frames.ts";
import { OUTPUT_BYTES_MAX } from "../../../conventions/ssh/manifest.ts";
import type { RecordedChunk, SshRecording } from "../../../conventions/ssh/recording.ts";

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
  const chunks: RecordedChunk[] = [];
  const most = Math.min(2 * bounds.bodyBytes, OUTPUT_BYTES_MAX);
  let left = most;
  let recordable = bounds.recordingBytes;
  let capped = false;
  let cut = false;
  return {
    take({ stream, data }) {
      const kept = bin[stream].add(data.subarray(0, left));
      left -= kept;
      cut ||= kept < data.length;
      const part = data.subarray(0, recordable);
      recordable -= part.length;
      capped ||= part.length < data.length;
      if (part.length > 0) chunks.push({ afterMs: Math.round(elapsedMs()), stream, data: part });
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
    recording: (requestId) => ({ requestId, chunks, capped }),
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
