import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { budgetRecord } from "../src/conventions/budget/record.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import { learn, type Operation } from "../src/gateway/operation/operations.ts";
import type { StateRow } from "../src/gateway/ports.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId, SessionId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, type BenchOptions, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** Writes that cost: one is found again by its own name, one by a repeat under its token, one by nothing. */
const PAID = `
  order.place:
    effect: write
    retry: idempotent_write
    max_cost_cents: 40
    request: { method: POST, path: /v1/orders, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
    unknown: { reconcile: order.by_reference }
  order.by_reference:
    effect: read
    request: { method: GET, path: "/v1/orders/by-id/{client_operation_id}" }
    input: { client_operation_id: { in: path, type: string, maxLength: 128 } }
  payment.make:
    effect: write
    retry: idempotent_write
    max_cost_cents: 40
    actual_cost: { header: X-Price, unit: cents }
    request: { method: POST, path: /v1/payments, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
    unknown: { reconcile: token_retry }
  gift.send:
    effect: write
    retry: non_idempotent_write
    max_cost_cents: 40
    request: { method: POST, path: /v1/gifts, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
  render.start:
    effect: create
    retry: idempotent_write
    max_cost_cents: 40
    request: { method: POST, path: /v1/renders, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
    job: { id: job_id, status: report.status, succeeded: [succeeded], failed: [failed] }
    unknown: { reconcile: token_retry }
`;
const ACTIONS = ["acme.order.place", "acme.payment.make", "acme.gift.send", "acme.render.start", "acme.thing.get"];

type Answer = (response: ServerResponse) => unknown;
const drop: Answer = (response) => void response.destroy();

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let run: Run;
let folder: string;
let post: Answer;
let read: Answer;

beforeEach(async () => {
  provider = await startProvider();
  folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  post = drop;
  read = (response) => answerJson(response, 404, {});
  provider.answer((request, response) => (request.method === "POST" ? post(response) : read(response)));
  caller = scriptedCaller();
  await startGateway();
  run = await openApproved();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(
  time?: ManualTime,
  change = (pack: string): string => pack,
  hub?: BenchOptions["hub"],
  wrapStore?: BenchOptions["wrapStore"],
): Promise<void> {
  bench = await startBench(change(`${consequentialPack(provider.origin)}${PAID}`), {
    folder,
    ...(time === undefined ? {} : { time }),
    ...(hub === undefined ? {} : { hub }),
    ...(wrapStore === undefined ? {} : { wrapStore }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
}

async function openApproved(limits = {}): Promise<Run> {
  return bench.openApproved(caller, ACTIONS, { spendCents: 100, sideEffects: 10, ...limits });
}

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  let done = false;
  work.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 500, () => done);
  return work;
}

let calls = 0;
/** A call of its own: the same one is not sent twice while it is open. */
const another = (): JsonObject => ({ name: `x${++calls}` });
const call = (action: string, input: JsonObject = { name: "x" }): Promise<CallResult> =>
  settled(bench.gateway.startCall(caller, run.id, { action: `acme.${action}`, input }).done);

const operationOf = (id: string | null): Operation => bench.gateway.operations.get(id as OperationId);
/** The gateway's own look may have come to the same end first, and then says so. */
const reconcileOnce = ({ id }: Operation): Promise<unknown> =>
  bench.gateway.reconcile(caller, id).catch((error) => assert.ok(denies("operation_settled")(error)));
const posts = () => provider.received.filter(({ method }) => method === "POST");
const spend = ({ budget }: Run): readonly [number, number] => {
  const { reserved_spend, settled_spend } = budgetRecord(budget);
  return [reserved_spend, settled_spend];
};
const storedSpend = (id: string): unknown => {
  const rows = ["open", "ended"].flatMap((state) => bench.rows("runs", state));
  const budgets = rows.map(
    (row) => row["budget"] as { runId: string; reservedSpendCents: number; settledSpendCents: number },
  );
  const found = budgets.find(({ runId }) => runId === id);
  return [found?.reservedSpendCents, found?.settledSpendCents];
};

const spentToday = (): readonly unknown[] => bench.rows("notes", "day_spend").map(({ cents }) => cents);

/** The store has it a moment after the log does. */
function isSpent(id: string): boolean {
  return isDeepStrictEqual(storedSpend(id), [0, 40]);
}

/** The commit that the reconciled event stands in: the frame's records, by type. */
function settledWith(type: "reconciled_success" | "reconciled_failure"): readonly string[] {
  const events = bench.events();
  const at = events.findLastIndex(({ event_type }) => event_type === type);
  return events.slice(at).map(({ event_type }) => event_type);
}

test("the reserve of an unknown outcome is held until somebody knows", async () => {
  const { outcome } = await call("order.place");
  assert.equal(outcome, "unknown");
  assert.deepEqual([spend(run), spentToday()], [[40, 0], [40]]);
});

test("a reconciliation that proves success spends the reserve, in the same commit, once", async () => {
  read = (response) => answerJson(response, 200, { name: "x" });
  const operation = operationOf((await call("order.place")).operation_id);
  await reconcileOnce(operation);
  assert.equal(operation.state, "succeeded");
  assert.deepEqual([spend(run), operation.held], [[0, 40], 0]);
  assert.deepEqual([storedSpend(run.id), spentToday()], [[0, 40], [40]]);
  assert.deepEqual(settledWith("reconciled_success"), ["reconciled_success", "budget_settled"]);
  const event = bench.events().at(-1);
  assert.ok(event?.event_type === "budget_settled");
  assert.deepEqual([event.reason, event.settled_spend_cents, event.operation_id], ["reconciled", 40, operation.id]);
  assert.deepEqual([event.outcome, event.attempt, event.elapsed_ms, event.channel], ["succeeded", 0, 0, "http"]);
  await assert.rejects(bench.gateway.reconcile(caller, operation.id), denies("operation_settled"));
  assert.deepEqual(spend(run), [0, 40]);
});

test("a reconciliation that proves absence gives the reserve back", async () => {
  const operation = operationOf((await call("order.place")).operation_id);
  await untilDone(bench.time, 2_000, () => operation.state === "failed");
  assert.deepEqual([spend(run), operation.held], [[0, 0], 0]);
  assert.deepEqual(settledWith("reconciled_failure").slice(0, 2), ["reconciled_failure", "budget_settled"]);
  const event = bench.events().findLast(({ event_type }) => event_type === "budget_settled");
  assert.ok(event?.event_type === "budget_settled");
  assert.deepEqual([event.outcome, event.reason, event.settled_spend_cents], ["failed", "reconciled", 0]);
  await untilDone(bench.time, 0, () => isDeepStrictEqual(spentToday(), [0]));
});

test("a reserve of the day before is given back to no other, whenever its operation began", async () => {
  const nextDayMs = 86_400_000 - (bench.time.clock.wallMs() % 86_400_000);
  await bench.time.advance(nextDayMs - 1_000);
  run = await openApproved();
  const arrived = Promise.withResolvers<ServerResponse>();
  post = arrived.resolve;
  const lost = bench.gateway.startCall(caller, run.id, { action: "acme.order.place", input: another() }).done;
  const response = await arrived.promise;
  await bench.time.advance(1_000);
  post = (response) => answerJson(response, 201, {});
  assert.equal((await call("order.place", another())).outcome, "success");
  assert.deepEqual(spentToday(), [40]);
  drop(response);
  const operation = operationOf((await settled(lost)).operation_id);
  await untilDone(bench.time, 2_000, () => operation.state === "failed" && isSpent(run.id));
  assert.deepEqual(spentToday(), [40], "it is the new day's own");
});

test("what a person says of an unknown outcome spends its reserve or gives it back, also after a restart", async () => {
  const lost = async () => String((await call("gift.send", another())).operation_id);
  const [gone, made] = [await lost(), await lost()];
  assert.deepEqual([spend(run), spentToday()], [[80, 0], [80]]);
  const said = (id: string, happened: boolean) => bench.gateway.settle(bench.settlement(id, happened));
  await said(gone, false);
  assert.deepEqual([spend(run), storedSpend(run.id), spentToday()], [[40, 0], [40, 0], [40]]);
  await said(made, true);
  assert.deepEqual([spend(run), storedSpend(run.id), spentToday()], [[0, 40], [0, 40], [40]]);
  const event = bench.events().at(-1);
  assert.ok(event?.event_type === "budget_settled");
  assert.deepEqual([event.operation_id, event.outcome, event.settled_spend_cents], [made, "succeeded", 40]);
  const later = await lost();
  assert.deepEqual([storedSpend(run.id), spentToday()], [[40, 40], [80]]);
  const { time } = bench;
  await bench.abandon();
  // Also where the pack that sent it is gone.
  await startGateway(time, (pack) => pack.replace("gift.send:", "gift.sent:"));
  await said(later, false);
  assert.deepEqual([storedSpend(run.id), spentToday()], [[0, 40], [40]]);
});

for (const [whose, seenAs, told] of [
  ["is another gateway's", (row: StateRow) => ({ ...row, body: { ...row.body, worker: "another" } }), "budget_settled"],
  ["does not authenticate", ({ id }: StateRow) => ({ tampered: id }), "state_tampered"],
  ["is gone", () => null, null],
] as const) {
  test(`a reserve whose run ${whose} is not written there when it is settled`, async () => {
    read = (response) => answerJson(response, 500, {});
    const { operation_id } = await call("order.place");
    const { time } = bench;
    await bench.abandon();
    const find: BenchOptions["wrapStore"] = (store) => ({
      ...store,
      find(table, id) {
        const row = store.find(table, id);
        return table !== "runs" || row === null || "tampered" in row ? row : seenAs(row);
      },
    });
    await startGateway(time, undefined, undefined, find);
    read = (response) => answerJson(response, 200, { name: "x" });
    await untilDone(bench.time, 2_000, () => settledWith("reconciled_success")[0] === "reconciled_success");
    const types = settledWith("reconciled_success");
    assert.deepEqual(types.slice(0, told === null ? 1 : 2), ["reconciled_success", ...(told === null ? [] : [told])]);
    assert.equal(types.includes("budget_settled"), told === "budget_settled");
    assert.deepEqual([storedSpend(run.id), operationOf(operation_id).held], [[40, 0], 0]);
  });
}

test("a reserve is settled when its run has ended, also after a restart", async () => {
  const first = operationOf((await call("order.place")).operation_id);
  const sessionId = run.sessions.get(caller.key)?.id as SessionId;
  await bench.gateway.revoke(bench.revocation(sessionId));
  read = (response) => answerJson(response, 200, { name: "x" });
  await untilDone(bench.time, 2_000, () => first.state === "succeeded" && isSpent(run.id));
  read = (response) => answerJson(response, 500, {});
  run = await openApproved();
  const second = await call("order.place");
  const { time } = bench;
  await bench.abandon();
  read = (response) => answerJson(response, 200, { name: "x" });
  await startGateway(time);
  assert.deepEqual(storedSpend(run.id), [40, 0]);
  await untilDone(bench.time, 2_000, () => operationOf(second.operation_id).state === "succeeded" && isSpent(run.id));
});

test("a repeat of the same call under its token reserves no second time", async () => {
  run = await openApproved({ spendCents: 40 });
  const answers: Answer[] = [(response) => answerJson(response, 503, {}), (response) => answerJson(response, 201, {})];
  post = (response) => answers.shift()?.(response);
  const result = await call("order.place");
  assert.equal(result.outcome, "success");
  assert.equal(posts().length, 2);
  assert.deepEqual(spend(run), [0, 40]);
});

test("limits of the fleet count a repeat as a send, and its money with the first one's", async () => {
  await bench.close();
  const counts: number[] = [];
  const settled: string[] = [];
  await startGateway(undefined, undefined, {
    admit: () => undefined,
    beforeSend: () => Promise.resolve(),
    count({ cents }) {
      const nth = counts.push(cents);
      const note = (what: number | string): void => void settled.push(`${nth}: ${what}`);
      return Promise.resolve({ settle: note, giveBack: () => note("back") });
    },
    holdsAnswers: () => false,
    beforeAnswer: () => Promise.resolve(),
  });
  run = await openApproved();
  post = (response) => {
    post = (again) => again.writeHead(200, { "x-price": "7" }).end();
    answerJson(response, 503, {});
  };
  assert.equal((await call("payment.make")).outcome, "success");
  assert.deepEqual(
    [counts, settled, spend(run)],
    [
      [40, 0],
      ["1: 0", "1: -33"],
      [0, 7],
    ],
  );
});

test("a repeat that the budget refuses leaves the first try unknown, not denied", async () => {
  run = await openApproved({ sideEffects: 1 });
  post = (response) => answerJson(response, 503, {});
  const result = await call("order.place");
  assert.equal(result.outcome, "unknown");
  assert.ok(result.operation_id !== null);
  assert.deepEqual([posts().length, ...spend(run)], [1, 40, 0]);
  assert.equal(run.budget.stopReason, "side_effects_exhausted");
});

test("over any sequence of calls and discoveries the ceiling holds and nothing is settled twice", async () => {
  const step = fc.constantFrom("lost", "done", "refused", "found", "absent", "unclear");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      run = await openApproved({ spendCents: 100, sideEffects: 20 });
      const open: Operation[] = [];
      let expected = { held: 0, spent: 0 };
      for (const what of steps) {
        if (what === "lost" || what === "done" || what === "refused") {
          post = what === "lost" ? drop : (response) => answerJson(response, what === "done" ? 201 : 422, {});
          const fits = expected.held + expected.spent + 40 <= 100;
          const result = await call("order.place", another()).catch((error: unknown) => error);
          if (!fits) {
            assert.ok(result instanceof Denied && result.code === "spend_exhausted", String(result));
            continue;
          }
          if (what === "lost") open.push(operationOf((result as CallResult).operation_id));
          expected = {
            held: expected.held + (what === "lost" ? 40 : 0),
            spent: expected.spent + (what === "done" ? 40 : 0),
          };
        } else {
          const [operation] = open;
          if (operation === undefined || operation.problem !== null) continue;
          const status = { found: 200, absent: 404, unclear: 500 }[what];
          read = (response) => answerJson(response, status, { name: operation.input["name"] });
          await bench.gateway.operations.reconcile(operation.id, "ada").catch(() => undefined);
          // The worker reads by itself while a later call waits: what it finds then tells it nothing.
          read = (response) => answerJson(response, 500, {});
          if (operation.state === "create_unknown") continue;
          open.shift();
          expected = { held: expected.held - 40, spent: expected.spent + (operation.state === "succeeded" ? 40 : 0) };
        }
        const [held, spent] = spend(run);
        assert.deepEqual([held, spent], [expected.held, expected.spent]);
        assert.ok(held + spent <= 100 && held >= 0);
      }
      for (const operation of open) learn(operation, { kind: "look_again", at: null });
    }),
    { numRuns: 12 },
  );
});

test("a write is reconciled by a repeat under its token, with exactly the stored payload", async () => {
  const before = run.budget.sideEffectAttempts;
  post = (response) => (posts().length === 1 ? drop(response) : answerJson(response, 201, { payment: "p-1" }));
  const operation = operationOf((await call("payment.make", { name: "rent" })).operation_id);
  await reconcileOnce(operation);
  assert.equal(operation.state, "succeeded");
  const [first, second] = posts();
  assert.ok(first !== undefined && second !== undefined && posts().length === 2);
  assert.equal(second.body, first.body);
  assert.equal(second.url, first.url);
  for (const name of ["idempotency-key", "x-correlation-id", "content-type"]) {
    assert.equal(second.headers[name], first.headers[name], name);
  }
  assert.equal(run.budget.sideEffectAttempts, before + 2, "it counts as a side effect");
  assert.deepEqual(spend(run), [0, 40], "and under one token there is one charge");
  const intents = bench.eventsOf("intent_accepted");
  assert.deepEqual(
    intents
      .map((event) => event.event_type === "intent_accepted" && event.payload_sha256)
      .map((one, _, all) => one === all[0]),
    [true, true],
  );
  assert.equal(new Set(intents.map(({ event_id }) => event_id)).size, 2, "each is an attempt of its own");
  const found = bench.events().find((event) => event.event_type === "reconciled_success");
  assert.ok(found?.event_type === "reconciled_success" && found.evidence === "remote_receipt");
  assert.equal(operation.history.find(({ cause }) => cause === "reconciliation_started")?.to, "reconciliation");
});

test("the worker repeats it by itself, a bounded number of times, and then needs a person", async () => {
  const operation = operationOf((await call("payment.make")).operation_id);
  await untilDone(bench.time, 2_000, () => operation.problem !== null);
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.equal(posts().length, 1 + 3);
  assert.equal(new Set(posts().map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual(spend(run), [40, 0], "what nobody knows stays reserved, once");
});

test("a job whose creation nobody saw is named by a repeat under its token", async () => {
  const operation = operationOf((await call("render.start")).operation_id);
  assert.deepEqual(spend(run), [40, 0]);
  post = (response) => answerJson(response, 202, { job_id: "job-1", state: "queued" });
  read = (response) => answerJson(response, 200, { job_id: "job-1", state: "running" });
  await reconcileOnce(operation);
  assert.deepEqual([operation.remoteJobId, ...spend(run)], ["job-1", 0, 40]);
  // On a slow machine the gateway's own look has come before this one, which then sees how the job does.
  assert.ok(["accepted", "observing"].includes(operation.state), operation.state);
});

test("past the provider's window nothing is repeated: a person is needed", async () => {
  await bench.close();
  await startGateway(undefined, (pack) => pack.replace("window_s: 86400", "window_s: 1"));
  run = await openApproved();
  const operation = operationOf((await call("payment.make")).operation_id);
  learn(operation, { kind: "look_again", at: null });
  await bench.time.advance(60_000);
  // The gateway's own look may have come to the same end first, and then says so.
  await bench.gateway
    .reconcile(caller, operation.id)
    .catch((error) => assert.ok(denies("operation_needs_person")(error)));
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.equal(posts().length, 1);
  const stored = () => bench.rows("operations", "create_unknown").map(({ problem }) => problem as JsonObject | null);
  await untilDone(bench.time, 0, () => stored()[0]?.["code"] === "operation_needs_person");
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.equal(posts().length, 1, "nor because an operator asks");
});

test("after the session ended nothing is repeated, whoever asks", async () => {
  const operation = operationOf((await call("payment.make")).operation_id);
  caller.become({ kind: "gone" });
  await bench.gateway.revoke(bench.revocation(run.sessions.get(caller.key)?.id as SessionId)).catch(() => undefined);
  // Until then the session stood, and the worker may have repeated it; what it had on the way still arrives.
  const sent = await settledPosts();
  await untilDone(bench.time, 2_000, () => operation.problem !== null);
  await bench.gateway.operations.reconcile(operation.id, "ada");
  assert.deepEqual([operation.problem?.code, operation.state], ["operation_needs_person", "create_unknown"]);
  assert.equal(posts().length, sent);
});

/** How many requests came, once no more of them do. */
async function settledPosts(): Promise<number> {
  for (let seen = -1; ; ) {
    if (seen === posts().length) return seen;
    seen = posts().length;
    // Each turn reads what has come: a process that stood still for as long as all of them together has read nothing.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test("a restart is the end of the session: nothing is repeated after it", async () => {
  const { operation_id } = await call("payment.make");
  const { time } = bench;
  await bench.abandon();
  // Until then the session stood, and the worker may have repeated it; what it had on the way still arrives.
  const sent = await settledPosts();
  await startGateway(time);
  const operation = operationOf(operation_id);
  await untilDone(bench.time, 1_000, () => operation.problem !== null);
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.equal(posts().length, sent);
});

test("another request than the stored one, or another pack, is never sent under the token", async () => {
  const operation = operationOf((await call("payment.make")).operation_id);
  Object.assign(operation.input, { name: "another" });
  // The worker may be at it already; what it began before the change it may end.
  await untilDone(bench.time, 500, () => operation.problem !== null);
  assert.equal(operation.problem?.code, "operation_needs_person");
  assert.match(operation.problem?.detail ?? "", /not the one that was sent/);
  const other = operationOf((await call("payment.make", another())).operation_id);
  Object.assign(other, { packDigest: "sha256:another" });
  // The worker may be at it already; what it began before the change it may end.
  await bench.gateway.reconcile(caller, other.id).catch(() => undefined);
  const sent = posts().length;
  if (other.problem === null) await bench.gateway.reconcile(caller, other.id).catch(() => undefined);
  assert.equal(other.problem?.code, "definition_changed");
  assert.equal(posts().length, sent);
});

test("a refusal under the token proves nothing, stops, and keeps the reserve", async () => {
  const operation = operationOf((await call("payment.make")).operation_id);
  post = (response) => answerJson(response, 422, { code: "idempotency_key_reused" });
  await bench.gateway.reconcile(caller, operation.id);
  assert.deepEqual([operation.state, operation.problem?.code], ["create_unknown", "operation_needs_person"]);
  assert.deepEqual([...spend(run), operation.held], [40, 0, 40]);
  assert.deepEqual([storedSpend(run.id), spentToday()], [[40, 0], [40]]);
});

test("a refusal under the token that states a price is charged, and what the first send may have cost stays reserved", async () => {
  const operation = operationOf((await call("payment.make")).operation_id);
  post = (response) => response.writeHead(422, { "x-price": "3" }).end();
  await bench.gateway.reconcile(caller, operation.id);
  assert.deepEqual([...spend(run), operation.held], [40, 3, 40]);
  assert.deepEqual([storedSpend(run.id), spentToday()], [[40, 3], [43]]);
});

test("a repeat that the fleet has no room for is not sent, and leaves the reserve of the first one as it was", async () => {
  await bench.close();
  let counts = 0;
  const full = new Denied("fleet_limit_reached", "The fleet has done enough for today.");
  await startGateway(undefined, undefined, {
    admit: () => undefined,
    beforeSend: () => Promise.resolve(),
    count: () => (++counts === 1 ? null : Promise.reject(full)),
    holdsAnswers: () => false,
    beforeAnswer: () => Promise.resolve(),
  });
  run = await openApproved();
  const operation = operationOf((await call("payment.make")).operation_id);
  await bench.gateway.reconcile(caller, operation.id).catch(() => undefined);
  assert.deepEqual([operation.problem?.code, posts().length], ["fleet_limit_reached", 1]);
  assert.deepEqual([...spend(run), operation.held], [40, 0, 40]);
});

test("a repeat that the run cannot pay for is not sent, and its record says which ceiling it was", async () => {
  run = await openApproved({ sideEffects: 1 });
  const operation = operationOf((await call("payment.make")).operation_id);
  await bench.gateway.reconcile(caller, operation.id);
  assert.equal(operation.problem?.code, "side_effects_exhausted");
  assert.equal(posts().length, 1);
  assert.deepEqual(spend(run), [40, 0]);
});
