import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import type { TransportObservation } from "../src/conventions/outcome/observation.ts";
import type { Sleep } from "../src/kernel/clock.ts";
import { realSleep } from "./ssh-stand.ts";
import { until } from "./support/home.ts";

/** What the SSH tests say about observations, and the pieces of which their false receivers are made. */
export const READY = `printf '{"frame":"ready","format":"gw.receiver/v1","nonce":"AAAAAAAAAAAAAAAAAAAAAA"}\\n'`;
export const READ_ID = `read -r request; id=$(printf %s "$request" | sed 's/.*"request_id":"\\([^"]*\\)".*/\\1/')`;
export const STARTED = `printf '{"frame":"started","request_id":"%s"}\\n' "$id"`;

export function expectNeverSent(seen: TransportObservation, reason: string): void {
  assert.equal(seen.kind, "never_sent", JSON.stringify(seen));
  if (seen.kind === "never_sent") assert.equal(seen.reason, reason, seen.detail);
}

export function expectSilent(seen: TransportObservation, reason: string): void {
  assert.equal(seen.kind, "silent", JSON.stringify(seen));
  if (seen.kind === "silent") assert.equal(seen.reason, reason, seen.detail);
}

export function expectAnswered(seen: TransportObservation, status: number, frame = "finished") {
  assert.equal(seen.kind, "answered", JSON.stringify(seen));
  assert.ok(seen.kind === "answered");
  assert.equal(seen.status, status);
  assert.equal(seen.headers["frame"], frame);
  return { text: seen.body.toString("utf8"), headers: seen.headers };
}

export function expectRefused(seen: TransportObservation, code: string): void {
  assert.equal(expectAnswered(seen, -1, "refused").headers["code"], code);
}
/** The one sleep of an attempt that is its deadline; the test says when it is over, so that no machine is too slow. */
export const DEADLINE = 123_456;
export function deadlineWhen(over: () => boolean): Sleep {
  return {
    async sleep(ms, signal) {
      if (ms !== DEADLINE) return realSleep.sleep(ms, signal);
      while (!over() && signal?.aborted !== true) await realSleep.sleep(20, signal);
      // What was to be seen by then is on its way through two pipes.
      await realSleep.sleep(300, signal);
    },
  };
}

export async function appears(path: string): Promise<void> {
  await until(`${path} appears`, () => existsSync(path));
}
