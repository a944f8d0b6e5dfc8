/** What the log adds to an event: its place, its envelope and its share of frame and seal. */
const EVENT_BYTES = 384;

/** What these take on the disk, as near as it matters: events, or what goes within one. */
export function bytesOf(events: readonly object[]): number {
  return events.reduce((sum, event) => sum + EVENT_BYTES + Buffer.byteLength(JSON.stringify(event)), 0);
}

/** Who pays for what is written before a person said yes. */
export function payerOf(uid: number): string {
  return `uid ${uid}`;
}
