import { startActivity } from "../src/audit/journals/activity.ts";
import { startSessions } from "../src/audit/journals/sessions.ts";
import { openReader } from "../src/audit/read/reader.ts";
import { readingKey } from "./log-events.ts";

/** In a process of its own, so that its peak memory is the reader's: decrypts a log and folds both journals. */
const folder = process.argv[2] ?? "";
const started = performance.now();
const reader = openReader(folder, readingKey);
const activity = startActivity();
const sessions = startSessions();
let events = 0;
let lines = 0;
for (let items = reader.next(); items !== undefined; items = reader.next()) {
  for (const item of items) {
    if (item.kind === "record") events++;
    lines += activity.add(item).length + sessions.add(item).length;
  }
}
lines += activity.rest().length + sessions.rest().length;
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ events, lines, seconds, peakBytes: process.resourceUsage().maxRSS * 1024 }));
