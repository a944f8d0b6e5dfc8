import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../../kernel/json.ts";
import { type ActionReach, decideScope, narrowScope, type Scope, scopeRecord } from "./scope.ts";

const list: ActionReach = {
  action: "acme.project.list",
  effect: "read",
  channel: "http",
  destination: "https://api.acme.example",
  hostKey: null,
  credential: "acme-deploy",
  method: "GET",
  path: "/v1/projects",
};
const restart: ActionReach = {
  action: "acme.worker.restart",
  effect: "write",
  channel: "ssh",
  destination: "gw@app-1.acme.example:22",
  hostKey: "SHA256:app-1",
  credential: "acme-ssh",
  method: "ssh",
  path: "restart_worker",
};
const scope: Scope = { actions: [list, restart], requestBytes: 1_000 };

test("a call within the granted scope is allowed", () => {
  assert.equal(decideScope(scope, { ...list, requestBytes: 1_000, input: {} }), "allow");
  assert.equal(decideScope(scope, { ...restart, requestBytes: 0, input: {} }), "allow");
});

test("an unknown action and one out of scope get the same denial", () => {
  const unknown = decideScope(scope, { ...list, action: "acme.nothing", requestBytes: 0, input: {} });
  const nothing = narrowScope(scope, { actions: [], request_bytes: null });
  const outside = decideScope(nothing, { ...list, requestBytes: 0, input: {} });
  assert.equal(unknown, "action_not_permitted");
  assert.equal(outside, unknown);
});

test("scopes limit hosts, credentials, methods, SSH destinations, paths or command families, and request size", () => {
  const changes: Partial<ActionReach & { requestBytes: number }>[] = [
    { destination: "https://evil.example" },
    { credential: "other" },
    { credential: null },
    { method: "DELETE" },
    { path: "/v1/secrets" },
    { channel: "ssh" },
    { effect: "write" },
    { requestBytes: 1_001 },
  ];
  for (const change of changes) {
    assert.equal(
      decideScope(scope, { ...list, requestBytes: 0, input: {}, ...change }),
      "action_not_permitted",
      JSON.stringify(change),
    );
  }
  for (const change of [
    { path: "run_shell" },
    { hostKey: "SHA256:another" },
    { destination: "root@app-1.acme.example:22" },
  ])
    assert.equal(decideScope(scope, { ...restart, requestBytes: 0, input: {}, ...change }), "action_not_permitted");
});

test("narrowing never lets in what was not granted", () => {
  const names = fc.constantFrom("acme.project.list", "acme.worker.restart", "acme.other");
  fc.assert(
    fc.property(fc.array(names), fc.option(fc.nat(5_000)), (actions, request_bytes) => {
      const narrowed = narrowScope(scope, { actions, request_bytes });
      for (const reach of narrowed.actions) assert.ok(scope.actions.includes(reach));
      assert.ok(narrowed.requestBytes <= scope.requestBytes);
    }),
  );
});

test("what a person put on an argument holds for its action, also where it is narrowed once more", () => {
  const only = { kind: "one_of", input: "team", values: ["web"], action: list.action } as const;
  const fewer = { kind: "at_most", input: "count", maximum: 5, action: list.action } as const;
  const once = narrowScope(scope, { actions: null, request_bytes: null, where: [only] });
  const twice = narrowScope(once, { actions: null, request_bytes: null, where: [fewer] });
  const decide = (granted: Scope, input: JsonObject | null) =>
    decideScope(granted, { ...list, requestBytes: 0, input });
  assert.equal(decide(once, { team: "web", count: 9 }), "allow");
  assert.equal(decide(twice, { team: "web", count: 5 }), "allow");
  for (const input of [
    { team: "web", count: 6 },
    { team: "api", count: 1 },
    { count: 1 },
    { team: ["web"], count: 1 },
    {},
  ])
    assert.equal(decide(twice, input), "action_not_permitted", JSON.stringify(input));
  assert.equal(decideScope(twice, { ...restart, requestBytes: 0, input: {} }), "allow", "another action is free of it");
  assert.equal(decide(twice, null), "allow", "before any argument is known the action is there");
  assert.deepEqual(scopeRecord(twice).where, ["acme.project.list count<=5", "acme.project.list team=web"]);
});

test("the record lists each dimension once", () => {
  assert.deepEqual(scopeRecord(scope), {
    actions: ["acme.project.list", "acme.worker.restart"],
    hosts: ["https://api.acme.example"],
    credentials: ["acme-deploy", "acme-ssh"],
    methods: ["GET"],
    ssh_destinations: ["gw@app-1.acme.example:22, host key SHA256:app-1"],
    paths: ["GET /v1/projects", "ssh restart_worker"],
    request_bytes: 1_000,
  });
});

test("what a person leaves as it is stays whole, and what they lower is lowered", () => {
  assert.deepEqual(narrowScope(scope, { actions: null, request_bytes: null }), scope);
  assert.deepEqual(narrowScope(scope, { actions: [list.action], request_bytes: 10 }), {
    actions: [list],
    requestBytes: 10,
  });
  assert.equal(narrowScope(scope, { actions: null, request_bytes: 5_000 }).requestBytes, 1_000, "never raised");
  assert.deepEqual(scopeRecord({ actions: [{ ...list, credential: null }], requestBytes: 0 }).credentials, []);
});
