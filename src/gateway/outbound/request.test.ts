import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { readPack } from "../../conventions/action/read.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { bindDefinition, requireScope } from "./admit.ts";
import type { Definition } from "./outbound.ts";
import { reachOf, targetOf } from "./outbound.ts";
import { makeToken, sendOf, tokenOf } from "./request.ts";

const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxb8Bcx0J54VpGYWQGqluHDJuT0CS5TTjsnIlOAxIRR";
const FINGERPRINT = "SHA256:+7vIx8ZAdovJA8h4TatMaA+u57aTJ4lmjf4p4I/WfMw";
const PROVIDER = `
provider:
  origin: https://api.acme.example
  credential: acme-token
  auth: { scheme: bearer }
  correlation_header: X-Correlation-ID
  idempotency: { header: Idempotency-Key, window_s: 60 }`;
const ACTIONS = `
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
  thing.make:
    effect: write
    retry: idempotent_write
    max_cost_cents: 5
    actual_cost: { header: X-Cost, unit: cents }
    request: { method: POST, path: /v1/things, body: application/json }
    input: { name: { in: body, type: string, maxLength: 64 } }
  page.read:
    effect: read
    full_url:
      method: GET
      credential: page-token
      allow:
        - { origin: "https://a.example", prefix: /docs/ }
        - { origin: "https://b.example", prefix: / }
        - { origin: "https://a.example", prefix: /help/ }
  worker.restart:
    effect: write
    ssh: { host: host.example, port: 2222, user: ops, host_key: "${HOST_KEY}", credential: ops-key, action: restart }
    input: { worker: { type: string, enum: [web, mail] } }
`;

/** In a pack with no other action. */
function definitionOf(name: string, provider = PROVIDER): Definition {
  const text = ACTIONS.split(/\n(?= {2}\w)/).find((one) => one.startsWith(`  ${name}:`));
  const source = `format: gw.pack/v1\npack: acme${provider}\nactions:\n${text}\n`;
  const { pack, findings } = readPack(Buffer.from(source), "acme.yaml");
  assert.ok(pack !== null, JSON.stringify(findings));
  const action = pack.actions.get(name);
  assert.ok(action !== undefined);
  return { pack, action };
}

const core = { ports: { random: { bytes: randomBytes } } } as never;
const drawing = (bytes: Buffer) => ({ ports: { random: { bytes: () => bytes } } }) as never;
const CALL = "call_1" as CallId;

function sent(name: string, input: JsonObject, { provider = PROVIDER, token = null as string | null } = {}) {
  const definition = definitionOf(name, provider);
  const send = sendOf(core, bindDefinition(definition, input), CALL, token);
  return { send, token: tokenOf(send, definition.pack) };
}

function headersOf(name: string, input: JsonObject, options = {}): Readonly<Record<string, string>> {
  const { send } = sent(name, input, options);
  assert.ok(send.kind === "http");
  return send.headers;
}

test("a request names its call where the provider takes that, and a write its token; a read has none", () => {
  const read = headersOf("thing.get", { id: "7" });
  assert.deepEqual([read["x-correlation-id"], read["idempotency-key"]], [CALL, undefined]);
  assert.equal(sent("thing.get", { id: "7" }).token, null);
  const write = sent("thing.make", { name: "x" });
  assert.ok(write.send.kind === "http");
  assert.deepEqual(
    [write.send.headers["idempotency-key"], write.send.headers["x-correlation-id"]],
    [write.token, CALL],
  );
  const bare = PROVIDER.replace(/\n {2}(correlation|idempotency).*/g, "");
  const none = headersOf("thing.get", { id: "7" }, { provider: bare });
  assert.deepEqual(
    Object.keys(none).filter((one) => !(one in read)),
    [],
  );
  assert.equal(none["x-correlation-id"], undefined);
  assert.equal(sent("thing.get", { id: "7" }, { provider: bare }).token, null);
});

test("a token is a UUID of version 4 that is never the same twice, or longer where the provider says so", () => {
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
  const tokens = Array.from({ length: 8 }, () => String(sent("thing.make", { name: "x" }).token));
  for (const token of tokens) assert.match(token, uuid);
  assert.equal(new Set(tokens).size, tokens.length);
  const made = (...bytes: number[]) => makeToken(drawing(Buffer.from(bytes)), definitionOf("thing.make").pack);
  assert.equal(made(...Array(16).fill(0)), "00000000-0000-4000-8000-000000000000");
  assert.equal(made(...Array(16).fill(255)), "ffffffff-ffff-4fff-bfff-ffffffffffff", "every other bit is as drawn");
  assert.equal(made(...Array(16).keys()), "00010203-0405-4607-8809-0a0b0c0d0e0f");
  const opaque = PROVIDER.replace("window_s: 60", "window_s: 60, format: opaque");
  assert.match(String(sent("thing.make", { name: "x" }, { provider: opaque }).token), /^[\w-]{32}$/);
});

test("what is sent once more goes out under the token that it had", () => {
  assert.equal(sent("thing.make", { name: "x" }, { token: "as-before" }).token, "as-before");
  assert.equal(sent("thing.get", { id: "7" }, { token: "as-before" }).token, null);
});

test("a request goes to a public address unless its pack says otherwise, and asks for the header that has its price", () => {
  const { send } = sent("thing.make", { name: "x" });
  assert.ok(send.kind === "http");
  assert.deepEqual([send.network, send.ca, send.answerHeader], ["public", null, "x-cost"]);
  const inside = sent("thing.get", { id: "7" }, { provider: `${PROVIDER}\n  network: private` }).send;
  assert.ok(inside.kind === "http");
  assert.deepEqual([inside.network, inside.answerHeader], ["private", undefined]);
  const alone = sent("page.read", { url: "https://b.example/x" }, { provider: "" }).send;
  assert.ok(alone.kind === "http");
  assert.deepEqual([alone.network, alone.ca, alone.url], ["public", null, "https://b.example/x"]);
});

test("what goes to a host is its operation and its fields, and has no token", () => {
  const { send, token } = sent("worker.restart", { worker: "web" });
  assert.ok(send.kind === "ssh");
  const { host, port, user, hostKey, operation, fields } = send;
  assert.deepEqual(
    [host, port, user, hostKey, operation, { ...fields }, token],
    [...["host.example", 2222, "ops", HOST_KEY, "restart", { worker: "web" }, null]],
  );
});

test("what an action reaches says where, as whom, with which credential and by which method", () => {
  const reach = (name: string) => {
    const { channel, destination, hostKey, credential, method, path } = reachOf(definitionOf(name));
    return [channel, destination, hostKey, credential, method, path];
  };
  assert.deepEqual(reach("thing.get"), [
    ...["http", "https://api.acme.example", null, "acme-token", "GET", "/v1/things/{id}"],
  ]);
  assert.deepEqual(reach("page.read"), [
    ...["http", "https://a.example https://b.example", null, "page-token", "GET", "/docs/… /… /help/…"],
  ]);
  assert.deepEqual(reach("worker.restart"), [
    ...["ssh", "ops@host.example:2222", FINGERPRINT, "ops-key", "ssh", "restart"],
  ]);
});

test("a call is let through by a scope that has its action and its size, and by no other", () => {
  const outbound = bindDefinition(definitionOf("thing.make"), { name: "x" });
  const actions = [outbound.reach];
  requireScope({ actions, requestBytes: outbound.requestBytes }, outbound);
  for (const scope of [
    { actions: [], requestBytes: 1_000 },
    { actions, requestBytes: outbound.requestBytes - 1 },
  ])
    assert.throws(
      () => requireScope(scope, outbound),
      (error) => error instanceof Denied && error.code === "action_not_permitted",
    );
});

test("a card shows the whole URL, or the host with the fingerprint of its key", () => {
  const target = (name: string, input: JsonObject) => targetOf(bindDefinition(definitionOf(name), input));
  assert.equal(target("thing.get", { id: "7" }), "https://api.acme.example/v1/things/7");
  assert.equal(target("worker.restart", { worker: "web" }), `ops@host.example:2222 restart, host key ${FINGERPRINT}`);
});
