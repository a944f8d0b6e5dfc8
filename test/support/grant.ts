import type { Grant } from "../../src/conventions/grant/grant.ts";
import { isoTime } from "../../src/kernel/clock.ts";
import type { Bench } from "./gateway.ts";

/** A decision made ahead for the image that scripted callers run: reads alone, and not much, unless a test says more. */
export function grantFor(bench: Bench, actions: string, change: Partial<Grant> = {}): Grant {
  const wallMs = bench.time.clock.wallMs();
  return {
    name: "nightly",
    caller: { authority: null, image: `sha256:${"ab".repeat(32)}`, command: null, uid: null },
    actions: [actions],
    effects: ["read"],
    conditions: [],
    includes: [],
    limits: { attempts: 3, sideEffects: 0, durationMs: 60_000, spendCents: 0 },
    callsPerDay: 100,
    createdAt: isoTime(wallMs - 1_000),
    until: isoTime(wallMs + 300 * 86_400_000),
    hours: null,
    idleDays: 200,
    ...change,
  };
}
