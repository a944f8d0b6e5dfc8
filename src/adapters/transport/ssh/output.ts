import type { OutputFrame } from "../../../conventions/ssh/frames.ts";
import type { RecordedChunk, SshRecording } from "../../../conventions/ssh/recording.ts";

/** Keeps what an operation wrote, up to its bounds; what is beyond them is counted as cut and forgotten. */
export interface OutputKeeper {
  take(frame: OutputFrame): void;
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly truncated: boolean;
  recording(requestId: string): SshRecording;
}

export interface OutputBounds {
  readonly bodyBytes: number;
  /** 0 records nothing. */
  readonly recordingBytes: number;
}

export function createOutputKeeper(bounds: OutputBounds, elapsedMs: () => number): OutputKeeper {
  const kept = { stdout: createBin(bounds.bodyBytes), stderr: createBin(bounds.bodyBytes) };
  const chunks: RecordedChunk[] = [];
  let recordable = bounds.recordingBytes;
  let capped = false;
  return {
    take({ stream, data }) {
      kept[stream].add(data);
      const part = data.subarray(0, recordable);
      recordable -= part.length;
      capped ||= part.length < data.length;
      if (part.length > 0) chunks.push({ afterMs: Math.round(elapsedMs()), stream, data: part });
    },
    get stdout() {
      return kept.stdout.bytes();
    },
    get stderr() {
      return kept.stderr.bytes();
    },
    get truncated() {
      return kept.stdout.cut() || kept.stderr.cut();
    },
    recording: (requestId) => ({ requestId, chunks, capped }),
  };
}

function createBin(limit: number) {
  const parts: Buffer[] = [];
  let left = limit;
  let cut = false;
  return {
    add(data: Buffer): void {
      const part = data.subarray(0, left);
      left -= part.length;
      cut ||= part.length < data.length;
      if (part.length > 0) parts.push(part);
    },
    bytes: (): Buffer => Buffer.concat(parts),
    cut: (): boolean => cut,
  };
}
