import type { KeyObject } from "node:crypto";
import type { SshRecorder } from "../../adapters/transport/ssh/options.ts";
import { writeRecordingFile } from "../../audit/recordings/recording-files.ts";
import { sealRecording } from "../../audit/recordings/sealed-recording.ts";
import { writeRecording } from "../../conventions/ssh/recording.ts";
import { digestBytes } from "../../kernel/canonical-json.ts";
import type { Random } from "../../kernel/clock.ts";
import type { Facts } from "./facts.ts";

/** Keeps what an operation wrote beside the log, for whoever may read the log now. In clear it never touches a disk. */
export function createRecorder(
  logFolder: string,
  recipients: () => readonly KeyObject[],
  random: Random,
  facts: Facts,
): SshRecorder {
  return {
    async seal(recording) {
      try {
        const bytes = writeRecording(recording);
        const sealed = sealRecording(recording.requestId, bytes, recipients(), random);
        writeRecordingFile(logFolder, recording.requestId, sealed);
        return digestBytes(bytes);
      } catch (error) {
        const why = error instanceof Error ? error.message : String(error);
        const message = `the recording of ${recording.requestId} could not be kept: ${why}`;
        facts.tell("error", "recording_not_kept", { message });
        throw error;
      }
    },
  };
}
