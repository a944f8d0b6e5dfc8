import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import { type Reviewer, signDecision } from "../src/conventions/upgrade/decision/statement.ts";
import { createEnvelope } from "../src/gateway/record/record.ts";
import type { ProbeCredential, ProbeOpening } from "../src/gateway/upgrade/probe.ts";
import { Denied } from "../src/kernel/failure.ts";
import { createIds } from "../src/kernel/ids.ts";
import { Secret } from "../src/kernel/secret.ts";
import { recordDecisions } from "../src/programs/daemon/upgrade.ts";
import { consequentialPack } from "./support/consequential.ts";
import { type Bench, denies, startBench } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const PROBE_TOKEN = "probe-t0ken-987654321";
let provider: TestProvider;
let elsewhere: TestProvider;
let bench: Bench;

beforeEach(async () => {
  [provider, elsewhere] = [await startProvider(), await startProvider()];
  bench = await startBench(consequentialPack(provider.origin));
});
afterEach(async () => {
  await bench.close();
  await Promise.all([provider.close(), elsewhere.close()]);
});

function credential(change: Partial<ProbeCredential> = {}): ProbeCredential {
  return { label: "main", present: "bearer", name: null, token: Secret.fromText(PROBE_TOKEN), ...change };
}

function open(change: Partial<ProbeOpening> = {}) {
  return bench.gateway.probes.open({
    api: "Acme",
    versions: [{ base: provider.origin, header: null }],
    credentials: [credential()],
    requests: 10,
    sideEffects: 0,
    operator: "ada",
    operatorKeyId: "k1",
    ...change,
  });
}

const request = (path: string, change = {}) => ({
  caseId: "a.case",
  method: "GET",
  url: `${provider.origin}${path}`,
  headers: { "x-api-version": "2" },
  body: undefined,
  credential: "main",
  sideEffect: false,
  ...change,
});

test("a probe is one attempt: intent, completion and budget are in the log, under the operator's name", async () => {
  const run = await open();
  const seen = await bench.gateway.probes.send(run, "k1", request("/things"));
  assert.deepEqual([seen.kind, seen.kind === "answered" && seen.status], ["answered", 200]);
  assert.equal(provider.received[0]?.headers.authorization, `Bearer ${PROBE_TOKEN}`);
  assert.equal(provider.received[0]?.headers["x-api-version"], "2");
  await bench.gateway.probes.close(run, "k1", null);
  const events = bench.events().filter((event) => "run_id" in event || "run" in event);
  assert.deepEqual(
    events.map(({ event_type }) => event_type),
    [
      "upgrade_probe_started",
      "authorization_granted",
      "intent_accepted",
      "action_started",
      "budget_reserved",
      "transport_started",
      "action_finished",
      "budget_settled",
      "upgrade_probe_finished",
    ],
  );
  const intent = events.find(({ event_type }) => event_type === "intent_accepted");
  assert.ok(intent?.event_type === "intent_accepted");
  assert.deepEqual([intent.authorization, intent.action], ["operator:ada", "upgrade.probe.a.case"]);
  assert.ok(!JSON.stringify(events).includes(PROBE_TOKEN));
});

test("a token goes to the version that the probe was opened for, and nowhere else", async () => {
  const run = await open();
  const url = `${elsewhere.origin}/things`;
  await refused(bench.gateway.probes.send(run, "k1", request("", { url })), "credential_not_bound");
  await refused(bench.gateway.probes.send(run, "k1", request("", { url: "not a url" })), "credential_not_bound");
  await refused(bench.gateway.probes.send(run, "k1", request("/x", { credential: "other" })), "credential_unknown");
  assert.equal(elsewhere.received.length + provider.received.length, 0);
});

test("a redirect is an answer: it is not followed", async () => {
  provider.answer((_request, response) => response.writeHead(302, { location: `${elsewhere.origin}/x` }).end());
  const seen = await bench.gateway.probes.send(await open(), "k1", request("/things"));
  assert.deepEqual([seen.kind === "answered" && seen.status, elsewhere.received.length], [302, 0]);
});

test("what a probe may send is counted, and a side effect that nobody approved is not sent", async () => {
  const run = await open({ requests: 2 });
  const write = request("/things", { method: "POST", body: { a: 1 }, sideEffect: true });
  await refused(bench.gateway.probes.send(run, "k1", write), "side_effect_unapproved");
  assert.equal(provider.received.length, 0);
  for (const path of ["/1", "/2"]) await bench.gateway.probes.send(run, "k1", request(path));
  await refused(bench.gateway.probes.send(run, "k1", request("/3")), "attempts_exhausted");
  assert.equal(provider.received.length, 2);
});

test("an approved side effect is sent once, with its body", async () => {
  const run = await open({ sideEffects: 1 });
  const write = request("/things", { method: "POST", body: { b: [1], a: "x" }, sideEffect: true });
  assert.equal((await bench.gateway.probes.send(run, "k1", write)).kind, "answered");
  assert.deepEqual(JSON.parse(provider.received[0]?.body ?? ""), { a: "x", b: [1] });
  await refused(bench.gateway.probes.send(run, "k1", write), "side_effects_exhausted");
  assert.equal(provider.received.length, 1);
});

test("a token is presented as the corpus says, and an answer that holds it is withheld", async () => {
  const token = () => Secret.fromText("user:pass-12345678");
  const credentials = [
    credential({ label: "basic", present: "basic", token: token() }),
    credential({ label: "header", present: "header", name: "X-Key", token: token() }),
  ];
  const run = await open({ credentials });
  await bench.gateway.probes.send(run, "k1", request("/1", { credential: "basic" }));
  const encoded = Buffer.from("user:pass-12345678").toString("base64");
  assert.equal(provider.received[0]?.headers.authorization, `Basic ${encoded}`);
  provider.answer(({ headers }, response) => response.end(JSON.stringify(headers)));
  const seen = await bench.gateway.probes.send(run, "k1", request("/2", { credential: "header" }));
  assert.equal(provider.received[1]?.headers["x-key"], "user:pass-12345678");
  assert.ok(seen.kind === "answered" && seen.body.byteLength === 0, "the echo was withheld");
});

test("a token that goes into a form body is added as it leaves, and is in no record", async () => {
  const run = await open({ sideEffects: 2, credentials: [credential({ present: "form", name: "api_token" })] });
  provider.answer(({ body }, response) => response.end(body));
  const write = request("/grant", { method: "POST", body: { a: "x y", n: 1 }, sideEffect: true });
  const seen = await bench.gateway.probes.send(run, "k1", write);
  assert.deepEqual(
    [...new URLSearchParams(provider.received[0]?.body)],
    [
      ["a", "x y"],
      ["n", "1"],
      ["api_token", PROBE_TOKEN],
    ],
  );
  assert.equal(provider.received[0]?.headers["content-type"], "application/x-www-form-urlencoded");
  assert.equal(provider.received[0]?.headers.authorization, undefined);
  assert.ok(seen.kind === "answered" && seen.body.byteLength === 0, "the echo was withheld");
  await refused(bench.gateway.probes.send(run, "k1", request("/grant")), "corpus_invalid");
  await refused(bench.gateway.probes.send(run, "k1", { ...write, body: { a: [1] } }), "corpus_invalid");
  assert.ok(!JSON.stringify(bench.events()).includes(PROBE_TOKEN));
});

test("tokens are wiped when a probe ends, when the gateway locks, and when a probe cannot be opened", async () => {
  const [ended, locked, unopened] = [credential(), credential(), credential()];
  const first = await open({ credentials: [ended] });
  await bench.gateway.probes.close(first, "k1", null);
  await refused(bench.gateway.probes.send(first, "k1", request("/x")), "not_found");
  await refused(bench.gateway.probes.close(first, "k1", null), "not_found");
  const second = await open({ credentials: [locked] });
  await bench.gateway.lock("test", null);
  await refused(bench.gateway.probes.send(second, "k1", request("/x")), "not_found");
  await refused(open({ credentials: [unopened] }), "gateway_locked");
  for (const { token } of [ended, locked, unopened]) assert.throws(() => token.use((bytes) => bytes.length), /wiped/);
});

test("a probe that a lock or its time ended is told to have ended, with what it had sent", async () => {
  const late = await open();
  await bench.time.advance(1_800_001);
  const locked = await open();
  await bench.gateway.probes.send(locked, "k1", request("/things"));
  await bench.gateway.lock("test", null);
  const ends = bench.eventsOf("upgrade_probe_finished");
  assert.deepEqual(
    ends.map(({ run_id, requests, result_digest }) => [run_id, requests, result_digest]),
    [
      [late, 0, null],
      [locked, 1, null],
    ],
  );
});

test("no more than a few probes stand open, and one whose time is over makes room", async () => {
  for (let count = 0; count < 4; count++) await open();
  await refused(open(), "approvals_full");
  await bench.time.advance(1_800_001);
  await open();
});

const { privateKey, publicKey } = generateKeyPairSync("ed25519");
const ada: Reviewer = { operator: "ada", keyId: "k1", sign: (bytes) => sign(null, bytes, privateKey) };
const decision = {
  ...({ api: "Acme", difference: "d-1", verdict: "accepted", reason: "read only", narrowing: null } as const),
  decided_at: "2026-01-01T00:00:00.000Z",
};

test("a decision is recorded with its signature, and all of a batch or none", async () => {
  const { clock } = bench.time;
  const envelope = createEnvelope(createIds(clock, { bytes: (count) => Buffer.alloc(count, 7) }), clock);
  const keys = [{ name: "ada", keyId: "k1", publicKey }];
  const login = { operator: "ada", operatorKeyId: "k1", readsOnly: false };
  const record = (decisions: Parameters<typeof recordDecisions>[2], who = login) =>
    recordDecisions({ ledger: bench.gateway.ledger, envelope }, keys, decisions, who);
  const good = signDecision(decision, ada);
  const forged = { ...good, statement: { ...good.statement, verdict: "rejected" as const } };
  const stranger = generateKeyPairSync("ed25519").privateKey;
  const theirs = signDecision(decision, { ...ada, sign: (bytes) => sign(null, bytes, stranger) });
  for (const bad of [forged, theirs]) await assert.rejects(record([good, bad]), isInvalid);
  await assert.rejects(record([good], { operator: "bob", operatorKeyId: "k2", readsOnly: false }), isInvalid);
  assert.equal(bench.eventsOf("upgrade_decided").length, 0);
  await record([good]);
  const [event] = bench.eventsOf("upgrade_decided");
  assert.ok(event?.event_type === "upgrade_decided");
  assert.deepEqual(
    [event.difference, event.decision, event.by, event.signature],
    ["d-1", "accepted", "ada", good.signature],
  );
});

function refused(work: Promise<unknown>, code: Denied["code"]): Promise<void> {
  return assert.rejects(work, denies(code));
}

function isInvalid(error: unknown): boolean {
  return error instanceof Denied && error.code === "signature_invalid";
}
