import assert from "node:assert/strict";
import { createSecretKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { StateRow, StateStore } from "../src/gateway/ports.ts";
import { type Step, steps } from "../src/gateway/steps.ts";
import { defaults } from "../src/kernel/defaults.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { everyScene, pointsOf, runChain } from "./crash/campaign.ts";
import { judge } from "./crash/judge.ts";
import { scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type BenchOptions, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { sampleOf } from "./support/whole.ts";

/** Of a scene in one run of the suite; each is a life of a gateway process, and the next one recovers what it left. */
const KILLS = 1;
/** Of all scenes: another half in every run. */
const SCENES = Math.ceil(everyScene().length / 2);

test("every named step of the gateway is one that a scene is killed around, and a name stands once", () => {
  const killed = everyScene().flatMap(([, kills]) => kills);
  assert.deepEqual([...killed].sort(), [...new Set<Step>(steps)].sort());
  assert.equal(new Set(steps).size, steps.length);
});

/**
 * A gateway process for every moment: SIGKILL there, a start, and whatever was open is found out. In the end the log
 * verifies, nothing that was told is lost, nothing was done twice, and nothing is left open without asking for a person.
 */
describe("kill -9 between any two steps", { concurrency: 3 }, () => {
  for (const [scene, every] of sampleOf("scenes to kill in", everyScene(), SCENES)) {
    const kills = afterSomething(sampleOf(`kills in ${scene}`, every, KILLS));
    test(`${scene}: ${kills.join(", ")}`, () => runChain(scene, pointsOf(kills), judge));
  }
});

/** A start passes the step only where an earlier death left it something to recover. */
function afterSomething(kills: readonly Step[]): readonly Step[] {
  return kills[0] === "recovery.finished" ? ["call.sent", ...kills] : kills;
}

describe("the judge of what is left", () => {
  test("holds a run to the attempts that it paid for, and not to the reads that its operation pays", () =>
    judgeJob((store) => store));

  test("sees that a run got attempts back", async () => {
    const forgetful = (store: StateStore): StateStore => ({
      ...store,
      commit: (rows, durability) => store.commit(rows.map(withoutAttempts), durability),
    });
    await assert.rejects(judgeJob(forgetful), /run_\w+ got attempts back/);
  });
});

function withoutAttempts(row: StateRow): StateRow {
  if (row.table !== "runs") return row;
  return { ...row, body: { ...row.body, budget: { ...(row.body["budget"] as JsonObject), attemptsUsed: 0 } } };
}

/** What is left of a job that was read while its session stood and after it, with as many reads as its run has attempts. */
async function judgeJob(wrapStore: (store: StateStore) => StateStore): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gw-judge-"));
  const provider = await startProvider();
  try {
    const reading = generateKeyPairSync("x25519");
    const stateKey = randomBytes(32);
    const options = { folder, wrapStore, reading, stateKey: createSecretKey(stateKey) };
    await playJob(provider, options);
    const privateKey = String(reading.privateKey.export({ type: "pkcs8", format: "pem" }));
    const made = { operations: [{ request: '{"account":"ada"}' }] };
    await judge({ scene: "job", folder, privateKey, stateKey, told: [], provider: made, lives: new Map() });
  } finally {
    await provider.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function playJob(provider: TestProvider, options: BenchOptions): Promise<void> {
  let state = "running";
  provider.answer(({ method }, response) =>
    answerJson(response, method === "POST" ? 202 : 200, { job_id: "job-1", state, updated_at: "x" }),
  );
  const bench = await startBench(consequentialPack(provider.origin).replace("max_checks: 12", "max_checks: 27"), {
    ...options,
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
  try {
    const caller = scriptedCaller();
    const request = { action: "acme.report.create", input: { account: "ada" } };
    const run = await bench.openApproved(caller, [request.action], { attempts: 27 + defaults.pollFaults });
    const { operation_id } = await bench.gateway.startCall(caller, run.id, request).done;
    const operation = bench.gateway.operations.get(operation_id as OperationId);
    await untilDone(bench.time, 1_000, () => operation.checks >= 2);
    await bench.gateway.leaveRun(caller, run.id, "process_exited");
    await untilDone(bench.time, 1_000, () => operation.custodian && operation.checks >= 4);
    state = "succeeded";
    await untilDone(bench.time, 1_000, () => bench.rows("operations", "succeeded").length > 0);
  } finally {
    await bench.close();
  }
}
