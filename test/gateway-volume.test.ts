import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { PlaneRequest } from "../src/gateway/record/requests.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { Denied } from "../src/kernel/failure.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";

const DAY_MS = 86_400_000;
const PACK = `
format: gw.pack/v1
pack: acme
provider:
  origin: http://127.0.0.1:1
  credential: acme-token
  auth: { scheme: bearer }
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
`;

let bench: Bench;
let caller: ScriptedCaller;
let who: string;

beforeEach(async () => {
  bench = await startBench(PACK);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: "http://127.0.0.1:1" });
  caller = scriptedCaller();
  who = `uid ${caller.uid}`;
});
afterEach(() => bench.close());

function request(change: Partial<PlaneRequest> = {}): PlaneRequest {
  const named = { plane: "agent", who, principal: "a program", operator: null, traceparent: null } as const;
  return {
    ...named,
    ...{ endpoint: "POST /v1/runs/{run_id}/calls", mediaType: "application/json", requestDigest: "sha256:00" },
    ...{
      fields: { "/body/input": "x".repeat(200_000) },
      body: () => ({ digest: null, bytes: 0 }),
      correlationId: "evt_1",
    },
    outcome: { kind: "answered", decision: "any caller", status: 202, runId: null, callId: null },
    ...change,
  };
}

async function ask(count: number, change: Partial<PlaneRequest> = {}): Promise<void> {
  for (let done = 0; done < count; done++) await bench.gateway.requests.record(request(change));
}

test("what one user sends before a person said yes is told up to half a day's volume, then counted once a minute", async () => {
  const half = defaults.unapprovedBytesPerDay / 2;
  const left = 6_000_000;
  bench.gateway.volume.charge(who, half - left);
  const most = Math.ceil(left / 200_000);
  await ask(most + 40);
  const told = bench.eventsOf("request_accepted").length;
  assert.ok(told > most / 2 && told <= most, `${told} of at most ${most}`);
  await ask(1, { who: "uid 4711" });
  assert.equal(bench.eventsOf("request_accepted").length, told + 1, "another user has an allowance of their own");
  await bench.time.advance(defaults.countedSeldomMs);
  await untilDone(bench.time, 0, () => bench.eventsOf("requests_counted").length > 0);
  const counted = bench.eventsOf("requests_counted").filter(({ principal }) => principal === who);
  assert.deepEqual(
    counted.map(({ count }) => count),
    [most + 40 - told],
  );
});

test("refusals of a user whose volume is used up are counted, and an operator's own requests and approved calls are told", async () => {
  const run = await bench.openApproved(caller, ["acme.*"]);
  bench.gateway.volume.charge(who, defaults.unapprovedBytesPerDay);
  const before = bench.events().length;
  await bench.gateway.refuse(caller, "acme.nothing", new Denied("not_found", "There is no such thing."));
  await ask(1, { outcome: { kind: "denied", denied: new Denied("wrong_type", "It does not fit.") } });
  assert.equal(bench.events().length, before, "nothing was told one by one");
  await ask(1, { plane: "operator", who: "operators", operator: "ada" });
  const outcome = { kind: "answered", decision: "any caller", status: 200, runId: run.id, callId: "call_1" } as const;
  await ask(1, { outcome });
  assert.equal(bench.eventsOf("request_accepted").length, 2);
  await bench.time.advance(defaults.countedSeldomMs);
  await untilDone(bench.time, 0, () => bench.eventsOf("denials_counted").length > 1);
  assert.deepEqual(
    bench
      .eventsOf("denials_counted")
      .map(({ code }) => code)
      .sort(),
    ["not_found", "wrong_type"],
  );
});

test("nobody is asked for a user whose volume is used up, until some of the day has passed; refusals alone leave half of it to ask with", async () => {
  bench.gateway.volume.charge(who, defaults.unapprovedBytesPerDay / 2);
  await bench.openRun(caller, ["acme.*"]);
  bench.gateway.volume.charge(who, defaults.unapprovedBytesPerDay / 2);
  const runs = bench.eventsOf("run_started").length;
  await assert.rejects(bench.openRun(caller, ["acme.*"]), denies("too_many_requests"));
  assert.equal(bench.eventsOf("run_started").length, runs);
  await bench.openRun(scriptedCaller({ uid: caller.uid + 1 }), ["acme.*"]);
  await bench.time.advance(DAY_MS / 100);
  await bench.openRun(caller, ["acme.*"]);
});

test("so many calls of one user wait for a person, and no more; they go on once the session begins", async () => {
  const run = await bench.openRun(caller, ["acme.*"]);
  const start = (id: string) => bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id } });
  const waiting = Array.from({ length: defaults.callsWaitingPerUid }, (_, index) => start(`t${index}`));
  await assert.rejects(start("one-more").done, denies("too_many_requests"));
  assert.ok(waiting.every(({ state }) => state === "pending"));
  await bench.deny("no");
  await Promise.all(waiting.map(({ done }) => assert.rejects(done, denies("approval_denied"))));
});
