import type { NewEvent } from "../../audit/event.ts";
import {
  createEarlyCallbacks,
  createSeenEvents,
  type EarlyCallbacks,
  type SeenEvent,
  type SeenEvents,
} from "../../conventions/callback/remember.ts";
import type { Digest } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Operation } from "../operation/operations.ts";
import type { StateRow, StateStore } from "../ports.ts";
import type { Envelope } from "../record/record.ts";

/** What the gateway remembers of callbacks: the last events of each pack, durably, and for a while those that came early. */
export interface CallbackMemory {
  seenOf(pack: string): SeenEvents;
  row(pack: string, event: SeenEvent): StateRow;
  keepEarly(pack: string, jobId: string, nowMs: number): void;
  /** Whether a callback about this operation's job came before anybody knew the job's name. */
  takeEarly(operation: Operation, nowMs: number): boolean;
  /** Reads again what an earlier process remembered; returns what must be told about rows that were changed. */
  load(store: StateStore, envelope: Envelope): readonly NewEvent[];
  clear(): void;
}

const STATE = "callback";

export function createCallbackMemory(): CallbackMemory {
  const seen = new Map<string, SeenEvents>();
  const early = new Map<string, EarlyCallbacks>();

  function seenOf(pack: string): SeenEvents {
    const known = seen.get(pack) ?? createSeenEvents(defaults.callbackEventsRemembered);
    seen.set(pack, known);
    return known;
  }

  return {
    seenOf,
    row: (pack, { serial, key }) => ({
      table: "notes",
      // A slot is written over by a later event, so that the rows of a pack stay as many as are remembered.
      id: `${STATE} ${pack} ${serial % defaults.callbackEventsRemembered}`,
      runId: "",
      state: STATE,
      body: { pack, serial, key },
    }),
    keepEarly(pack, jobId, nowMs) {
      const known = early.get(pack) ?? createEarlyCallbacks(defaults.callbacksEarly, defaults.callbackEarlyMs);
      early.set(pack, known);
      known.add(jobId, nowMs);
    },
    takeEarly({ action, remoteJobId }, nowMs) {
      if (remoteJobId === null || early.size === 0) return false;
      return early.get(packOf(action))?.take(remoteJobId, nowMs) ?? false;
    },
    load(store, envelope) {
      const events: NewEvent[] = [];
      for (const row of store.load("notes", STATE)) {
        if ("tampered" in row) events.push({ ...envelope("state_tampered"), table: "notes", row: row.tampered });
        else
          seenOf(String(row.body["pack"])).load({ serial: Number(row.body["serial"]), key: row.body["key"] as Digest });
      }
      return events;
    },
    clear() {
      seen.clear();
      early.clear();
    },
  };
}

/** The pack of an action's qualified name: a pack's own name has no dot. */
export function packOf(action: string): string {
  return action.slice(0, action.indexOf("."));
}
