import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import fc from "fast-check";
import type { SettlementStatement } from "../src/conventions/approval/decision.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { OperationId } from "../src/kernel/ids.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type ManualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack, previewBody } from "./support/consequential.ts";
import { type Bench, type BenchOptions, denies, startBench } from "./support/gateway.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";

/** A write that nothing can find out about, with a constant, a number in its path, and headers. */
const MORE = `
  order.place:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: "/v1/shops/{shop}/orders", body: application/json }
    input:
      shop: { in: path, type: [integer, string], maxLength: 8 }
      kind: { in: body, const: book }
      name: { in: body, type: string, maxLength: 64 }
`;
const ACTIONS = [
  "acme.order.place",
  "acme.thing.change",
  "acme.thing.post",
  "acme.report.create",
  "acme.report.cancel",
  "acme.report.resume",
  "acme.membership.plan",
  "acme.membership.apply",
  "acme.deployment.promote",
  "acme.deployment.rollback",
];

type Answer = (request: Received, response: ServerResponse) => unknown;
const drop: Answer = (_request, response) => void response.destroy();

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
  read = (_request, response) => answerJson(response, 500, {});
  provider.answer((request, response) => (request.method === "GET" ? read : post)(request, response));
  caller = scriptedCaller();
  await startGateway();
  run = await openApproved(caller);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

async function startGateway(
  time?: ManualTime,
  change = (pack: string): string => pack,
  options: Partial<BenchOptions> = {},
): Promise<void> {
  bench = await startBench(change(`${consequentialPack(provider.origin)}${MORE}`), {
    ...options,
    folder,
    ...(time === undefined ? {} : { time }),
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
}

async function restart(change?: (pack: string) => string): Promise<void> {
  const { time } = bench;
  await bench.abandon();
  await startGateway(time, change);
}

async function openApproved(who: ScriptedCaller): Promise<Run> {
  return bench.openApproved(who, ACTIONS, { sideEffects: 60, attempts: 300 });
}

async function settled<Result>(work: Promise<Result>): Promise<Result> {
  let done = false;
  work.catch(() => undefined).finally(() => (done = true));
  await untilDone(bench.time, 100, () => done);
  return work;
}

const ask = (action: string, input: JsonObject, repeatOf?: string, who = caller, where = run): Promise<CallResult> =>
  settled(
    bench.gateway.startCall(who, where.id, {
      action: `acme.${action}`,
      input,
      ...(repeatOf === undefined ? {} : { repeatOf }),
    }).done,
  );
const order = (name = "x", repeatOf?: string) => ask("order.place", { shop: 12, name }, repeatOf);
const operationOf = (id: string | null): Operation => bench.gateway.operations.get(id as OperationId);
const writes = (): number => provider.received.filter(({ method }) => method !== "GET").length;

const settlement = (id: string | null, happened: boolean, change: Partial<SettlementStatement> = {}) =>
  bench.settlement(String(id), happened, change);

/** The refusal, which names what is open. */
async function refusal(
  work: Promise<unknown>,
): Promise<{ readonly operation_id: string | null; readonly call_id: string; readonly state: string }> {
  const error = await work.then(
    () => assert.fail("it was not refused"),
    (cause: unknown) => cause,
  );
  assert.ok(error instanceof Denied, String(error));
  assert.equal(error.code, "outcome_unsettled", error.message);
  return error.extra["open"] as { operation_id: string | null; call_id: string; state: string };
}

test("the same call while its outcome is unknown is answered with the open operation, and nothing is sent", async () => {
  const first = await order();
  assert.deepEqual([first.outcome, first.retry_allowed], ["unknown", false]);
  const open = await refusal(order());
  assert.deepEqual([open.operation_id, open.state], [first.operation_id, "create_unknown"]);
  assert.equal(writes(), 1);
  assert.equal((await order("another")).outcome, "unknown", "another call is another side effect");
  assert.equal(writes(), 2);
});

test("a claim is what would happen, and not how an agent spells it", async () => {
  const { operation_id } = await order();
  assert.equal((await refusal(ask("order.place", { shop: "12", name: "x", kind: "book" }))).operation_id, operation_id);
  assert.equal(writes(), 1);
});

test("a claim holds across callers, runs, sessions and restarts of the home", async () => {
  const { operation_id } = await order();
  const stranger = scriptedCaller();
  const theirs = await openApproved(stranger);
  const input = { shop: 12, name: "x" };
  assert.equal((await refusal(ask("order.place", input, undefined, stranger, theirs))).operation_id, operation_id);
  await restart();
  run = await openApproved(caller);
  assert.equal((await refusal(order())).operation_id, operation_id);
  assert.equal(writes(), 1);
});

test("whoever nobody has let in learns nothing of what is open", async () => {
  await order();
  const stranger = scriptedCaller();
  const theirs = await bench.openRun(stranger, ACTIONS, { sideEffects: 5 });
  const asked = bench.gateway.startCall(stranger, theirs.id, {
    action: "acme.order.place",
    input: { shop: 12, name: "x" },
  });
  asked.done.catch(() => undefined);
  await bench.deny("no");
  await assert.rejects(asked.done, denies("approval_denied"));
});

test("of two callers at once one sends, and the other is told of the one under way", async () => {
  const gate = Promise.withResolvers<void>();
  post = (_request, response) => void gate.promise.then(() => answerJson(response, 200, { ok: true }));
  const stranger = scriptedCaller();
  const theirs = await openApproved(stranger);
  const input = { shop: 1, name: "both" };
  const both = [
    bench.gateway.startCall(caller, run.id, { action: "acme.order.place", input }).done,
    bench.gateway.startCall(stranger, theirs.id, { action: "acme.order.place", input }).done,
  ];
  for (const one of both) one.catch(() => undefined);
  await untilDone(bench.time, 0, () => provider.received.length === 1);
  const [late] = await Promise.all([
    refusal(
      Promise.any(
        both.map((one) =>
          one.then(
            () => Promise.reject(),
            (e) => e,
          ),
        ),
      ).then((error) => Promise.reject(error)),
    ),
  ]);
  assert.deepEqual([late.operation_id, late.state], [null, "being_sent"]);
  const named = await refusal(ask("order.place", input, late.call_id));
  assert.deepEqual([named.state, bench.gateway.desk.list()], ["being_sent", []], "nobody is asked to go past it");
  gate.resolve();
  await untilDone(bench.time, 0, () => true);
  const ends = await settled(Promise.allSettled(both));
  assert.equal(ends.filter(({ status }) => status === "fulfilled").length, 1);
  assert.equal(writes(), 1);
  post = (_request, response) => answerJson(response, 200, { ok: true });
  assert.equal((await ask("order.place", input)).outcome, "success", "once it is known the same call is a new one");
  assert.equal(writes(), 2);
});

test("what is known leaves no claim: a success and a refusal may be followed by the same call", async () => {
  for (const status of [200, 422, 200]) {
    post = (_request, response) => answerJson(response, status, {});
    assert.equal((await order()).outcome, status === 200 ? "success" : "error");
  }
  assert.equal(writes(), 3);
  assert.deepEqual(bench.rows("notes", "claim"), []);
});

test("a person decides otherwise on a card that says what is open, when and by whom, and it is sent once", async () => {
  const { operation_id } = await order();
  const asked = bench.gateway.startCall(caller, run.id, {
    action: "acme.order.place",
    input: { shop: 12, name: "x" },
    repeatOf: String(operation_id),
  });
  asked.done.catch(() => undefined);
  const { card } = await bench.waiting();
  assert.ok(card?.call?.because.some((line) => line.includes(String(operation_id))));
  const note = card?.notes[0] ?? "";
  for (const part of [String(operation_id), "create_unknown", run.id, " pid ", "started at"])
    assert.ok(note.includes(part), note);
  post = (_request, response) => answerJson(response, 200, { ok: true });
  await bench.approve();
  assert.equal((await settled(asked.done)).outcome, "success");
  assert.equal(writes(), 2);
  assert.equal((await refusal(order())).operation_id, operation_id, "the first one is as open as before");
});

test("past eight that are open nobody is asked about another one", async () => {
  let { operation_id } = await order();
  for (let open = 1; open < 8; open++) {
    const asked = order("x", String(operation_id));
    await bench.approve();
    ({ operation_id } = await asked);
  }
  assert.equal((await refusal(order("x", String(operation_id)))).operation_id, operation_id);
  assert.deepEqual([writes(), bench.gateway.desk.list()], [8, []]);
});

test("a repeat that is denied, or names something else, or nothing open, sends nothing", async () => {
  const { operation_id } = await order();
  await refusal(order("x", "op_01m3250vz8epz2pm4gts0q9nj2"));
  const asked = bench.gateway.startCall(caller, run.id, {
    action: "acme.order.place",
    input: { shop: 12, name: "x" },
    repeatOf: String(operation_id),
  });
  asked.done.catch(() => undefined);
  await bench.deny("wait for the shop");
  await assert.rejects(settled(asked.done), denies("approval_denied"));
  await assert.rejects(order("never", String(operation_id)), denies("operation_settled"));
  assert.equal(writes(), 1);
});

test("a read is no second call of anything: with repeat_of it is refused, and nothing is sent", async () => {
  const { operation_id } = await order();
  const before = provider.received.length;
  const preview = { project_id: "p1", subject_id: "s1", role: "viewer", if_match: "1" };
  await assert.rejects(ask("membership.plan", preview, String(operation_id)), denies("operation_settled"));
  assert.equal(provider.received.length, before);
});

test("a person's word that finds the log full holds at once, and is in the log when there is room", async () => {
  await bench.abandon();
  let full = false;
  await startGateway(undefined, undefined, {
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      async append(events) {
        if (full && events.some(({ event_type }) => event_type === "operation_settled"))
          throw new Denied("log_backlogged", "full");
        return sink.append(events);
      },
    }),
  });
  run = await openApproved(caller);
  const { operation_id } = await order();
  full = true;
  const said = bench.gateway.settle(settlement(operation_id, false));
  await bench.time.advance(1_000);
  const kept = () => bench.events().filter(({ event_type }) => event_type === "operation_settled").length;
  assert.deepEqual([operationOf(operation_id).state, kept()], ["failed", 0]);
  full = false;
  await settled(said);
  assert.equal(kept(), 1);
});

test("what turned out to have happened while the person thought is not sent again", async () => {
  const { operation_id } = await order();
  const asked = bench.gateway.startCall(caller, run.id, {
    action: "acme.order.place",
    input: { shop: 12, name: "x" },
    repeatOf: String(operation_id),
  });
  asked.done.catch(() => undefined);
  await bench.waiting();
  await bench.gateway.settle(settlement(operation_id, true));
  await bench.approve();
  await assert.rejects(settled(asked.done), denies("operation_settled"));
  assert.equal(writes(), 1);
});

test("a signed word of a person settles what nothing else can tell, is in the log as signed, and frees the call", async () => {
  const { operation_id } = await order();
  const said = settlement(operation_id, false);
  const stored = bench.rows("operations", "create_unknown");
  await bench.time.advance(1_000);
  await assert.rejects(bench.gateway.settle({ ...said, signature: "AAAA" }), denies("signature_invalid"));
  await assert.rejects(
    bench.gateway.settle(settlement(operation_id, false, { request_fingerprint: "sha256:00" })),
    denies("card_mismatch"),
  );
  assert.deepEqual(bench.rows("operations", "create_unknown"), stored, "not even a lease is taken for it");
  assert.equal(operationOf(operation_id).problem?.code, "operation_not_reconcilable");
  const [after, again] = await Promise.allSettled([bench.gateway.settle(said), bench.gateway.settle(said)]);
  assert.ok(after.status === "fulfilled" && again.status === "rejected" && denies("operation_settled")(again.reason));
  assert.deepEqual([after.value.state, after.value.problem, after.value.nextPoll], ["failed", null, null]);
  const event = bench.events().find(({ event_type }) => event_type === "operation_settled");
  assert.ok(event?.event_type === "operation_settled");
  assert.deepEqual([event.happened, event.operator, event.signature], [false, "ada", said.signature]);
  assert.deepEqual(JSON.parse(event.statement), said.statement);
  assert.ok(
    bench.eventsOf("budget_settled").every(({ reason }) => reason !== "reconciled"),
    "nothing was held for it",
  );
  await assert.rejects(bench.gateway.settle(said), denies("operation_settled"));
  post = (_request, response) => answerJson(response, 200, { ok: true });
  assert.equal((await order()).outcome, "success");
});

test("while evidence may come by itself nobody settles, unless they say why not to wait", async () => {
  const { operation_id } = await ask("thing.change", { id: "7", name: "new" });
  await assert.rejects(bench.gateway.settle(settlement(operation_id, true)), denies("operation_evidence_pending"));
  const after = await bench.gateway.settle(settlement(operation_id, true, { although: "the provider is closing" }));
  assert.equal(after.state, "succeeded");
});

test("while its read is on the way nobody settles, whatever they say: its answer decides", async () => {
  const { operation_id } = await ask("thing.change", { id: "7", name: "new" });
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  read = (_request, response) => {
    asked.resolve();
    void answer.promise.then(() => answerJson(response, 500, {}));
  };
  const operation = operationOf(operation_id);
  const reading = bench.gateway.reconcile(caller, operation.id).catch(() => undefined);
  await asked.promise;
  assert.equal(operation.state, "reconciliation");
  const although = "the provider is closing";
  const said = () => bench.gateway.settle(settlement(operation_id, true, { although }));
  await assert.rejects(said(), denies("operation_evidence_pending"));
  assert.equal(operation.state, "reconciliation");
  answer.resolve();
  await reading;
  assert.equal((await said()).state, "succeeded");
});

test("a job that the provider accepted is not started a second time while it runs", async () => {
  post = (_request, response) => answerJson(response, 202, { job_id: "job-1", state: "queued" });
  const first = await ask("report.create", { account: "a" });
  const open = await refusal(ask("report.create", { account: "a" }));
  assert.equal(open.operation_id, first.operation_id);
  assert.equal(writes(), 1);
  read = (request, response) =>
    answerJson(response, 200, request.url.endsWith("/result") ? { rows: 1 } : { job_id: "job-1", state: "succeeded" });
  await untilDone(bench.time, 2_000, () => bench.rows("operations", "succeeded").length === 1);
  assert.notEqual((await ask("report.create", { account: "a" })).operation_id, first.operation_id);
});

test("a second preview of the same leads to no second execution while the first is open", async () => {
  const input = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r1" };
  let plans = 0;
  post = (request, response) =>
    request.url.endsWith("/plan")
      ? answerJson(response, 200, previewBody({ plan_id: `pln-${++plans}` }))
      : response.destroy();
  const preview = async (): Promise<JsonObject> => (await ask("membership.plan", input)).plan ?? assert.fail("no plan");
  const execute = async (plan: JsonObject): Promise<CallResult> => {
    const call = bench.gateway.startExecution(caller, plan["plan_id"] as never, String(plan["expected_revision"]));
    call.done.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    if (bench.gateway.desk.list().length > 0) await bench.approve();
    return settled(call.done);
  };
  const first = await execute(await preview());
  assert.equal(first.outcome, "unknown");
  assert.equal((await refusal(execute(await preview()))).operation_id, first.operation_id);
  assert.equal(provider.received.filter(({ url }) => url === "/memberships").length, 1);
});

test("a redirected write is unknown, and holds its claim", async () => {
  for (const status of [303, 307]) {
    post = (request, response) =>
      request.url.includes("elsewhere")
        ? answerJson(response, 404, {})
        : response.writeHead(status, { location: "/v1/elsewhere" }).end();
    read = (_request, response) => answerJson(response, 200, { ok: true });
    const result = await order(`r${status}`);
    assert.equal(result.outcome, "unknown", String(status));
    assert.equal((await refusal(order(`r${status}`))).operation_id, result.operation_id);
  }
});

test("a refusal after a try that nobody saw the end of leaves it unknown", async () => {
  const statuses = [503, 400];
  post = (_request, response) => answerJson(response, statuses.shift() ?? 500, {});
  const result = await ask("thing.change", { id: "7", name: "new" });
  assert.deepEqual([result.outcome, writes()], ["unknown", 2]);
  await refusal(ask("thing.change", { id: "7", name: "new" }));
});

test("an answer nested past every bound is still the receipt of what was done", async () => {
  const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
  post = (_request, response) => {
    response.writeHead(201, { "content-type": "application/json" });
    response.end(deep);
  };
  const result = await order();
  assert.deepEqual([result.outcome, result.response?.body_kind], ["success", "text"]);
  assert.ok(JSON.stringify(result).length > 0);
});

test("a call that was on its way when the gateway was killed holds its claim by the operation that a start makes of it", async () => {
  const gate = Promise.withResolvers<void>();
  post = (_request, response) => void gate.promise.then(() => response.destroy());
  bench.gateway
    .startCall(caller, run.id, { action: "acme.order.place", input: { shop: 12, name: "x" } })
    .done.catch(() => undefined);
  await untilDone(bench.time, 0, () => provider.received.length === 1);
  // Another pack now: nothing can find out any more, and a person still can decide.
  await restart((pack) => pack.replace("maxLength: 8", "maxLength: 9"));
  gate.resolve();
  run = await openApproved(caller);
  const open = await refusal(order());
  assert.equal(operationOf(open.operation_id).problem?.code, "definition_changed");
  await bench.gateway.settle(settlement(open.operation_id, true));
  post = (_request, response) => answerJson(response, 200, {});
  assert.equal((await order()).outcome, "success");
  assert.equal(writes(), 2);
});

/** A store as 0.1 wrote it: the same rows without claims, and without what claims added to them. */
const before02: Partial<BenchOptions> = {
  wrapStore: (store) => ({
    ...store,
    commit(rows, durability) {
      const kept = rows.filter(({ table, runId }) => table !== "notes" || runId !== "claim");
      return store.commit(
        kept.map((row) => {
          const { claim: _claim, plan: _plan, ...body } = row.body;
          return row.table === "operations" || row.table === "attempts" ? { ...row, body } : row;
        }),
        durability,
      );
    },
  }),
};

test("what a 0.1 home left open gets its claim at the first start, and the same call is not sent", async () => {
  const { time } = bench;
  await bench.close();
  await startGateway(time, undefined, before02);
  run = await openApproved(caller);
  const membership = { project_id: "p1", subject_id: "u1", role: "editor", if_match: "r7" };
  const decided = async (work: Promise<CallResult>): Promise<CallResult> => {
    let done = false;
    work.catch(() => undefined).finally(() => (done = true));
    await untilDone(bench.time, 100, () => done || bench.gateway.desk.list().length > 0);
    if (!done) await bench.approve();
    return settled(work);
  };
  const execute = async (): Promise<CallResult> => {
    const asked = { action: "acme.membership.apply", input: membership };
    const { plan } = await settled(bench.gateway.startPlan(caller, run.id, asked).done);
    const { plan_id, expected_revision } = (plan ?? assert.fail("no plan")) as JsonObject;
    return decided(bench.gateway.startExecution(caller, plan_id as never, String(expected_revision)).done);
  };
  const undo = (): Promise<CallResult> => {
    const input = { origin_deployment_id: "dep-5", reason: "it burns" };
    return decided(bench.gateway.startCall(caller, run.id, { action: "acme.deployment.rollback", input }).done);
  };
  post = (request, response) => {
    if (request.url.endsWith("/plan")) return answerJson(response, 200, previewBody());
    if (!request.url.endsWith("/promote")) return response.destroy();
    answerJson(response, 201, {
      ...{ deployment_id: "dep-5", environment: "production", release_id: "sha256:r1", prior_release_id: "sha256:r0" },
      ...{ created_target_generation: 5, reversibility: "reversible_at_application_level" },
    });
  };
  await ask("deployment.promote", { environment: "production", release: "sha256:r1" });
  const report = () => ask("report.create", { account: "a" });
  const made = [await order(), await report(), await execute(), await undo()];
  const open = made.map(({ operation_id }) => operation_id);
  assert.ok(open.every((id) => id !== null));
  assert.deepEqual(bench.rows("notes", "claim"), [], "0.1 knew of none");
  // One more is on its way when that gateway is killed.
  const gate = Promise.withResolvers<void>();
  const answer = post;
  post = (_request, response) => void gate.promise.then(() => response.destroy());
  const before = provider.received.length;
  const killed = { action: "acme.order.place", input: { shop: 12, name: "killed" } };
  bench.gateway.startCall(caller, run.id, killed).done.catch(() => undefined);
  await untilDone(bench.time, 0, () => provider.received.length > before);
  await restart();
  gate.resolve();
  post = answer;
  run = await openApproved(caller);
  const sent = () => provider.received.filter(({ method, url }) => method === "POST" && !url.endsWith("/plan")).length;
  const effects = sent();
  const refusals = [await refusal(order()), await refusal(report()), await refusal(execute()), await refusal(undo())];
  assert.deepEqual(
    refusals.map(({ operation_id }) => operation_id),
    open,
  );
  assert.match(String((await refusal(order("killed"))).operation_id), /^op_/);
  assert.equal(sent(), effects, "nothing was sent a second time");
});

test("a write whose completion cannot be written down is unknown, never refused, and holds its claim after a start", async () => {
  const { time } = bench;
  await bench.close();
  let broken = false;
  await startGateway(time, undefined, {
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      append(events) {
        const ends = events.some(({ event_type }) => event_type === "attempt_ended");
        return broken && ends ? Promise.reject(new Error("ENOSPC")) : sink.append(events);
      },
    }),
  });
  run = await openApproved(caller);
  post = (_request, response) => answerJson(response, 200, {});
  broken = true;
  assert.equal((await order()).outcome, "unknown");
  assert.equal(writes(), 1);
  await restart();
  run = await openApproved(caller);
  await refusal(order());
  assert.equal(writes(), 1);
});

test("over random faults, repeats, restarts and concurrent callers, the effects are at most what was authorized as distinct", async () => {
  const step = fc.record({
    what: fc.constantFrom("call", "both", "repeat", "settle", "restart", "reconcile"),
    answer: fc.constantFrom("ok", "lost", "refused", "unsure", "led"),
    name: fc.constantFrom("a", "b"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), fc.nat(1_000_000), async (steps, salt) => {
      const effects = new Map<string, number>();
      const authorized = new Map<string, number>();
      const open = new Map<string, string>();
      const add = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
      for (const { what, answer, name: short } of steps) {
        const name = `${short}-${salt}`;
        post = (request, response) => {
          const happens = answer !== "refused";
          if (happens && !request.url.includes("elsewhere")) add(effects, JSON.parse(request.body).name as string);
          if (answer === "ok") return answerJson(response, 200, {});
          if (answer === "refused") return answerJson(response, 422, {});
          if (answer === "unsure") return answerJson(response, 502, {});
          if (answer === "led") return response.writeHead(303, { location: "/v1/elsewhere" }).end();
          return response.destroy();
        };
        read = (_request, response) => answerJson(response, 200, {});
        const call = (repeatOf?: string) =>
          bench.gateway.startCall(caller, run.id, {
            action: "acme.order.place",
            input: { shop: 1, name },
            ...(repeatOf === undefined ? {} : { repeatOf }),
          });
        const finish = async (work: Promise<CallResult>, distinct: boolean): Promise<void> => {
          const result = await settled(work).catch((error: unknown) => error);
          if (result instanceof Denied) return;
          if (distinct) add(authorized, name);
          const { outcome, operation_id } = result as CallResult;
          if (outcome === "unknown") open.set(name, String(operation_id));
        };
        switch (what) {
          case "call":
            // Authorized as distinct only where nothing of the same is open.
            await finish(call().done, !open.has(name));
            break;
          case "both": {
            const fresh = !open.has(name);
            const both = [call().done, call().done];
            for (const one of both) one.catch(() => undefined);
            await finish(both[0] as Promise<CallResult>, fresh);
            // The second one is a second intent only if the first had ended well by then.
            await finish(both[1] as Promise<CallResult>, !open.has(name));
            break;
          }
          case "repeat": {
            const asked = call(open.get(name) ?? "op_01m3250vz8epz2pm4gts0q9nj2");
            asked.done.catch(() => undefined);
            for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
            const waits = bench.gateway.desk.list().length > 0;
            if (waits) await bench.approve();
            await finish(asked.done, waits);
            break;
          }
          case "settle": {
            const id = open.get(name);
            if (id === undefined) break;
            const happened = (effects.get(name) ?? 0) > 0;
            await bench.gateway.settle(settlement(id, happened, { although: "told" })).catch(() => undefined);
            open.delete(name);
            break;
          }
          case "reconcile":
            await bench.gateway.operations.reconcile(open.get(name) as OperationId, "ada").catch(() => undefined);
            break;
          case "restart":
            await restart();
            caller = scriptedCaller();
            run = await openApproved(caller);
        }
        for (const [key, count] of effects) assert.ok(count <= (authorized.get(key) ?? 0), `${key} ${count}`);
      }
    }),
    { numRuns: 25 },
  );
});
