import { redactRecord } from "./codec.ts";
import type { FieldClass } from "./event/field.ts";
import type { LogItem } from "./read/reader.ts";

/** What an export shows beside the gateway's own facts and what others claimed. Secret fields cannot be asked for. */
export interface ExportOptions {
  readonly people: boolean;
}

/** One line of JSON a record, by the classes of its fields; what could not be read is a line too. */
export function exportLine(item: LogItem, { people }: ExportOptions): string | undefined {
  const reveal: ReadonlySet<FieldClass> = new Set(people ? ["open", "claim", "person"] : ["open", "claim"]);
  switch (item.kind) {
    case "record":
    case "newer":
      return JSON.stringify({
        segment: item.segment,
        frame: item.frame,
        index: item.index,
        event: redactRecord(item.event, reveal),
      });
    case "unreadable":
      return JSON.stringify({ segment: item.segment, frame: item.frame, unreadable: item.detail });
    case "opened":
      return undefined;
  }
}
