import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { SshTransport } from "../src/gateway/ports.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";

const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxb8Bcx0J54VpGYWQGqluHDJuT0CS5TTjsnIlOAxIRR";
const PACK = `
format: gw.pack/v1
pack: ops
actions:
  worker.restart:
    effect: write
    max_cost_cents: 40
    ssh: { host: host.example, port: 22, user: ops, host_key: "${HOST_KEY}", credential: ops-key, action: restart_worker }
    input: { worker: { type: string, enum: [web, mail] } }
`;

type Observation = Awaited<ReturnType<SshTransport["send"]>>;
type Status = (of: string) => Observation;

let bench: Bench;
let caller: ScriptedCaller;
/** What the host says of the request when it is asked. */
let status: Status;
/** The requests that it was asked about. */
let askedOf: string[];
/** What is seen of the request itself. */
let seen: Observation;

const answered = (body: JsonObject, exit = 0): Observation => ({
  ...{ kind: "answered", status: exit, headers: {}, body: Buffer.from(JSON.stringify(body)) },
  ...{ remoteRequestId: null, elapsedMs: 1, withheld: null },
});
const says =
  (body: JsonObject): Status =>
  (of) =>
    answered({ request_id: of, ...body });
const lost = { kind: "silent", reason: "connection_lost", detail: "test", elapsedMs: 1 } as const;

beforeEach(async () => {
  askedOf = [];
  seen = lost;
  caller = scriptedCaller();
  bench = await startBench(PACK, {
    credentials: [["ops-key", { eachUse: false, disabled: false, origin: "" }]],
    ssh: {
      async send(_receipt, { action, fields }) {
        if (action !== "request_status") return seen;
        askedOf.push(String(fields["of"]));
        return status(String(fields["of"]));
      },
    },
  });
});
afterEach(() => bench.close());

/** A restart whose end nobody saw, and that the host was asked about once. */
async function restarted(said: Status): Promise<Operation> {
  status = said;
  const run = await bench.openApproved(caller, ["ops.worker.restart"], { spendCents: 40 });
  const request = { action: "ops.worker.restart", input: { worker: "web" } };
  const { outcome, operation_id } = await bench.gateway.startCall(caller, run.id, request).done;
  assert.equal(outcome, "unknown");
  const operation = bench.gateway.operations.get(operation_id as OperationId);
  await untilDone(bench.time, 500, () => askedOf.length > 0);
  // No time passes while what was read is written: the next look is not due.
  await untilDone(bench.time, 0, () => found().length > 0);
  return operation;
}

/** What the log says was found out, each with what proves it. */
function found(): readonly (readonly unknown[])[] {
  return bench.events().flatMap((event) => {
    switch (event.event_type) {
      case "reconciled_success":
        return [[event.event_type, event.source, event.evidence, typeof event.receipt]];
      case "reconciled_failure":
        return [[event.event_type, event.source, event.evidence, event.proof]];
      case "reconciliation_inconclusive":
        return [[event.event_type, event.source, event.reason]];
      default:
        return [];
    }
  });
}

const SOURCE = "ops.request_status";
const BY = "reconciliation_read";
const FENCED = "absent_and_fenced";
const OPEN = "create_unknown";

const unclear = (reason: string) => ["reconciliation_inconclusive", SOURCE, reason];
/** What the host says, what becomes of the operation, what the log has, and which allowance the read took: answers, and those that told nothing. */
const rows: readonly (readonly [string, Status, Operation["state"], readonly unknown[], readonly [number, number]])[] =
  [
    [
      "that it ended well",
      says({ state: "finished", exit_status: 0 }),
      "succeeded",
      ["reconciled_success", SOURCE, BY, "string"],
      [0, 0],
    ],
    [
      "that it failed",
      says({ state: "finished", exit_status: 3 }),
      "failed",
      ["reconciled_failure", SOURCE, BY, "exit_3"],
      [0, 0],
    ],
    ["that it never came", says({ state: "absent" }), "failed", ["reconciled_failure", SOURCE, BY, FENCED], [0, 0]],
    ["that it runs", says({ state: "running" }), OPEN, unclear("running"), [1, 0]],
    ["that nobody saw its end", says({ state: "interrupted" }), OPEN, unclear("interrupted"), [0, 1]],
    ["that a signal ended it", says({ state: "finished", signal: "SIGTERM" }), OPEN, unclear("interrupted"), [0, 1]],
    ["something of another request", () => answered({ request_id: "x" }), OPEN, unclear("another_request"), [0, 1]],
    ["what is no record", says({ state: "?" }), OPEN, unclear("not_a_status"), [0, 1]],
    ["that it cannot say", () => answered({}, 4), OPEN, unclear("exit_4"), [0, 1]],
    ["nothing", () => lost, OPEN, unclear("connection_lost"), [0, 1]],
  ];

for (const [what, said, state, event, reads] of rows) {
  test(`of a request whose end nobody saw, the host's own record says ${what}: ${state}`, async () => {
    const operation = await restarted(said);
    assert.deepEqual([operation.state, found()[0], askedOf[0]], [state, event, operation.attemptId]);
    assert.deepEqual([operation.checks, operation.faults], reads);
    const stopped = event.includes("interrupted");
    assert.equal(operation.problem?.code, stopped ? "operation_needs_person" : undefined);
    assert.equal(operation.nextPoll !== null, state === OPEN && !stopped);
    const steps = operation.history.map(({ from, to, cause }) => [from, to, typeof cause]);
    assert.deepEqual(steps.slice(-2), [
      [OPEN, "reconciliation", "string"],
      ["reconciliation", state, "string"],
    ]);
  });
}

test("a restart that a signal ended on its host is unknown, is not sent again, and waits for a person", async () => {
  seen = {
    ...answered({}, 143),
    headers: { frame: "finished", signal: "SIGTERM", "timed-out": "true" },
  } as Observation;
  const operation = await restarted(says({ state: "finished", signal: "SIGTERM", timed_out: true }));
  assert.deepEqual([operation.state, operation.problem?.code], [OPEN, "operation_needs_person"]);
  const run = await bench.openApproved(caller, ["ops.worker.restart"], { spendCents: 40 });
  const again = { action: "ops.worker.restart", input: { worker: "web" } };
  await assert.rejects(bench.gateway.startCall(caller, run.id, again).done, denies("outcome_unsettled"));
});

test("a host that says first that it runs is asked again, and what it says then counts", async () => {
  const operation = await restarted(says({ state: "running" }));
  status = says({ state: "finished", exit_status: 0 });
  await untilDone(bench.time, 500, () => operation.state === "succeeded");
  assert.deepEqual(
    found().map(([type]) => type),
    ["reconciliation_inconclusive", "reconciled_success"],
  );
  await untilDone(bench.time, 0, () => bench.eventsOf("budget_settled").length > 0);
  const { channel, operation_id, settled_spend_cents } = bench.eventsOf("budget_settled").at(-1) ?? assert.fail();
  assert.deepEqual([channel, operation_id, settled_spend_cents], ["ssh", operation.id, 40]);
});
