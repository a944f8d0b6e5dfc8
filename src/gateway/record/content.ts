import type { NewEvent } from "../../audit/event.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Envelope } from "./record.ts";

export type ContentKind = Extract<NewEvent, { readonly event_type: "content_kept" }>["what"];

/**
 * A text that was approved or sent, as the log keeps it: whole, by its digest, in parts that fit a record whatever has to
 * be escaped in them. They stand before the event that names the digest.
 */
export function contentEvents(
  envelope: Envelope,
  what: ContentKind,
  text: string,
  digest: string = digestText(text),
): NewEvent[] {
  const size = defaults.logContentUnits;
  // Nearly all fit one.
  if (text.length <= size) return [{ ...envelope("content_kept"), what, digest, part: 0, parts: 1, text }];
  const parts = Math.ceil(text.length / size);
  return Array.from({ length: parts }, (_, part) => ({
    ...envelope("content_kept"),
    ...{ what, digest, part, parts, text: text.slice(part * size, (part + 1) * size) },
  }));
}

/** So many parts fit a frame at their longest, with the events they belong to. */
const PARTS_TOGETHER = 4;

/** Long contents in appends of their own, then the rest with what they belong to. */
export function splitContents(events: readonly NewEvent[]): {
  readonly ahead: readonly (readonly NewEvent[])[];
  readonly together: readonly NewEvent[];
} {
  if (events.length <= PARTS_TOGETHER) return { ahead: [], together: events };
  const contents = events.filter(({ event_type }) => event_type === "content_kept");
  if (contents.length <= PARTS_TOGETHER) return { ahead: [], together: events };
  const ahead: NewEvent[][] = [];
  for (let at = 0; at < contents.length; at += PARTS_TOGETHER) ahead.push(contents.slice(at, at + PARTS_TOGETHER));
  return { ahead, together: events.filter(({ event_type }) => event_type !== "content_kept") };
}
