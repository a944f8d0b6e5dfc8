import type { NewEvent } from "../../audit/event.ts";

/** What the log adds to an event: its place, its envelope and its share of frame and seal. */
const EVENT_BYTES = 384;

/** What these events take on the disk, as near as it matters. */
export function bytesOf(events: readonly NewEvent[]): number {
  return events.reduce((sum, event) => sum + EVENT_BYTES + Buffer.byteLength(JSON.stringify(event)), 0);
}

/** Who pays for what is written before a person said yes. */
export function payerOf(uid: number): string {
  return `uid ${uid}`;
}
