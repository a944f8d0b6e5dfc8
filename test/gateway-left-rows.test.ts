import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openStateStore } from "../src/adapters/store/sqlite/state.ts";
import { operationStates } from "../src/conventions/operation/state.ts";
import type { LeftBehind } from "../src/gateway/adopt.ts";
import { requireReadable } from "../src/gateway/left-rows.ts";
import type { Operation } from "../src/gateway/operation/operations.ts";
import type { StateRow } from "../src/gateway/ports.ts";
import { Denied } from "../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../src/kernel/json.ts";
import { scriptedCaller } from "./support/caller.ts";
import { manualTime, untilDone } from "./support/clock.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { type Bench, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What a gateway that somebody owns can write as rows of its own: each of a real one, with a member that none would have. */
type Row = LeftBehind["rows"][number];

const folder = mkdtempSync(join(tmpdir(), "gw-left-"));
const time = manualTime();
const stateKey = createSecretKey(randomBytes(32));
const caller = scriptedCaller();
let provider: TestProvider;
let rows: readonly Row[];
let taker: Bench;

const start = (name: string): Promise<Bench> => {
  const pack = `${consequentialPack(provider.origin)}
  token.create:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/tokens, body: application/json }
    input: { name: { in: body, type: string } }
    mints: [/token]
`;
  return startBench(pack, {
    ...{ folder: join(folder, name), time, stateKey },
    credentials: [["acme-token", { eachUse: false, disabled: false, origin: provider.origin }]],
  });
};

before(async () => {
  provider = await startProvider();
  provider.answer(({ method, url }, response) => {
    if (url === "/v1/posts") return;
    if (url === "/v1/reports") return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/x" });
    if (url === "/v1/tokens") return answerJson(response, 201, { token: "minted-0123456789" });
    if (url === "/v1/deployments/promote")
      return answerJson(response, 201, {
        ...{
          deployment_id: "dep-2",
          environment: "staging",
          release_id: "r1",
          prior_release_id: "r0",
          actor_id: "bot",
        },
        ...{ created_target_generation: 2, capability: { capability_id: "cap-0123456789", route: "/v1/rollbacks" } },
      });
    answerJson(response, method === "GET" ? 200 : 202, { job_id: "job-1", state: "running" });
  });
  const left = await start("left");
  const actions = ["report.create", "thing.post", "deployment.promote", "token.create"].map((name) => `acme.${name}`);
  const run = await left.openApproved(caller, actions);
  const call = (action: string, input: JsonObject) =>
    left.gateway.startCall(caller, run.id, { action, input }).done.catch(() => undefined);
  await call("acme.report.create", { account: "a1" });
  await call("acme.deployment.promote", { environment: "staging", release: "r1" });
  await call("acme.token.create", { name: "ci" });
  void call("acme.thing.post", { name: "x" });
  await untilDone(time, 0, () => provider.received.some(({ url }) => url === "/v1/posts"));
  await untilDone(time, 1_000, () => left.rows("operations", "observing").some(({ checks }) => checks !== 0));
  await left.abandon();
  const store = await openStateStore(join(folder, "left", "state.db"), stateKey, { bytes: randomBytes });
  const load = (table: StateRow["table"], state: string) =>
    store.load(table, state).flatMap((row) => ("tampered" in row ? [] : [row]));
  rows = [
    ...[...load("operations", "accepted"), ...load("operations", "observing"), ...load("attempts", "sent")],
    ...[...load("notes", "claim"), ...load("notes", "minted"), ...load("deployments", "current")],
  ];
  await store.close();
  taker = await start("taker");
});
after(async () => {
  await taker.close();
  await provider.close();
  rmSync(folder, { recursive: true, force: true });
});

let terms = 0;
const leftOf = (some: readonly Row[]): LeftBehind => ({
  ...{ gateway: "web9", term: ++terms, aheadMs: 1_000, rows: some, mayLend: () => true },
});

/** Every member at any depth, and how to put another value in its place. */
function* membersOf(
  value: JsonValue,
  put: (value: JsonValue) => JsonObject,
): Generator<(value: JsonValue) => JsonObject> {
  if (value === null || typeof value !== "object") return;
  for (const [name, member] of Object.entries(value)) {
    const place = (other: JsonValue): JsonObject =>
      put(Array.isArray(value) ? value.with(Number(name), other) : { ...value, [name]: other });
    yield place;
    yield* membersOf(member as JsonValue, place);
  }
}

test("what a real gateway left is read and taken over", async () => {
  const kinds = new Set(rows.map(({ table, state }) => `${table} ${state === "accepted" ? "observing" : state}`));
  const all = ["attempts sent", "deployments current", "notes claim", "notes minted", "operations observing"];
  assert.deepEqual([...kinds].toSorted(), all);
  for (const row of rows) requireReadable("left", [row]);
  const own = await start("whole");
  assert.deepEqual(await own.gateway.fleet.adopt(leftOf(rows), "ada"), { operations: 2, deployments: 1, minted: 1 });
  await own.close();
});

test("whatever stands in the place of a member, it is taken over or refused by its code, and the gateway goes on", async () => {
  const values: readonly JsonValue[] = [
    null,
    7,
    -1.5,
    1e300,
    "\u001b[2J",
    "9999-99-99T99:99:99.999Z",
    [],
    [null],
    {},
    true,
  ];
  let refused = 0;
  let cases = 0;
  for (const row of rows) {
    for (const place of membersOf(row.body, (body) => body as JsonObject)) {
      for (const value of values) {
        cases++;
        // Each by a name of its own: what was taken over before is not looked at again.
        const id = row.table === "operations" ? `op_${cases}` : row.table === "attempts" ? `evt_${cases}` : row.id;
        try {
          await taker.gateway.fleet.adopt(leftOf([{ ...row, id, body: place(value) }]), "ada");
        } catch (error) {
          assert.ok(error instanceof Denied, `${row.table} ${JSON.stringify(place(value))}: ${String(error)}`);
          assert.equal(error.code, "hub_state_tampered");
          refused++;
        }
      }
    }
  }
  assert.ok(refused > cases / 3, `${refused} of ${cases}`);
  const kept = operationStates.flatMap((state) => taker.rows("operations", state));
  assert.ok(kept.length > 0);
  for (const { lease, createDeadline, createdAt } of kept as unknown as readonly Operation[]) {
    assert.ok(lease === null || Number.isSafeInteger(lease.term));
    for (const at of [createdAt, createDeadline.at]) assert.ok(Date.parse(at) < Date.parse("3000-01-02"), at);
  }
  await taker.openApproved(caller, ["acme.thing.get"]);
});

test("a term of a lease, a time, a name or a text that no gateway gives is refused, also where something ended", async () => {
  const [operation] = rows.filter(({ table }) => table === "operations");
  const [minted] = rows.filter(({ state }) => state === "minted");
  const [deployment] = rows.filter(({ table }) => table === "deployments");
  assert.ok(operation !== undefined && minted !== undefined && deployment !== undefined);
  const body = (change: JsonObject): Row => ({ ...operation, body: { ...operation.body, ...change } });
  const lease = { owner: "x", expires_at: "x", expires_boot_ms: 1, boot_id: "b" };
  const cases: readonly Row[] = [
    ...[-1, 0.5, "1", 2 ** 53 - 1, null].map((term) => body({ lease: { ...lease, term } })),
    ...["soon", "+275760-09-13T00:00:00.000Z", "9000-01-01T00:00:00.000Z", 7].map((at) =>
      body({ createDeadline: { at, bootMs: 1 } }),
    ),
    { ...operation, state: "done" },
    { ...operation, id: "op_\u001b[2J" },
    { ...minted, body: { ...minted.body, minted_id: "evt_another.1" } },
    ...["{", `${"[".repeat(100_000)}${"]".repeat(100_000)}`].map((capability) => ({
      ...deployment,
      body: { ...deployment.body, capability },
    })),
  ];
  for (const row of cases) {
    const refusal = { code: "hub_state_tampered" };
    const shown = JSON.stringify(row).slice(0, 2_000);
    await assert.rejects(taker.gateway.fleet.adopt(leftOf([row]), "ada"), refusal, shown);
    await assert.rejects(taker.gateway.fleet.learnEndings("web9", "web9", [row]), refusal, shown);
  }
});
