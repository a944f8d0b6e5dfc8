import { parentPort, workerData } from "node:worker_threads";
import { Denied } from "../../kernel/failure.ts";
import { openCast, openTrace, type Reading } from "../../surfaces/cli/audit/show.ts";
import { eventWords, traceLines } from "../../surfaces/cli/audit/trace-lines.ts";
import { followLastUses, type LastUses } from "../../surfaces/cli/grant/last-use.ts";
import type { Asks, CallAnswer, Question, ReadingStart, Reply } from "./asks.ts";
import type { LogPlace } from "./journal.ts";
import { createJournals } from "./journals.ts";
import { placesOf } from "./steps.ts";

const { readingKey } = workerData as ReadingStart;
const journals = createJournals(readingKey);
let uses: (() => LastUses) | null = null;

type Answer<Name extends keyof Asks> = (of: Asks[Name]["of"], logs: readonly LogPlace[]) => Asks[Name]["answer"];

const answers: { readonly [Name in keyof Asks]: Answer<Name> } = {
  activity: (wanted, logs) => journals.list(wanted, logs),
  charts: (_, logs) => journals.charts(logs),
  call: ({ id, gateway, signers }, logs) => showCall(id, folderOf(logs, gateway), { readingKey, signers }),
  recording: (attemptId, logs) => openCast(attemptId, folderOf(logs, null), readingKey),
  uses(_, logs) {
    uses ??= followLastUses(folderOf(logs, null), readingKey);
    return uses();
  },
};

function folderOf(logs: readonly LogPlace[], gateway: string | null): string {
  const found = logs.find((one) => one.gateway === gateway);
  if (found !== undefined) return found.folder;
  throw new Denied("not_found", "There is no log of this gateway here.");
}

function showCall(id: string, log: string, reading: Reading): CallAnswer {
  const { record, events, recorded } = openTrace(id, log, reading);
  const told = record.events.map((event) => ({
    ...{ id: event.event_id, at: event.occurred_at, words: eventWords(event) },
  }));
  return { record, lines: traceLines(record), told, places: placesOf(events), recordings: recorded };
}

parentPort?.on("message", ({ number, name, of, logs }: Question) => {
  parentPort?.postMessage({ number, ...attempt(() => answers[name](of as never, logs)) } satisfies Reply);
});

function attempt(work: () => unknown) {
  try {
    return { answer: work() };
  } catch (error) {
    if (error instanceof Denied) return { denied: { code: error.code, message: error.message } };
    return { fault: error instanceof Error ? error.message : String(error) };
  }
}
