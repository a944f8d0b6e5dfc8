import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
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
  assert.equal(decideScope(scope, { ...list, requestBytes: 1_000 }), "allow");
  assert.equal(decideScope(scope, { ...restart, requestBytes: 0 }), "allow");
});

test("an unknown action and one out of scope get the same denial", () => {
  const unknown = decideScope(scope, { ...list, action: "acme.nothing", requestBytes: 0 });
  const outside = decideScope(narrowScope(scope, { actions: [], requestBytes: null }), { ...list, requestBytes: 0 });
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
      decideScope(scope, { ...list, requestBytes: 0, ...change }),
      "action_not_permitted",
      JSON.stringify(change),
    );
  }
  for (const change of [
    { path: "run_shell" },
    { hostKey: "SHA256:another" },
    { destination: "root@app-1.acme.example:22" },
  ])
    assert.equal(decideScope(scope, { ...restart, requestBytes: 0, ...change }), "action_not_permitted");
});

test("narrowing never lets in what was not granted", () => {
  const names = fc.constantFrom("acme.project.list", "acme.worker.restart", "acme.other");
  fc.assert(
    fc.property(fc.array(names), fc.option(fc.nat(5_000)), (actions, requestBytes) => {
      const narrowed = narrowScope(scope, { actions, requestBytes });
      for (const reach of narrowed.actions) assert.ok(scope.actions.includes(reach));
      assert.ok(narrowed.requestBytes <= scope.requestBytes);
    }),
  );
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
