import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { AuditEvent } from "../src/audit/event.ts";
import type { PlanId } from "../src/kernel/ids.ts";
import { Secret } from "../src/kernel/secret.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack, previewBody } from "./support/consequential.ts";
import { type CrowdedLog, crowdedLog } from "./support/crowded-log.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let log: CrowdedLog;
let caller: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  log = crowdedLog();
  caller = scriptedCaller();
  bench = await startBench(consequentialPack(provider.origin), {
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: log.wrapAudit,
  });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

/** What it comes to once there is room; nothing came of it before. */
async function onceRoom<Value>(work: Promise<Value>): Promise<Value> {
  let done = false;
  const note = () => {
    done = true;
  };
  work.then(note, note);
  await untilDone(bench.time, 0, () => log.full);
  await bench.time.advance(1_000);
  assert.equal(done, false);
  log.fullAfter = null;
  log.full = false;
  await untilDone(bench.time, 50, () => done);
  return work;
}

const told = (type: AuditEvent["event_type"]): number => bench.eventsOf(type).length;

test("a plan that its provider refused as stale is told so once the log has room, and the agent hears of it", async () => {
  provider.answer((request, response) => {
    if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    return answerJson(response, 409, { code: "plan_stale", changed: ["projects/p1"] });
  });
  const run = await bench.openApproved(caller, ["acme.membership.*"]);
  const input = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
  const { plan } = await bench.gateway.startPlan(caller, run.id, { action: "acme.membership.apply", input }).done;
  const { done } = bench.gateway.startExecution(caller, plan?.["plan_id"] as PlanId, "r7");
  log.fullAfter = "attempt_ended";
  await bench.approve();
  await assert.rejects(onceRoom(done), denies("plan_stale"));
  assert.deepEqual([told("plan_rejected"), bench.rows("plans", "rejected").length], [1, 1]);
});

test("what a probe came to is told once the log has room", async () => {
  const run = await bench.gateway.probes.open({
    api: "Acme",
    versions: [{ base: provider.origin, header: null }],
    credentials: [{ label: "main", present: "bearer", name: null, token: Secret.fromText("probe-t0ken") }],
    requests: 10,
    sideEffects: 0,
    operator: "ada",
    operatorKeyId: "k1",
  });
  log.full = true;
  await onceRoom(bench.gateway.probes.close(run, null));
  assert.equal(told("upgrade_probe_finished"), 1);
});
