import type { Journal } from "../event.ts";
import type { LogItem } from "../read/reader.ts";

/** A place where a journal is not whole for this reader. It is shown, never passed over. */
export interface GapEntry {
  readonly kind: "gap";
  readonly frame: number;
  readonly detail: string;
}

/** Watches that the sequence of a journal runs on. It starts anew with each process that opened the log. */
export function watchSequence(journal: Journal): (item: LogItem) => GapEntry | undefined {
  let last: number | null = null;
  return (item) => {
    switch (item.kind) {
      case "opened":
        if (item.reason !== "rotate") last = 0;
        return undefined;
      case "unreadable":
        last = null;
        return { kind: "gap", frame: item.frame, detail: item.detail };
      case "newer":
        return { kind: "gap", frame: item.frame, detail: "an event of a newer version" };
      case "record": {
        if (item.journal !== journal) return undefined;
        const expected: number | null = last === null ? null : last + 1;
        last = item.event.sequence;
        if (expected === null || item.event.sequence === expected) return undefined;
        return { kind: "gap", frame: item.frame, detail: `sequence ${item.event.sequence} follows ${expected - 1}` };
      }
    }
  };
}
