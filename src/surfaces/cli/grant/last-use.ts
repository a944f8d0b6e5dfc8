import type { KeyObject } from "node:crypto";
import type { AuditEvent } from "../../../audit/event.ts";
import { openReader } from "../../../audit/read/reader.ts";
import type { Grant } from "../../../conventions/grant/grant.ts";

/** When each grant last let a call pass, as far as the log tells; null for one that never did. */
export function readLastUses(
  log: string,
  readingKey: KeyObject,
  grants: readonly Grant[],
): ReadonlyMap<string, string> {
  const last = new Map<string, string>();
  const known = new Set(grants.map(({ name }) => `grant:${name}`));
  readEvents(log, readingKey, (event) => {
    if (event.event_type === "intent_accepted" && known.has(event.authorization))
      last.set(event.authorization.slice("grant:".length), event.occurred_at);
  });
  return last;
}

export function readEvents(log: string, readingKey: KeyObject, each: (event: AuditEvent) => void): void {
  const reader = openReader(log, readingKey);
  try {
    for (let items = reader.next(); items !== undefined; items = reader.next())
      for (const item of items) if (item.kind === "record") each(item.event);
  } finally {
    reader.close();
  }
}
