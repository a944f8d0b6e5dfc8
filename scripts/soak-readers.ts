import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { call, demoPack, Home, makeFolder, openPlane, openRun, type Plane } from "../test/support/home.ts";
import { startProvider } from "../test/support/provider.ts";

/**
 * Kills a gateway under 64 readers thirty times, or as often as the argument says, each time at another moment. Whatever
 * reached the provider has its intent in the log, once, and every call that was answered has its end there.
 */
const kills = Number(process.argv[2] ?? 30);
const READERS = 64;
/** How many answers there are at most between two kills, where they come within so long. */
const ANSWERS = 3_000;
const LATEST_MS = 10_000;
const RUN = { attempts: 10_000, duration_seconds: 3_600 };

const provider = await startProvider();
const home = await new Home(makeFolder()).init();
await home.addCredential("demo-token", provider.origin);
await home.trustPack("demo", demoPack(provider.origin));
const answered: string[] = [];
let asked = 0;
for (let kill = 1; kill <= kills; kill++) {
  const gateway = await home.up();
  const agent = openPlane(home.agentSocket, READERS);
  const run = await openRun(home, agent, ["demo.thing.get"], RUN);
  const readers = Array.from({ length: READERS }, () => readUntilKilled(agent, run));
  const enough = answered.length + 1 + randomInt(ANSWERS);
  const latest = performance.now() + LATEST_MS;
  while (answered.length < enough && performance.now() < latest) await pause(5);
  await gateway.end("SIGKILL");
  await Promise.all(readers);
  agent.close();
  console.log(
    `${kill} kills, ${asked} asked, ${provider.received.length} at the provider, ${answered.length} answered`,
  );
}

const events = await home.events("intent_accepted", "action_finished");
const intents = events.filter(({ event_type }) => event_type === "intent_accepted");
const intended = new Set(intents.map(({ path }) => path));
const ended = new Set(events.flatMap(({ event_type, call_id }) => (event_type === "action_finished" ? [call_id] : [])));
const reached = provider.received.map(({ url }) => url);
assert.equal(new Set(reached).size, reached.length, "nothing reached the provider twice");
assert.equal(intended.size, intents.length, "nothing was intended twice");
assert.deepEqual(
  reached.filter((url) => !intended.has(url)),
  [],
  "nothing reached the provider without an intent",
);
assert.deepEqual(
  answered.filter((id) => !ended.has(id)),
  [],
  "every call that was answered has its end in the log",
);
assert.ok(answered.length > 0 && reached.length >= answered.length);
const verified = await home.verify();
assert.equal(verified.code, 0, `${verified.out}${verified.err}`);
await provider.close();
console.log(`${intents.length} intents, none twice, none missing; every answered call has its end; the log verifies`);

/** Asks for one thing after another, each only once, until nobody answers any more. */
async function readUntilKilled(agent: Plane, run: string): Promise<void> {
  for (;;) {
    try {
      const { body } = await call(agent, run, "demo.thing.get", { id: `thing-${asked++}` });
      assert.equal(body["outcome"], "success", JSON.stringify(body));
      answered.push(String(body["call_id"]));
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      return;
    }
  }
}
