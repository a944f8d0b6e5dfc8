import type { AuditEvent } from "../event.ts";
import type { LogItem } from "../read/reader.ts";
import { type Contents, gatherContents } from "./contents.ts";

/** All that the log has about one call, operation, question or event, in order, with the texts that its events name. */
export interface Trace {
  readonly events: readonly AuditEvent[];
  readonly contents: Contents;
}

/** Reads the log, or those frames of it alone that are wanted. */
export type ReadAll = (each: (item: LogItem) => void, wanted?: (frame: number) => boolean) => void;

/** What of an event tells to whom it belongs, kept of all events: what belongs to a thing is known only from what was read. */
interface Stub {
  readonly frame: number;
  readonly names: readonly string[];
  readonly leads: readonly string[];
  readonly approval: string | null;
  /** Of a question itself, and not of what it stands behind. */
  readonly asked: boolean;
  readonly eventId: string;
  readonly digests: readonly string[];
}

/** A thing names others: its call, its attempts, its operation. More rounds than a call has such steps find nothing new. */
const ROUNDS = 5;

/** Opens the log once, and then only the frames that hold something of it. */
export function traceOf(readAll: ReadAll, id: string): Trace {
  const stubs: Stub[] = [];
  const kept: { readonly digest: string; readonly frame: number }[] = [];
  readAll((item) => {
    if (item.kind !== "record") return;
    const { event, frame } = item;
    if (event.event_type === "content_kept") kept.push({ digest: event.digest, frame });
    else stubs.push(stubOf(event, frame));
  });
  const own = new Set([id]);
  const approvals = new Set(id.startsWith("apr_") ? [id] : []);
  const digests = new Set<string>();
  for (let round = 0, before = 0; round < ROUNDS && before < own.size + approvals.size; round++) {
    before = own.size + approvals.size;
    for (const stub of stubs) if (belongs(stub, own, approvals)) learn(stub, own, approvals, digests);
  }
  const frames = new Set([
    ...stubs.filter((stub) => belongs(stub, own, approvals)).map(({ frame }) => frame),
    ...kept.filter(({ digest }) => digests.has(digest)).map(({ frame }) => frame),
  ]);
  const contents = gatherContents((digest) => digests.has(digest));
  const events: AuditEvent[] = [];
  readAll(
    (item) => {
      if (item.kind !== "record") return;
      if (item.event.event_type === "content_kept") contents.add(item.event);
      else if (belongs(stubOf(item.event, item.frame), own, approvals)) events.push(item.event);
    },
    (frame) => frames.has(frame),
  );
  return { events, contents };
}

const OWN = ["event_id", "call_id", "attempt_id", "operation_id", "correlation_id"] as const;
const LEADS = ["call_id", "attempt_id", "operation_id"] as const;
const DIGESTS = ["card_digest", "statement_digest", "assertion_digest", "kept_digest", "fields_digest"] as const;

function stubOf(event: AuditEvent, frame: number): Stub {
  const members = event as unknown as Readonly<Record<string, unknown>>;
  const texts = (names: readonly string[]): readonly string[] =>
    names.map((name) => members[name]).filter((value) => typeof value === "string");
  const [approval = null] = texts(["approval_id"]);
  const asked = event.event_type.startsWith("approval_");
  return {
    frame,
    names: texts(OWN),
    leads: texts(LEADS),
    approval,
    asked,
    eventId: event.event_id,
    digests: texts(DIGESTS),
  };
}

/** Under which names an event is found. A session's approval stands behind many calls, so that it finds its card alone. */
function belongs({ names, approval, asked }: Stub, own: ReadonlySet<string>, approvals: ReadonlySet<string>): boolean {
  return names.some((name) => own.has(name)) || (approval !== null && (asked ? approvals : own).has(approval));
}

function learn(stub: Stub, own: Set<string>, approvals: Set<string>, digests: Set<string>): void {
  // The card of a session is shown with each of its calls; the card itself does not lead to the first of them.
  if (!stub.asked || own.has(stub.eventId)) for (const name of stub.leads) own.add(name);
  if (stub.approval !== null) approvals.add(stub.approval);
  for (const digest of stub.digests) digests.add(digest);
}
