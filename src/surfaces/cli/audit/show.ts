import type { KeyObject } from "node:crypto";
import type { EventOf } from "../../../audit/event.ts";
import { type Trace, traceOf } from "../../../audit/journals/trace.ts";
import { type LogItem, openReader } from "../../../audit/read/reader.ts";
import { readRecordingFile } from "../../../audit/recordings/recording-files.ts";
import { openRecording } from "../../../audit/recordings/sealed-recording.ts";
import { readRecording, writeAsciicast } from "../../../conventions/ssh/recording.ts";
import { digestBytes } from "../../../kernel/canonical-json.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readId } from "../../../kernel/ids.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { hangOf, sayProse } from "../say-prose.ts";
import type { Signers } from "./check-hand.ts";
import { traceLines } from "./trace-lines.ts";
import { type DecisionRecord, recordTrace, type TraceRecord } from "./trace-record.ts";

export interface ShowOptions {
  readonly log: string;
  /** The home's own log: recordings stay beside it when a part of it is archived. */
  readonly own: string;
  readonly recording: boolean;
  readonly json: boolean;
}

/** Base64 and JSON around each chunk, and the wraps of every recipient. */
const FILE_BYTES_MAX = defaults.sshRecordingBytes * 64 + 65_536;

/** `gw activity show ID`: card, decision, request and outcome of one thing, or what its operation wrote. */
export function runActivityShow(id: string, options: ShowOptions, reading: Reading, io: CliIo): Exit {
  if (options.recording) {
    for (const line of openCast(id, options.log, reading.readingKey, options.own)) io.out(line);
    return exits.done;
  }
  const { record } = openTrace(id, options.log, reading);
  if (options.json) io.out(JSON.stringify(record, null, 2));
  else for (const line of traceLines(record)) sayProse(io, line, hangOf(line));
  return isSound(record) ? exits.done : exits.denied;
}

/** One thing of the log, put together for whoever shows it, its events in the order of the log, and which attempts of it were recorded. */
export function openTrace(
  id: string,
  log: string,
  { readingKey, signers }: Reading,
): { readonly record: TraceRecord; readonly events: Trace["events"]; readonly recorded: readonly string[] } {
  const trace = findTrace(id, log, readingKey);
  const recorded = trace.events.flatMap((event) =>
    event.event_type === "action_finished" && event.recording_digest != null && event.attempt_id !== undefined
      ? [event.attempt_id]
      : [],
  );
  return { record: recordTrace(id, trace, signers), events: trace.events, recorded };
}

/** What an attempt wrote, as lines of an asciicast. The log says what was recorded; a file that says otherwise is not shown. */
export function openCast(attemptId: string, log: string, readingKey: KeyObject, own = log): readonly string[] {
  const finished = findTrace(attemptId, log, readingKey).events.find(
    (event): event is EventOf<"action_finished"> =>
      event.event_type === "action_finished" && event.attempt_id === attemptId,
  );
  return castOf(attemptId, [log, own], finished ?? null, readingKey);
}

function findTrace(id: string, log: string, readingKey: KeyObject): Trace {
  const trace = traceOf((each, wanted) => readAll(log, readingKey, each, wanted), id);
  if (trace.events.length > 0) return trace;
  throw unknownThing();
}

/** Whether the log could have a thing of this name, for whoever has not opened it yet. */
export function requireNameOfThing(id: string): void {
  if (!THINGS.some((kind) => readId(kind, id) !== undefined)) throw unknownThing();
}

const THINGS = ["call", "op", "apr", "evt"] as const;

function unknownThing(): Denied {
  return new Denied("not_found", "The log has no call, operation, question or event of this name: gw activity --json.");
}

/** What reading takes: the key that opens the log, and whose signatures count. */
export interface Reading {
  readonly readingKey: KeyObject;
  readonly signers: Signers;
}

/** Nothing in it contradicts itself: what was signed is what is shown. */
function isSound({ approvals, attempts }: TraceRecord): boolean {
  return (
    attempts.every(({ request_check }) => request_check !== "differs") &&
    approvals.every(
      ({ card_check, decision, given }) =>
        card_check !== "differs" && [...given, ...(decision === null ? [] : [decision])].every(isSoundDecision),
    )
  );
}

function isSoundDecision({ signature, passkey, same_card }: DecisionRecord): boolean {
  return signature !== "does_not_verify" && passkey !== "does_not_verify" && same_card !== false;
}

export function readAll(
  log: string,
  readingKey: KeyObject,
  each: (item: LogItem) => void,
  wanted?: (frame: number) => boolean,
): void {
  const reader = openReader(log, readingKey, undefined, wanted);
  try {
    for (let items = reader.next(); items !== undefined; items = reader.next()) for (const item of items) each(item);
  } finally {
    reader.close();
  }
}

function castOf(
  attemptId: string,
  folders: readonly string[],
  finished: EventOf<"action_finished"> | null,
  readingKey: KeyObject,
): readonly string[] {
  const digest = finished?.recording_digest;
  if (finished === null || digest == null) {
    const why = digest === null ? "it was wanted and could not be kept" : "its definition does not ask for one";
    throw new Denied("not_found", `There is no recording of this attempt: ${why}.`);
  }
  const sealed = folders
    .map((folder) => readRecordingFile(folder, attemptId, FILE_BYTES_MAX))
    .find((bytes) => bytes !== undefined);
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
