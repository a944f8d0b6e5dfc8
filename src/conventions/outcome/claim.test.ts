import assert from "node:assert/strict";
import { test } from "node:test";
import type { BoundHttp, BoundSsh } from "../action/bind.ts";
import { isSettled, operationStates } from "../operation/state.ts";
import { claimOf, claimOfIntent, type Holder, isHolding, nameOf } from "./claim.ts";

const holder: Holder = {
  call_id: "call_1",
  run_id: "run_1",
  action: "acme.thing.change",
  started_by: "agent",
  at: "2030-01-01T00:00:00.000Z",
  under_way: false,
  operation_id: "op_1",
  attempt_id: "att_1",
  evidence: {},
};

test("a claim is held while it is sent, while no operation looks after it, and until its operation is settled", () => {
  for (const state of [...operationStates, "unreadable", null] as const) {
    assert.equal(isHolding({ ...holder, under_way: true }, state), true, `${state} under way`);
    assert.equal(isHolding({ ...holder, operation_id: null }, state), true, `${state} without an operation`);
    const over = state === null || (state !== "unreadable" && isSettled(state));
    assert.equal(isHolding(holder, state), !over, String(state));
  }
});

test("it is named by its operation, and by its call until there is one", () => {
  assert.deepEqual([nameOf(holder), nameOf({ ...holder, operation_id: null })], ["op_1", "call_1"]);
});

const http = {
  kind: "http",
  action: "acme.thing.change",
  method: "POST",
  url: "https://api.acme.example/things/7",
  headers: { accept: "application/json", "content-type": "application/json", "x-team": "a", "acme-version": "1" },
  body: Buffer.from("{}"),
  credential: "acme",
} as unknown as BoundHttp;

test("a call is the same claim however it was described, and another one where anything of its effect differs", () => {
  const claim = claimOf(http, "Acme-Version");
  const same = { ...http.headers, accept: "*/*", "content-type": "text/json", "acme-version": "2" };
  assert.equal(claimOf({ ...http, headers: same }, "Acme-Version"), claim);
  const others: readonly Partial<BoundHttp>[] = [
    { action: "acme.thing.rename" },
    { method: "PUT" },
    { url: "https://api.acme.example/things/8" },
    { headers: { ...http.headers, "x-team": "b" } },
    { body: Buffer.from("[]") },
    { body: null },
    { credential: null },
  ];
  for (const other of others)
    assert.notEqual(claimOf({ ...http, ...other }, "Acme-Version"), claim, Object.keys(other)[0]);
  assert.notEqual(
    claimOf({ ...http, headers: same }, null),
    claimOf(http, null),
    "a header that no version selector is",
  );
});

test("a call to a host is told apart by where it goes, as whom, and what it does there", () => {
  const ssh = {
    kind: "ssh",
    action: "hosts.worker.restart",
    host: "app-1.acme.example",
    port: 22,
    user: "gw",
    hostKey: "ssh-ed25519 AAAA",
    operation: "restart",
    fields: { worker: "web-1" },
    credential: "host",
  } as unknown as BoundSsh;
  const claim = claimOf(ssh, null);
  assert.equal(claimOf({ ...ssh }, "Acme-Version"), claim);
  const others = [
    { action: "hosts.worker.stop" },
    { host: "app-2.acme.example" },
    { port: 2222 },
    { user: "root" },
    { hostKey: "ssh-ed25519 BBBB" },
    { operation: "stop" },
    { fields: { worker: "web-2" } },
    { credential: "other" },
  ] as unknown as readonly Partial<BoundSsh>[];
  for (const other of others) assert.notEqual(claimOf({ ...ssh, ...other }, null), claim, Object.keys(other)[0]);
});

test("what is asked for by a name of ours is claimed by that name, however its members are ordered", () => {
  const bound = { action: "acme.plan.apply", credential: "acme" };
  const claim = claimOfIntent(bound, { plan: "p1", revision: "r1" });
  assert.equal(claimOfIntent(bound, { revision: "r1", plan: "p1" }), claim);
  assert.notEqual(claimOfIntent(bound, { plan: "p2", revision: "r1" }), claim);
  assert.notEqual(claimOfIntent({ ...bound, action: "acme.plan.drop" }, { plan: "p1", revision: "r1" }), claim);
  assert.notEqual(claimOfIntent({ ...bound, credential: null }, { plan: "p1", revision: "r1" }), claim);
});
