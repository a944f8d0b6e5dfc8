import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import type { CallResult } from "../src/conventions/outcome/result.ts";
import type { Run } from "../src/gateway/run/run.ts";
import type { JsonObject, JsonValue } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { answerJson } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** The read that confirms a success: what it is bound from, under whose yes it is made, and what it proves. */
let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
let receipt: JsonValue;
let shown: { status: number; body: JsonValue };

const pack = (origin: string) => `
format: gw.pack/v1
pack: acme
provider: { origin: "${origin}", credential: acme-token, auth: { scheme: bearer }, network: private }
actions:
  note.create:
    effect: create
    max_cost_cents: 0
    request: { method: POST, path: /v1/notes, body: application/json }
    input: { title: { in: body, type: string, maxLength: 64 } }
    confirm: note.get
  note.put:
    effect: write
    request: { method: POST, path: "/v1/notes/{id}", body: application/json }
    input: { id: { in: path, type: string, maxLength: 64 }, title: { in: body, type: string, maxLength: 64 } }
    confirm: note.get
  note.keep:
    effect: write
    request: { method: PUT, path: "/v1/notes/{id}", body: application/json }
    input: { id: { in: path, type: string, maxLength: 64 }, title: { in: body, type: string, maxLength: 64 } }
    confirm: note.open
  note.get:
    effect: read
    max_cost_cents: 1
    request: { method: GET, path: "/v1/notes/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
  note.list:
    effect: read
    request: { method: GET, path: /v1/notes }
  note.open:
    effect: read
    needs: { approval: each_use }
    request: { method: GET, path: "/v1/notes/{id}/text" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;

const ACTIONS = ["create", "put", "keep", "get", "list"].map((name) => `acme.note.${name}`);

beforeEach(async () => {
  provider = await startProvider();
  receipt = { id: "n7" };
  shown = { status: 200, body: { title: "new" } };
  provider.answer(({ method }, response) =>
    method === "GET" ? answerJson(response, shown.status, shown.body) : answerJson(response, 200, receipt),
  );
  caller = scriptedCaller();
  bench = await startBench(pack(provider.origin));
  mark(false);
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

const mark = (eachUse: boolean) =>
  void bench.credentials.set("acme-token", { eachUse, disabled: false, origin: provider.origin });
const openApproved = (limits = {}): Promise<Run> =>
  bench.openApproved(caller, ACTIONS, {
    sideEffects: 20,
    spendCents: 20,
    ...limits,
  });
const call = (run: Run, action: string, input: JsonObject): Promise<CallResult> =>
  bench.gateway.startCall(caller, run.id, { action: `acme.note.${action}`, input }).done;
const reads = (): readonly string[] => provider.received.flatMap(({ method, url }) => (method === "GET" ? [url] : []));

test("what the read is looked up by comes from the receipt where the call did not say it, and from the call where it did", async () => {
  const run = await openApproved();
  assert.equal((await call(run, "create", { title: "new" })).confirmed, true);
  assert.deepEqual(reads(), ["/v1/notes/n7"]);
  receipt = { id: "another" };
  assert.equal((await call(run, "put", { id: "n8", title: "new" })).confirmed, true);
  assert.deepEqual(reads(), ["/v1/notes/n7", "/v1/notes/n8"]);
});

test("a success whose read nobody can bind, or that the budget has no attempt for, stands unconfirmed and nothing is read", async () => {
  const run = await openApproved();
  for (const [nth, answer] of [null, "n7", ["n7"], {}, { id: { of: "n7" } }, { id: "n".repeat(65) }].entries()) {
    receipt = answer;
    const { outcome, confirmed } = await call(run, "create", { title: `new ${nth}` });
    assert.deepEqual([outcome, confirmed], ["success", false], JSON.stringify(answer));
  }
  receipt = { id: "n7" };
  const last = await call(await openApproved({ attempts: 1 }), "create", { title: "new" });
  assert.deepEqual([last.outcome, last.confirmed, reads()], ["success", false, []]);
});

test("a refusal of the read confirms nothing, whatever it shows", async () => {
  shown = { status: 404, body: { title: "new" } };
  const { outcome, confirmed } = await call(await openApproved(), "create", { title: "new" });
  assert.deepEqual([outcome, confirmed, reads().length], ["success", false, 1]);
  assert.deepEqual(bench.eventsOf("reconciled_success"), []);
});

test("a read that asks a person on every use is made where the call had a card of its own, and nobody is asked twice", async () => {
  const run = await openApproved();
  const input = { id: "n7", title: "new" };
  assert.equal((await call(run, "keep", input)).confirmed, false);
  assert.deepEqual([reads(), bench.gateway.desk.list()], [[], []]);
  mark(true);
  const asked = call(run, "keep", input);
  await bench.approve();
  assert.equal((await asked).confirmed, true);
  assert.deepEqual([reads(), bench.gateway.desk.list()], [["/v1/notes/n7/text"], []]);
});

test("a read that costs is in the store while it is on its way, with what the day spends; one that is free leaves nothing there", async () => {
  const during: unknown[] = [];
  provider.answer((_request, response) => {
    during.push([bench.rows("attempts", "sent").length, bench.rows("notes", "day_spend").map(({ cents }) => cents)]);
    answerJson(response, 200, {});
  });
  const run = await openApproved();
  await call(run, "list", {});
  await call(run, "get", { id: "n7" });
  assert.deepEqual(during, [
    [0, []],
    [1, [1]],
  ]);
});
