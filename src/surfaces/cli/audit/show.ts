import type { KeyObject } from "node:crypto";
import type { EventOf } from "../../../audit/event.ts";
import { startActivity } from "../../../audit/journals/activity.ts";
import type { ActivityEntry } from "../../../audit/journals/activity-entry.ts";
import { openReader } from "../../../audit/read/reader.ts";
import { readRecordingFile } from "../../../audit/recordings/recording-files.ts";
import { openRecording } from "../../../audit/recordings/sealed-recording.ts";
import { readRecording, writeAsciicast } from "../../../conventions/ssh/recording.ts";
import { digestBytes } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { activityLine } from "./lines.ts";

export interface ShowOptions {
  readonly log: string;
  readonly recording: boolean;
  readonly json: boolean;
}

/** Base64 and JSON around each chunk, and the wraps of every recipient. */
const FILE_BYTES_MAX = defaults.sshRecordingBytes * 64 + 65_536;

/** `gw activity show ATTEMPT`: all that the journal has about one attempt, or what its operation wrote. */
export function runActivityShow(attemptId: string, options: ShowOptions, readingKey: KeyObject, io: CliIo): Exit {
  const { entries, finished } = readAttempt(options.log, attemptId, readingKey);
  if (entries.length === 0) throw new Denied("not_found", "The log has no attempt of this name: gw activity --json.");
  if (options.recording) {
    for (const line of castOf(attemptId, options.log, finished, readingKey)) io.out(line);
    return exits.done;
  }
  if (options.json) io.out(JSON.stringify(entries, null, 2));
  else for (const entry of entries) io.out(activityLine(entry));
  return exits.done;
}

function readAttempt(log: string, attemptId: string, readingKey: KeyObject) {
  const reader = openReader(log, readingKey);
  const fold = startActivity();
  const entries: ActivityEntry[] = [];
  const keep = (some: readonly ActivityEntry[]): void => {
    for (const entry of some) if ("attempt_id" in entry && entry.attempt_id === attemptId) entries.push(entry);
  };
  let finished: EventOf<"action_finished"> | null = null;
  try {
    for (let items = reader.next(); items !== undefined; items = reader.next()) {
      for (const item of items) {
        keep(fold.add(item));
        if (item.kind !== "record" || item.event.event_type !== "action_finished") continue;
        if (item.event.attempt_id === attemptId) finished = item.event;
      }
    }
    keep(fold.rest());
  } finally {
    reader.close();
  }
  return { entries, finished };
}

/** The log says what was recorded; a file that says otherwise is not shown. */
function castOf(
  attemptId: string,
  log: string,
  finished: EventOf<"action_finished"> | null,
  readingKey: KeyObject,
): readonly string[] {
  const digest = finished?.recording_digest;
  if (finished === null || digest == null) {
    const why = digest === null ? "it was wanted and could not be kept" : "its definition does not ask for one";
    throw new Denied("not_found", `There is no recording of this attempt: ${why}.`);
  }
  const sealed = readRecordingFile(log, attemptId, FILE_BYTES_MAX);
  if (sealed === undefined)
    throw new Denied("log_damaged", "The log says that there is a recording, and its file is gone.");
  const bytes = openRecording(attemptId, sealed, readingKey);
  if (bytes === undefined)
    throw new Denied("log_unreadable", "This key does not open the recording, or the file was changed.");
  const recording = digestBytes(bytes) === digest ? readRecording(bytes) : undefined;
  if (recording === undefined || recording.requestId !== attemptId)
    throw new Denied("log_damaged", "The recording is not the one that the log names.");
  const startedAtMs = Date.parse(finished.occurred_at) - (finished.elapsed_ms ?? 0);
  return writeAsciicast(recording, startedAtMs).trimEnd().split("\n");
}
