import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What becomes of an operation when a look at it meets something else than an answer. */
let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let state: string;
/** What the log says to a read that is about to be made. */
let refuses: Error | null;

beforeEach(async () => {
  provider = await startProvider();
  state = "running";
  refuses = null;
  provider.answer(({ method, url }, response) => {
    if (method === "POST") return answerJson(response, 202, { job_id: `job-${provider.received.length}`, state });
    if (url.endsWith("/result")) return answerJson(response, 200, { rows: 42 });
    return answerJson(response, 200, { job_id: url.split("/").at(-1), state });
  });
  bench = await startBench(consequentialPack(provider.origin), {
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      async append(events) {
        if (refuses !== null && events.some(({ event_type }) => event_type === "call_begun")) throw refuses;
        return sink.append(events);
      },
    }),
  });
  caller = scriptedCaller();
  run = await bench.openApproved(caller, ["acme.report.create"]);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function create(account: string): Promise<Operation> {
  const request = { action: "acme.report.create", input: { account } };
  const { operation_id } = await bench.gateway.startCall(caller, run.id, request).done;
  return bench.gateway.operations.get(operation_id as OperationId);
}

const endSession = () => bench.gateway.revoke(bench.revocation(run.sessions.get(caller.key)?.id ?? ""));
const reads = (): number => provider.received.filter(({ method }) => method === "GET").length;

test("a fault of the gateway's own stops the one operation that met it, on record, and no other", async () => {
  const [met, other] = [await create("a1"), await create("a2")];
  await endSession();
  const find = bench.credentials.get.bind(bench.credentials);
  let faults = 0;
  bench.credentials.get = (label) => {
    if (++faults === 1) throw new TypeError("not foreseen");
    return find(label);
  };
  await untilDone(bench.time, 500, () => faults > 0);
  await untilDone(bench.time, 0, () => [met, other].some(({ problem }) => problem !== null));
  const [stopped, goesOn] = met.problem === null ? [other, met] : [met, other];
  assert.deepEqual(stopped.problem, { code: "internal_fault", detail: "not foreseen" });
  await untilDone(bench.time, 0, () => bench.rows("operations", "accepted").some(({ problem }) => problem !== null));
  state = "succeeded";
  await untilDone(bench.time, 500, () => goesOn.state === "succeeded");
  assert.equal(stopped.state, "accepted");
});

test("a read that the log has no room for is made later, and ends nothing", async () => {
  const operation = await create("a1");
  refuses = new Denied("log_backlogged", "full");
  const due = operation.nextPoll ?? assert.fail();
  await untilDone(bench.time, 500, () => operation.nextPoll !== due);
  assert.deepEqual([operation.problem, reads()], [null, 0]);
  assert.ok((operation.nextPoll?.bootMs ?? 0) > bench.time.clock.bootMs());
  refuses = null;
  state = "succeeded";
  await untilDone(bench.time, 500, () => operation.state === "succeeded");
});

test("a gateway that has stopped looks at nothing more, and blames no operation for it", async () => {
  const operation = await create("a1");
  refuses = new Error("the disk is gone");
  await untilDone(bench.time, 500, () => operation.nextPoll === null);
  assert.deepEqual([operation.problem, reads()], [null, 0]);
  const [row] = ["accepted", "observing"].flatMap((one) => bench.rows("operations", one));
  assert.notEqual(row?.["nextPoll"] ?? null, null, "its row keeps the schedule");
});

test("what refuses a read for good is in the store, with what is known of the job", async () => {
  const [gone, used] = [await create("a1"), await create("a2")];
  const { budget } = used.purse;
  used.purse.budget = { ...budget, limits: { ...budget.limits, attempts: budget.attemptsUsed } };
  Object.assign(gone, { packDigest: "sha256:another" });
  const problems = () =>
    ["accepted", "observing"].flatMap((one) => bench.rows("operations", one).map((row) => row["problem"]));
  await untilDone(bench.time, 500, () => problems().every((problem) => problem !== null));
  assert.deepEqual(
    problems()
      .map((problem) => (problem as { code: string }).code)
      .sort(),
    ["definition_changed", "poll_allowance_exhausted"],
  );
  assert.match(used.problem?.detail ?? "", new RegExp(`remote id ${used.remoteJobId}`));
  assert.equal(reads(), 0);
});
