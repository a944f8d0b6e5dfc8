import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { type Clock, createLatestWall } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Facts } from "./facts.ts";

/** How far the log's newest file lies ahead of the wall clock: more than nothing means that the clock was set back. */
export function millisecondsAhead(auditFolder: string, clock: Pick<Clock, "wallMs">): number {
  try {
    const times = readdirSync(auditFolder).map((name) => statSync(join(auditFolder, name)).mtimeMs);
    return Math.max(0, ...times.map((time) => time - clock.wallMs()));
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return 0;
    throw error;
  }
}

/** Looks at the clock now and then, and tells each time that it was set back while the gateway runs. */
export function watchClock(facts: Facts, clock: Clock): void {
  let latest = createLatestWall(clock);
  setInterval(() => {
    const behindMs = latest() - clock.wallMs();
    if (behindMs < defaults.clockSetBackMs) return;
    tellClock(facts, behindMs);
    latest = createLatestWall(clock);
  }, defaults.clockLookMs).unref();
}

/** Nothing is refused for it: what waits or expires is counted from the machine's start. But dates will look wrong. */
export function tellClock(facts: Facts, aheadMs: number): void {
  if (aheadMs < defaults.clockSetBackMs) return;
  const seconds = Math.round(aheadMs / 1_000);
  const message =
    `the log has records from ${seconds} s in the future of this machine's clock: it was set back. Nothing is lost and the ` +
    "order of records stands, but new ones carry earlier dates (gw audit verify notes it). Set the clock right.";
  facts.tell("warning", "clock_set_back", { seconds, message });
}
