import type { KeyObject } from "node:crypto";
import type { AuditEvent } from "../../../audit/event.ts";
import { type LogReader, openReader } from "../../../audit/read/reader.ts";

/** When each grant last let a call pass, by its name, as far as the log tells. */
export type LastUses = ReadonlyMap<string, string>;

/** Reads the whole log at first, and then what was written since. */
export function followLastUses(log: string, readingKey: KeyObject): () => LastUses {
  const reader = openReader(log, readingKey);
  const last = new Map<string, string>();
  return () => {
    readOn(reader, (event) => {
      if (event.event_type === "intent_accepted" && event.authorization.startsWith(GRANT))
        last.set(event.authorization.slice(GRANT.length), event.occurred_at);
    });
    return last;
  };
}

const GRANT = "grant:";

export function readEvents(log: string, readingKey: KeyObject, each: (event: AuditEvent) => void): void {
  const reader = openReader(log, readingKey);
  try {
    readOn(reader, each);
  } finally {
    reader.close();
  }
}

function readOn(reader: LogReader, each: (event: AuditEvent) => void): void {
  for (let items = reader.next(); items !== undefined; items = reader.next())
    for (const item of items) if (item.kind === "record") each(item.event);
}
