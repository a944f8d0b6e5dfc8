import type { AuditEvent } from "../event.ts";
import type { LogItem } from "../read/reader.ts";
import { type Contents, gatherContents } from "./contents.ts";

/** All that the log has about one call, operation, question or event, in order, with the texts that its events name. */
export interface Trace {
  readonly events: readonly AuditEvent[];
  readonly contents: Contents;
}

/** Reads the whole log once; asked for several times, because what belongs to a thing is known only from what was read. */
export type ReadAll = (each: (item: LogItem) => void) => void;

/** A thing names others: its call, its attempts, its operation. More rounds than a call has such steps find nothing new. */
const ROUNDS = 5;

export function traceOf(readAll: ReadAll, id: string): Trace {
  const own = new Set([id]);
  const approvals = new Set(id.startsWith("apr_") ? [id] : []);
  const digests = new Set<string>();
  for (let round = 0, before = 0; round < ROUNDS && before < own.size + approvals.size; round++) {
    before = own.size + approvals.size;
    readAll((item) => {
      if (item.kind !== "record" || !belongs(item.event, own, approvals)) return;
      learn(item.event, own, approvals, digests);
    });
  }
  const contents = gatherContents((digest) => digests.has(digest));
  const events: AuditEvent[] = [];
  readAll((item) => {
    if (item.kind !== "record") return;
    if (item.event.event_type === "content_kept") contents.add(item.event);
    else if (belongs(item.event, own, approvals)) events.push(item.event);
  });
  return { events, contents };
}

type Members = Readonly<Record<string, unknown>>;

/** Under which names an event is found. A session's approval stands behind many calls, so that it finds its card alone. */
function belongs(event: AuditEvent, own: ReadonlySet<string>, approvals: ReadonlySet<string>): boolean {
  const members = event as unknown as Members;
  for (const name of OWN) if (own.has(String(members[name]))) return true;
  const approval = String(members["approval_id"]);
  return event.event_type.startsWith("approval_") ? approvals.has(approval) : own.has(approval);
}

const OWN = ["event_id", "call_id", "attempt_id", "operation_id", "correlation_id"] as const;
const LEADS = ["call_id", "attempt_id", "operation_id"] as const;
const DIGESTS = ["card_digest", "statement_digest", "assertion_digest", "kept_digest", "fields_digest"] as const;

function learn(event: AuditEvent, own: Set<string>, approvals: Set<string>, digests: Set<string>): void {
  const members = event as unknown as Members;
  // The card of a session is shown with each of its calls; the card itself does not lead to the first of them.
  const leads = !event.event_type.startsWith("approval_") || own.has(event.event_id);
  if (leads) for (const name of LEADS) if (typeof members[name] === "string") own.add(members[name]);
  if (typeof members["approval_id"] === "string") approvals.add(members["approval_id"]);
  for (const name of DIGESTS) if (typeof members[name] === "string") digests.add(members[name]);
}
