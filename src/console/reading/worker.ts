import { parentPort, workerData } from "node:worker_threads";
import { Denied } from "../../kernel/failure.ts";
import { openCast, openTrace, type Reading } from "../../surfaces/cli/audit/show.ts";
import { eventWords, traceLines } from "../../surfaces/cli/audit/trace-lines.ts";
import { followLastUses } from "../../surfaces/cli/grant/last-use.ts";
import type { Asks, CallAnswer, Question, ReadingStart, Reply } from "./asks.ts";
import { createJournal } from "./journal.ts";
import { placesOf } from "./steps.ts";

const { log, readingKey } = workerData as ReadingStart;
const journal = createJournal(log, readingKey);
const uses = followLastUses(log, readingKey);

const answers: { readonly [Name in keyof Asks]: (of: Asks[Name]["of"]) => Asks[Name]["answer"] } = {
  activity: (wanted) => journal.list(wanted),
  charts: () => journal.charts(),
  call: ({ id, signers }) => showCall(id, { readingKey, signers }),
  recording: (attemptId) => openCast(attemptId, log, readingKey),
  uses,
};

function showCall(id: string, reading: Reading): CallAnswer {
  const { record, events, recorded } = openTrace(id, log, reading);
  const told = record.events.map((event) => ({
    ...{ id: event.event_id, at: event.occurred_at, words: eventWords(event) },
  }));
  return { record, lines: traceLines(record), told, places: placesOf(events), recordings: recorded };
}

parentPort?.on("message", ({ number, name, of }: Question) => {
  parentPort?.postMessage({ number, ...attempt(() => answers[name](of as never)) } satisfies Reply);
});

function attempt(work: () => unknown) {
  try {
    return { answer: work() };
  } catch (error) {
    if (error instanceof Denied) return { denied: { code: error.code, message: error.message } };
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}
