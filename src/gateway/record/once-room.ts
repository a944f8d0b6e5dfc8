import type { NewEvent } from "../../audit/event.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { StateRow } from "../ports.ts";
import type { RecordStep } from "../steps.ts";
import type { Ledger } from "./ledger.ts";

interface RoomPorts {
  readonly record: Ledger["record"];
  readonly sleep: Sleep;
}

type Told = readonly [step: RecordStep, events: readonly NewEvent[], rows?: () => readonly StateRow[]];

/**
 * For what has happened already and cannot be refused any more: where the log is full it waits until there is room. The
 * rows are taken behind that wait, as a picture from before it would undo what was kept during it.
 */
export async function recordOnceRoom({ record, sleep }: RoomPorts, ...[step, events, rows]: Told): Promise<void> {
  for (;;) {
    try {
      return await record(step, events, rows);
    } catch (error) {
      if (!isFull(error)) throw error;
    }
    await sleep.sleep(defaults.logRoomLookMs);
  }
}

/** The same for a room whose events are told in the order in which they came, also those that waited. */
export function createOnceRoom(ports: RoomPorts): (...told: Told) => Promise<void> {
  let waiting = 0;
  let last: Promise<void> = Promise.resolve();
  return async (...told) => {
    if (waiting === 0) {
      try {
        const [step, events, rows] = told;
        return await ports.record(step, events, rows);
      } catch (error) {
        if (!isFull(error)) throw error;
      }
    }
    waiting++;
    const mine = last.then(() => recordOnceRoom(ports, ...told));
    last = mine.catch(() => undefined);
    return mine.finally(() => waiting--);
  };
}

function isFull(error: unknown): boolean {
  return error instanceof Denied && error.code === "log_backlogged";
}
