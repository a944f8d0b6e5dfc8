import type { NewEvent } from "../../audit/event.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { StateRow } from "../ports.ts";
import type { RecordStep } from "../steps.ts";
import type { Ledger } from "./ledger.ts";

/**
 * For what has happened already and cannot be refused any more: where the log is full it waits until there is room. The
 * rows are taken anew with every try, as a picture from before the wait would undo what was kept during it.
 */
export async function recordOnceRoom(
  { record, sleep }: { readonly record: Ledger["record"]; readonly sleep: Sleep },
  step: RecordStep,
  events: readonly NewEvent[],
  rows: () => readonly StateRow[] = () => [],
): Promise<void> {
  for (;;) {
    try {
      return await record(step, events, rows());
    } catch (error) {
      if (!(error instanceof Denied && error.code === "log_backlogged")) throw error;
    }
    await sleep.sleep(defaults.logRoomLookMs);
  }
}
