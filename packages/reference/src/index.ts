import { randomBytes } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { type Reference, type ReferenceOptions, startReference as start } from "./start.ts";

export { allScopes, type Reference } from "./start.ts";

/** The provider on this machine's own time. It listens on loopback alone. */
export function startReference(options: Omit<ReferenceOptions, "clock" | "random" | "sleep">): Promise<Reference> {
  const clock = { wallMs: () => Date.now(), bootMs: () => performance.now(), bootId: () => BOOT };
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> =>
    setTimeout(ms, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  return start({ ...options, clock, random: { bytes: randomBytes }, sleep: { sleep } });
}

/** Its times count from the start of this process, which no other shares. */
const BOOT = randomBytes(16).toString("hex");
