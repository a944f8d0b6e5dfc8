import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { type ErrandStatement, statementBytes } from "../src/conventions/approval/decision.ts";
import { ASKED } from "../src/gateway/operation/errand.ts";
import type { Operation } from "../src/gateway/operation/operations.ts";
import { isoTime } from "../src/kernel/clock.ts";
import { defaults } from "../src/kernel/defaults.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { type JobScript, scriptJobs } from "./support/jobs.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What an operator signed on another machine, as it reaches the gateway that has the operation. */
let provider: TestProvider;
let script: JobScript;
let bench: Bench;
let folder: string;
let operation: Operation;
/** What was on record when the provider was asked to stop. */
let asked: number[];

beforeEach(async () => {
  provider = await startProvider();
  script = scriptJobs(provider);
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  asked = [];
  await startGateway();
  const caller = scriptedCaller();
  const run = await bench.openApproved(caller, ["acme.report.create"]);
  const input = { account: "a1" };
  const { operation_id } = await bench.gateway.startCall(caller, run.id, { action: "acme.report.create", input }).done;
  operation = bench.gateway.operations.get(operation_id as OperationId);
  await untilDone(bench.time, 500, () => operation.checks > 0);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(time?: ManualTime): Promise<void> {
  bench = await startBench(consequentialPack(provider.origin), {
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapHttp: (http) => ({
      send(receipt, request, credential, limits) {
        if (request.method === "DELETE") asked.push(taken().length);
        return http.send(receipt, request, credential, limits);
      },
    }),
  });
}

const word = (change: Partial<ErrandStatement> = {}) =>
  bench.errand(operation.id, { errand: "cancel", reason: "wrong range", ...change });
const taken = () => bench.rows("notes", ASKED);
const cancels = (): number => script.jobs[0]?.cancels ?? 0;

test("a signed word is on record before anything is done about it, as it was signed, and is taken once", async () => {
  const signed = word();
  const { state, cancel } = await bench.gateway.errand(signed);
  assert.deepEqual([state, cancel?.actor, cancel?.reason], ["cancelling", "ada", "wrong range"]);
  assert.deepEqual(asked, [1]);
  const [event, ...others] = bench.eventsOf("operation_asked");
  assert.deepEqual(
    [event?.operation_id, event?.run_id, event?.call_id, event?.session_id],
    [operation.id, operation.purse.id, operation.callId, operation.sessionId],
  );
  assert.deepEqual([event?.errand, event?.reason, event?.operator], ["cancel", "wrong range", "ada"]);
  assert.equal(event?.statement, statementBytes(signed.statement).toString("utf8"));
  assert.equal(event?.signature, signed.signature);
  assert.equal(others.length, 0);

  await assert.rejects(bench.gateway.errand(signed), denies("errand_over"));
  const { time } = bench;
  await bench.abandon();
  await startGateway(time);
  operation = bench.gateway.operations.get(operation.id);
  await assert.rejects(bench.gateway.errand(signed), denies("errand_over"), "nor after a start");
  assert.deepEqual([cancels(), taken().length, bench.eventsOf("operation_asked").length], [1, 1, 1]);
});

test("a signed word that comes twice at once is taken and told once", async () => {
  const signed = word();
  const [first, second] = [bench.gateway.errand(signed), bench.gateway.errand(signed)];
  await Promise.all([first, assert.rejects(second, denies("errand_over"))]);
  assert.deepEqual([cancels(), taken().length, bench.eventsOf("operation_asked").length], [1, 1, 1]);
});

test("a signed word is taken within a day, and from a clock that is hardly ahead", async () => {
  const nowMs = bench.time.clock.wallMs();
  const ago = (ms: number) => word({ errand: "reconcile", decided_at: isoTime(nowMs - ms) });
  for (const over of [defaults.errandMs, -defaults.hubClockMs])
    await assert.rejects(bench.gateway.errand(ago(over)), denies("errand_over"));
  await assert.rejects(bench.gateway.errand(word({ decided_at: "yesterday" })), denies("errand_over"));
  assert.deepEqual([taken(), bench.eventsOf("operation_asked")], [[], []]);
  const reads = script.jobs[0]?.reads ?? 0;
  await bench.gateway.errand(ago(defaults.errandMs - 1));
  await bench.gateway.errand(ago(1 - defaults.hubClockMs));
  assert.deepEqual([taken().length, script.jobs[0]?.reads], [2, reads + 2]);
});

test("a word that was signed for another request does nothing", async () => {
  const other = word({ request_fingerprint: "sha256:other" });
  await assert.rejects(bench.gateway.errand(other), denies("card_mismatch"));
  assert.deepEqual([cancels(), taken()], [0, []]);
});
