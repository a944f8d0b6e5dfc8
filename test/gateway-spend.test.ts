import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { STANDARD_CEILINGS } from "../src/conventions/budget/ceilings.ts";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { StateStore } from "../src/gateway/ports.ts";
import { createDaySpend } from "../src/gateway/run/day-spend.ts";
import type { Run } from "../src/gateway/run/run.ts";
import { Denied } from "../src/kernel/failure.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { answerJson } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const pack = (origin: string) => `
format: gw.pack/v1
pack: post
provider:
  origin: ${origin}
  credential: post-token
actions:
  letter.send:
    effect: send
    preview: none
    max_cost_cents: 100
    actual_cost: { member: /charge/amount, unit: decimal, currency: EUR, currency_member: /charge/currency }
    request: { method: POST, path: /v1/letters, body: application/json }
    input: { to: { in: body, type: string, maxLength: 64 } }
  text.send:
    effect: send
    max_cost_cents: 10
    actual_cost: { header: X-Price, unit: cents }
    request: { method: POST, path: /v1/texts, body: application/json }
    input: { to: { in: body, type: string, maxLength: 64 } }
  report.read:
    effect: read
    max_cost_cents: 30
    request: { method: GET, path: "/v1/reports/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  caller = scriptedCaller();
  bench = await startBench(pack(provider.origin), {
    credentials: [["post-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(spendCents: number): Promise<Run> {
  return bench.openApproved(caller, ["post.letter.send", "post.text.send", "post.report.read"], {
    spendCents,
    sideEffects: 5,
  });
}

async function call(run: Run, action: string, input: Record<string, string>, approve = false): Promise<CallResult> {
  let done = false;
  const work = bench.gateway.startCall(caller, run.id, { action: `post.${action}`, input }).done;
  work.catch(() => undefined).finally(() => (done = true));
  if (approve) await bench.approve();
  await untilDone(bench.time, 100, () => done);
  return work;
}

const letter = (amount: string, currency = "EUR") =>
  provider.answer((_request, response) => answerJson(response, 201, { charge: { amount, currency } }));

function settled() {
  const events = bench.eventsOf("budget_settled");
  return events.at(-1) as unknown as Record<string, unknown>;
}

test("the reserve is settled with the price that the answer states, in a member or in a header", async () => {
  const run = await openApproved(500);
  letter("0.85");
  const sent = await call(run, "letter.send", { to: "ada" }, true);
  assert.deepEqual(sent.cost, { reserved_cents: 100, charged_cents: 85, basis: "stated", overage_cents: 0 });
  provider.answer((_request, response) => {
    response.writeHead(200, { "x-price": "7" });
    response.end();
  });
  assert.equal((await call(run, "text.send", { to: "ada" })).cost?.charged_cents, 7);
  assert.deepEqual([run.budget.settledSpendCents, run.budget.reservedSpendCents], [92, 0]);
  const { charged_cents, charge_basis, reservation, budget, decision } = settled();
  assert.deepEqual([charged_cents, charge_basis, decision], [7, "stated", "allow"]);
  assert.deepEqual(reservation, { action: "post.text.send", maximum_cents: 10, provider_reference: null });
  assert.equal((budget as { spend_remaining_cents: number }).spend_remaining_cents, 408);
});

test("an answer that does not say its price plainly, or in another currency, costs the maximum", async () => {
  const run = await openApproved(500);
  letter("0.10", "USD");
  assert.equal((await call(run, "letter.send", { to: "ada" }, true)).cost?.basis, "assumed");
  letter("free");
  await call(run, "letter.send", { to: "bob" }, true);
  assert.equal(run.budget.settledSpendCents, 200);
});

test("an intent that could not be written down is not sent, and gives its whole reservation back", async () => {
  await bench.close();
  let full = false;
  bench = await startBench(pack(provider.origin), {
    credentials: [["post-token", { eachUse: false, disabled: false, origin: provider.origin }]],
    wrapAudit: (sink) => ({
      head: () => sink.head(),
      hasRoom: () => sink.hasRoom(),
      append(events) {
        const intends = events.some(({ event_type }) => event_type === "call_begun");
        if (full && intends) return Promise.reject(new Denied("log_backlogged", "too much at once"));
        return sink.append(events);
      },
    }),
  });
  const run = await openApproved(30);
  full = true;
  await assert.rejects(call(run, "report.read", { id: "1" }), denies("log_backlogged"));
  assert.equal(provider.received.length, 0);
  assert.deepEqual([run.budget.reservedSpendCents, run.budget.settledSpendCents], [0, 0]);
  full = false;
  assert.equal((await call(run, "report.read", { id: "1" })).outcome, "success", "all of it can still be spent");
});

test("a price beyond the reserve is an overage: recorded, told, and the end of all further spend of the run", async () => {
  const run = await openApproved(500);
  letter("1.50");
  const sent = await call(run, "letter.send", { to: "ada" }, true);
  assert.deepEqual(sent.cost, { reserved_cents: 100, charged_cents: 150, basis: "stated", overage_cents: 50 });
  assert.deepEqual([settled()["overage_cents"], settled()["charged_cents"]], [50, 150]);
  assert.equal(run.budget.stopReason, "spend_overage");
  const before = provider.received.length;
  await assert.rejects(call(run, "text.send", { to: "ada" }), (error: unknown) => {
    assert.ok(error instanceof Denied);
    return error.code === "spend_overage";
  });
  assert.equal(provider.received.length, before);
});

test("a rejection that states a charge is charged, and one that states none is not", async () => {
  const run = await openApproved(500);
  provider.answer((_request, response) => {
    response.writeHead(422, { "x-price": "3" });
    response.end();
  });
  assert.equal((await call(run, "text.send", { to: "ada" })).cost?.charged_cents, 3);
  provider.answer((_request, response) => response.writeHead(422).end());
  assert.equal((await call(run, "text.send", { to: "bob" })).cost?.basis, "released");
  assert.equal(run.budget.settledSpendCents, 3);
});

test("a call that is redirected is charged once", async () => {
  const run = await openApproved(30);
  provider.answer(({ url }, response) =>
    url === "/v1/reports/1"
      ? response.writeHead(307, { location: "/v1/reports/2" }).end()
      : answerJson(response, 200, { id: "2" }),
  );
  assert.equal((await call(run, "report.read", { id: "1" })).outcome, "success");
  assert.deepEqual([run.budget.attemptsUsed, run.budget.settledSpendCents, run.budget.reservedSpendCents], [2, 30, 0]);
});

test("limits of the fleet count the money of a call once, by its first send, and learn what each send cost beside that", async () => {
  await bench.close();
  const counts: unknown[] = [];
  const settled: string[] = [];
  const admit = () => undefined;
  const credentials = [["post-token", { eachUse: false, disabled: false, origin: provider.origin }]] as const;
  bench = await startBench(pack(provider.origin), {
    credentials,
    hub: {
      admit,
      beforeSend: () => Promise.resolve(),
      count({ cents, sideEffect, credential, grant }) {
        counts.push([cents, sideEffect, credential, grant]);
        const nth = counts.length;
        const settle = (more: number): void => void settled.push(`${nth}: ${more}`);
        return Promise.resolve({ settle, giveBack: () => void settled.push(`${nth}: back`) });
      },
      holdsAnswers: () => false,
      beforeAnswer: () => Promise.resolve(),
    },
  });
  const run = await openApproved(500);
  letter("0.85");
  await call(run, "letter.send", { to: "ada" }, true);
  letter("1.50");
  await call(run, "letter.send", { to: "bob" }, true);
  assert.deepEqual([counts, settled], [Array(2).fill([100, true, "post-token", null]), ["1: -15", "2: 50"]]);
  counts.length = settled.length = 0;
  const other = await openApproved(500);
  provider.answer(({ url }, response) =>
    url === "/v1/reports/1"
      ? response.writeHead(307, { location: "/v1/reports/2" }).end()
      : answerJson(response, 404, {}),
  );
  await call(other, "report.read", { id: "1" });
  const read = (cents: number) => [cents, false, "post-token", null];
  assert.deepEqual(
    [counts, settled],
    [
      [read(30), read(0)],
      ["1: 0", "1: -30"],
    ],
  );
});

test("no run passes the ceilings of policy, also an approved one, and narrower wins at once", async () => {
  bench.posture.ceilings = { ...STANDARD_CEILINGS, spendCents: 40, attempts: 3, durationMs: 60_000 };
  const run = await bench.openRun(caller, ["post.text.send"], {
    spendCents: 100_000_000,
    attempts: 10,
    sideEffects: 5,
  });
  const { limits } = run.budget;
  assert.deepEqual([limits.spendCents, limits.attempts, limits.durationMs, limits.sideEffects], [40, 3, 60_000, 5]);
  const { card } = await bench.waiting();
  assert.equal(card?.run.budget.spend_cents, 40, "the card shows what holds");
  await bench.approve();
  await run.admission?.session;
  await call(run, "text.send", { to: "ada" });
  bench.posture.ceilings = { ...bench.posture.ceilings, attempts: 1 };
  await assert.rejects(call(run, "text.send", { to: "bob" }), { code: "attempts_exhausted" });
  assert.equal(provider.received.length, 1);
});

test("all runs of a day together stay within the day's ceiling, until the next day", async () => {
  bench.posture.ceilings = { ...STANDARD_CEILINGS, daySpendCents: 25 };
  const first = await openApproved(100);
  await call(first, "text.send", { to: "ada" });
  const second = await openApproved(100);
  await call(second, "text.send", { to: "bob" });
  await assert.rejects(call(second, "text.send", { to: "eve" }), { code: "day_spend_exhausted" });
  assert.deepEqual(
    bench.rows("notes", "day_spend").map(({ cents }) => cents),
    [20],
    "and the store knows it",
  );
  assert.equal(provider.received.length, 2);
});

test("what was reserved before midnight and is not charged after it is no credit for the new day", async () => {
  bench.posture.ceilings = { ...STANDARD_CEILINGS, daySpendCents: 40 };
  const nextDayMs = 86_400_000 - (bench.time.clock.wallMs() % 86_400_000);
  await bench.time.advance(nextDayMs - 5_000);
  const [first, second] = [await openApproved(100), await openApproved(100)];
  const arrived = Promise.withResolvers<() => void>();
  provider.answer((_request, response) => arrived.resolve(() => answerJson(response, 400, {})));
  const late = bench.gateway.startCall(caller, first.id, { action: "post.report.read", input: { id: "1" } }).done;
  const answer = await arrived.promise;
  await bench.time.advance(5_000);
  provider.answer((_request, response) => answerJson(response, 200, {}));
  assert.equal((await call(second, "report.read", { id: "2" })).outcome, "success");
  answer();
  assert.equal((await late).cost?.charged_cents, 0);
  assert.deepEqual(
    bench.rows("notes", "day_spend").map(({ cents }) => cents),
    [30],
  );
  await assert.rejects(call(second, "report.read", { id: "3" }), { code: "day_spend_exhausted" });
});

test("what a call before a redirect was charged before midnight is no credit for the new day", async () => {
  bench.posture.ceilings = { ...STANDARD_CEILINGS, daySpendCents: 40 };
  const nextDayMs = 86_400_000 - (bench.time.clock.wallMs() % 86_400_000);
  await bench.time.advance(nextDayMs - 5_000);
  const [first, second] = [await openApproved(100), await openApproved(100)];
  const arrived = Promise.withResolvers<() => void>();
  provider.answer((_request, response) =>
    arrived.resolve(() => response.writeHead(307, { location: "/v1/reports/2" }).end()),
  );
  const late = bench.gateway.startCall(caller, first.id, { action: "post.report.read", input: { id: "1" } }).done;
  const redirect = await arrived.promise;
  await bench.time.advance(5_000);
  provider.answer((_request, response) => answerJson(response, 200, {}));
  assert.equal((await call(second, "report.read", { id: "3" })).outcome, "success");
  provider.answer((_request, response) => answerJson(response, 400, {}));
  redirect();
  assert.equal((await late).cost?.basis, "released");
  assert.deepEqual(
    bench.rows("notes", "day_spend").map(({ cents }) => cents),
    [30],
  );
  await assert.rejects(call(second, "report.read", { id: "4" }), { code: "day_spend_exhausted" });
});

test("what was spent today is found again at a start, and an edited row lets nothing be spent today", () => {
  let wallMs = Date.UTC(2026, 10, 15, 23);
  const store = (row: object) => ({ load: () => [row] }) as unknown as StateStore;
  const kept = {
    table: "notes",
    id: "day_spend",
    runId: "",
    state: "day_spend",
    body: { day: "2026-11-15", cents: 7 },
  };
  const found = createDaySpend({ wallMs: () => wallMs });
  found.load(store(kept));
  assert.equal(found.spentCents(), 7);
  const edited = createDaySpend({ wallMs: () => wallMs });
  edited.load(store({ tampered: "day_spend" }));
  assert.equal(edited.spentCents(), Number.MAX_SAFE_INTEGER);
  wallMs += 86_400_000;
  assert.deepEqual([found.spentCents(), edited.spentCents()], [0, 0]);
  wallMs -= 86_400_000;
  found.add(5);
  assert.equal(found.spentCents(), 5, "a clock that goes back starts no new day");
});
