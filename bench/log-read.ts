import { startActivity } from "../src/audit/journals/activity.ts";
import { startSessions } from "../src/audit/journals/sessions.ts";
import { openReader } from "../src/audit/read/reader.ts";
import { readJournal } from "../src/surfaces/cli/audit/journals.ts";
import { readingKey } from "./log-events.ts";

/**
 * In a process of its own, so that its peak memory is the reader's: prints the newest rows as `gw activity` does, then
 * decrypts all of the log and folds both journals.
 */
const folder = process.argv[2] ?? "";
const refuse = (): Promise<never> => Promise.reject(new Error("nobody is asked"));
const io = { isTty: false, color: false, askSecret: refuse, ask: refuse, readSecret: refuse };
let rows = 0;
const asked = performance.now();
const ports = { wallMs: Date.now, sleep: refuse };
await readJournal("activity", { log: folder }, { ...io, out: () => rows++, err: () => undefined }, ports)(readingKey);
const newestSeconds = (performance.now() - asked) / 1000;
if (rows === 0) throw new Error("the newest rows of the bench log are missing");
const cpu = process.cpuUsage();
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
const { user, system } = process.cpuUsage(cpu);
const peakBytes = process.resourceUsage().maxRSS * 1024;
console.log(JSON.stringify({ events, lines, cpuSeconds: (user + system) / 1e6, newestSeconds, peakBytes }));
