import assert from "node:assert/strict";
import { verify } from "node:crypto";
import { afterEach, beforeEach, test } from "node:test";
import type { KnownOfRequest } from "../packages/request/src/record.ts";
import type { AuditEvent, NewEvent } from "../src/audit/event.ts";
import { foldActivity } from "../src/audit/journals/activity.ts";
import { type Contents, gatherContents } from "../src/audit/journals/contents.ts";
import { foldSessions, type SessionEntry } from "../src/audit/journals/sessions.ts";
import { traceOf } from "../src/audit/journals/trace.ts";
import type { LogItem } from "../src/audit/read/reader.ts";
import { renderCard } from "../src/conventions/approval/render.ts";
import { digestText } from "../src/kernel/canonical-json.ts";
import type { Waking } from "../src/kernel/clock.ts";
import { defaults } from "../src/kernel/defaults.ts";
import type { JsonObject } from "../src/kernel/json.ts";
import { tellWithEnd } from "../src/surfaces/agent/tell-with-end.ts";
import { recordTrace } from "../src/surfaces/cli/audit/trace-record.ts";
import { recordRequests } from "../src/surfaces/plane/record-request.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { type Bench, denies, operatorKeys, startBench, TOKEN, VAULT_ID } from "./support/gateway.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;
/** What went to the log together, in its order. */
let appended: (readonly NewEvent[])[] = [];

const PIN = "4711-geheim";

function packText(origin: string): string {
  return `
format: gw.pack/v1
pack: acme
provider:
  origin: ${origin}
  credential: acme-token
  auth: { scheme: bearer }
  network: private
  version: { header: X-API-Version, value: "2026-04-01" }
  idempotency: { header: Idempotency-Key, window_s: 86400 }
  redirects: { origins: [], others: ask }
actions:
  member.add:
    effect: write
    retry: non_idempotent_write
    needs: { approval: each_use }
    request: { method: POST, path: "/v1/members/{id}", body: application/json }
    input:
      id: { in: path, type: string, maxLength: 64 }
      note: { in: body, as: role, type: string, maxLength: 200000 }
      trace: { in: header, as: X-Trace-ID, type: string, maxLength: 64, optional: true }
      pin: { in: body, type: string, sensitive: true, optional: true }
  door.open:
    effect: write
    retry: non_idempotent_write
    request: { method: POST, path: "/v1/doors/{pin}/open", body: application/json }
    input:
      pin: { in: path, type: string, sensitive: true }
      code: { in: header, as: X-Door-Code, type: string, sensitive: true }
      hint: { in: query, type: string, sensitive: true }
      why: { in: body, type: string }
  door.look:
    effect: read
    request: { method: GET, path: "/v1/doors/{pin}" }
    input:
      pin: { in: path, type: string, sensitive: true }
      hint: { in: query, type: string, sensitive: true }
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
  thing.find:
    effect: read
    request: { method: GET, path: /v1/things }
    input:
      q: { in: query, type: string, maxLength: 8000 }
`;
}

beforeEach(async () => {
  provider = await startProvider();
  appended = [];
  bench = await startBench(packText(provider.origin), {
    wrapAudit: (log) => ({
      head: () => log.head(),
      hasRoom: () => log.hasRoom(),
      append(events) {
        appended.push(events);
        return log.append(events);
      },
    }),
  });
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

async function openApproved(): Promise<Awaited<ReturnType<Bench["openRun"]>>> {
  return bench.openApproved(caller, ["acme.*"]);
}

async function callApproved(action: string, input: JsonObject) {
  const run = await openApproved();
  const call = bench.gateway.startCall(caller, run.id, { action, input });
  const approval = action === "acme.member.add" ? await bench.approve() : null;
  return { run, call, approval, result: await call.done };
}

function contents(): Contents {
  const gathered = gatherContents();
  for (const event of bench.eventsOf("content_kept")) gathered.add(event);
  return gathered;
}

function itemsOf(events: readonly AuditEvent[]): LogItem[] {
  return events.map((event, index): LogItem => ({ kind: "record", ...place(index), event }) as LogItem);
}

function entries(events: readonly AuditEvent[]): SessionEntry[] {
  return foldSessions(itemsOf(events)).filter((entry): entry is SessionEntry => entry.kind === "session");
}

const place = (index: number) => ({ segment: 1, frame: index, index: 0, journal: "other" });

test("the log holds the exact card that was signed and the statement whose signature it keeps", async () => {
  const { approval } = await callApproved("acme.member.add", { id: "7", note: "admin", trace: "t-1" });
  const decided = bench.eventsOf("approval_approved").at(-1) ?? assert.fail();
  assert.equal(decided.card_digest, approval?.cardDigest);
  const card = contents().find(decided.card_digest) ?? assert.fail("the card is not in the log");
  assert.equal(digestText(card), decided.card_digest);
  assert.deepEqual(JSON.parse(card), approval?.card);
  const statement = contents().find(decided.statement_digest ?? "") ?? assert.fail("the statement is not in the log");
  const signature = Buffer.from(decided.signature, "base64");
  assert.ok(verify(null, Buffer.from(statement), operatorKeys.publicKey, signature));
});

test("what is in the log are JSON types: every time is ISO 8601 in UTC, every identifier an opaque text", async () => {
  await callApproved("acme.member.add", { id: "7", note: "admin", trace: "t-1" });
  const times: string[] = [];
  const identifiers: string[] = [];
  const walk = (value: unknown, name: string): void => {
    if (Array.isArray(value)) for (const one of value) walk(one, name);
    else if (typeof value === "object" && value !== null) {
      assert.equal(Object.getPrototypeOf(value), Object.prototype, `${name} is an object and nothing else`);
      for (const [member, inner] of Object.entries(value)) walk(inner, member);
    } else {
      assert.ok(value === null || ["string", "number", "boolean"].includes(typeof value), `${name}: ${typeof value}`);
      if (typeof value === "number") assert.ok(Number.isFinite(value), name);
      if (value !== null && /(?:^|_)at$/.test(name)) times.push(String(value));
      if (value !== null && /^(?:event|run|call|attempt|approval|session)_id$/.test(name))
        identifiers.push(String(value));
    }
  };
  for (const event of bench.events()) walk(event, event.event_type);
  assert.ok(times.length > 10 && identifiers.length > 10);
  for (const time of times) assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  for (const identifier of identifiers) assert.match(identifier, /^[a-z]{2,4}_[0-9a-z]{26}$/);
});

test("each attempt holds its URL, the canonical request, version selector, provider request id and status", async () => {
  provider.answer((_request, response) => {
    response.writeHead(201, { "x-request-id": "prov-9", "content-type": "application/json" });
    response.end("{}");
  });
  const { approval } = await callApproved("acme.member.add", { id: "7", note: "admin", trace: "t-1" });
  const intent = bench.eventsOf("intent_accepted").at(-1) ?? assert.fail();
  assert.equal(intent.url, `${provider.origin}/v1/members/7`);
  assert.equal(intent.request.version_selector, "2026-04-01");
  assert.equal(intent.kept_whole, true);
  assert.equal(intent.request_digest, approval?.card?.call?.request_digest);
  const text = contents().find(intent.kept_digest ?? "") ?? assert.fail("the request is not in the log");
  assert.equal(digestText(text), intent.request_digest, "what is kept is what the approved digest is over");
  const kept = JSON.parse(text) as JsonObject;
  assert.deepEqual(kept["body"], { role: "admin" });
  assert.equal((kept["headers"] as JsonObject)["x-trace-id"], "t-1");
  const sent = provider.received.at(-1)?.body ?? assert.fail();
  assert.equal(intent.payload_sha256, digestText(sent), "of the very bytes that left");
  const finished = bench.eventsOf("action_finished").at(-1) ?? assert.fail();
  assert.deepEqual([finished.remote_status, finished.provider_request_id], [201, "prov-9"]);
  assert.equal(finished.response_digest, digestText("{}"));
  assert.equal(finished.request.version_selector, "2026-04-01");
  const reserved = bench.eventsOf("budget_reserved").at(-1) ?? assert.fail();
  const settled = bench.eventsOf("budget_settled").at(-1) ?? assert.fail();
  assert.deepEqual([reserved.destination_class, reserved.decision], ["private_api", "allow"]);
  assert.equal(settled.reservation?.provider_reference, "prov-9");
  assert.equal(provider.received.at(-1)?.headers["x-api-version"], "2026-04-01");
  const told = foldActivity(itemsOf(bench.events())).find((entry) => entry.kind === "call");
  assert.ok(told?.kind === "call");
  assert.deepEqual([told.version_selector, told.provider_request_id], ["2026-04-01", "prov-9"]);
});

test("of a sensitive input the log and the card keep size and digest, wherever it goes; the provider gets it", async () => {
  await callApproved("acme.member.add", { id: "7", note: "admin", pin: PIN });
  const { run } = await callApproved("acme.door.open", { pin: PIN, code: PIN, hint: PIN, why: "fire" });
  assert.equal(provider.received.at(-1)?.url, `/v1/doors/${PIN}/open?hint=${PIN}`);
  assert.equal(provider.received.at(-1)?.headers["x-door-code"], PIN);
  const all = JSON.stringify(bench.events());
  assert.ok(!all.includes(PIN), "a sensitive value is in the log");
  assert.ok(!all.includes(TOKEN), "a credential is in the log");
  const [, intent = assert.fail()] = bench.eventsOf("intent_accepted");
  assert.equal(intent.kept_whole, false);
  const kept = contents().find(intent.kept_digest ?? "") ?? assert.fail();
  assert.match(kept, /"why":"fire"/);
  assert.match(kept, new RegExp(`sensitive-11-bytes-${digestText(PIN).replace(":", "-")}`));
  assert.equal(run.state, "open");
});

test("nor does the card of a retry or of a redirect show a sensitive input", async () => {
  let sends = 0;
  provider.answer((_request, response) => {
    const [status, location] =
      [503, 307, 200].map((code) => [code, `/v1/moved?from=${encodeURIComponent(PIN)}&to=hall`] as const)[sends++] ??
      [];
    response
      .writeHead(status ?? 200, { "content-type": "application/json", ...(status === 307 ? { location } : {}) })
      .end("{}");
  });
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  const run = await openApproved();
  // Not every encoder leaves a star as it is.
  const input = { pin: `${PIN}*`, hint: PIN };
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.door.look", input });
  const targets: string[] = [];
  let done = false;
  void call.done.finally(() => (done = true));
  for (let turn = 0; !done && turn < 2_000; turn++) {
    bench.time.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
    const [asked] = bench.gateway.desk.list();
    if (asked === undefined) continue;
    targets.push(asked.card?.call?.target ?? "");
    await bench.approve();
  }
  assert.equal((await call.done).outcome, "success");
  assert.equal(provider.received.at(-1)?.url, `/v1/moved?from=${PIN}&to=hall`);
  assert.equal(targets.length, 3);
  assert.equal(targets[1], targets[0], "the card of a retry shows what the first one did");
  assert.match(targets[2] ?? "", /\/v1\/moved\?from=sensitive-11-bytes-sha256-[0-9a-f]{64}&to=hall$/);
  assert.ok(!JSON.stringify([targets, bench.events()]).includes(PIN), "a sensitive value is on a card or in the log");
});

test("a card that is not the one that was signed is said to be another, and so is a signature that does not verify", async () => {
  const { call } = await callApproved("acme.member.add", { id: "7", note: "admin" });
  const signers = { vaultId: VAULT_ID, keys: [{ name: "ada", keyId: "k1", publicKey: operatorKeys.publicKey }] };
  const shown = (events: readonly AuditEvent[]) =>
    recordTrace(
      call.id,
      traceOf((each) => itemsOf(events).forEach(each), call.id),
      signers,
    ).approvals.at(-1);
  const whole = shown(bench.events());
  assert.deepEqual([whole?.card_check, whole?.decision?.signature], ["matches", "verifies"]);
  const changed = (from: string, to: string) =>
    bench
      .events()
      .map((event) => (event.event_type === "content_kept" ? { ...event, text: event.text.replace(from, to) } : event));
  assert.equal(shown(changed('"note":"admin"', '"note":"guest"'))?.card_check, "differs");
  assert.equal(shown(changed('"decision":"approve"', '"decision":"deny"'))?.decision?.signature, "does_not_verify");
  const old = bench.events().filter(({ event_type }) => event_type !== "content_kept");
  assert.deepEqual([shown(old)?.card_check, shown(old)?.decision?.signature], ["not_kept", "not_kept"]);
});

test("a card says under which name an argument goes out, and which go out as header fields", async () => {
  const { approval } = await callApproved("acme.member.add", { id: "7", note: "admin", trace: "t-1" });
  const lines = renderCard(approval?.card ?? assert.fail()).map((line) => line.trim());
  assert.ok(
    lines.some((line) => line.endsWith('note = "admin", goes out as "body role"')),
    lines.join("\n"),
  );
  assert.ok(lines.some((line) => line.endsWith('trace = "t-1", goes out as "header X-Trace-ID"')));
  assert.ok(!lines.some((line) => /id = .* goes out/.test(line)));
});

test("a card longer than a record is kept in parts and comes back whole", async () => {
  const note = '"\\\u0001x'.repeat(20_000);
  const { approval } = await callApproved("acme.member.add", { id: "7", note });
  const card = contents().find(approval?.cardDigest ?? "") ?? assert.fail("the card is not whole");
  assert.equal(digestText(card), approval?.cardDigest);
  assert.equal(
    ((JSON.parse(card) as JsonObject)["call"] as JsonObject)["request_digest"],
    bench.eventsOf("intent_accepted").at(-1)?.request_digest,
  );
  assert.equal(bench.gateway.ledger.stopped, false);
});

test("a retry names the request that the log already has", async () => {
  let tries = 0;
  provider.answer((_request, response) => {
    tries++;
    response.writeHead(tries === 1 ? 503 : 200, { "content-type": "application/json" });
    response.end("{}");
  });
  const run = await openApproved();
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.get", input: { id: "3" } });
  let done = false;
  void call.done.finally(() => (done = true));
  while (!done) {
    bench.time.advance(500);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const digests = bench.eventsOf("intent_accepted").map(({ kept_digest }) => kept_digest);
  assert.equal(digests.length, 2);
  assert.equal(new Set(digests).size, 1);
  assert.equal(bench.eventsOf("content_kept").filter(({ what }) => what === "request").length, 1);
});

test("every session of a run has the authority of its own caller, as a real gateway writes them", async () => {
  const run = await bench.gateway.openRun(caller, {
    purpose: "wrapped",
    actions: ["acme.*"],
    limits: { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 0 },
    descendants: true,
  });
  await bench.approve();
  await run.admission?.session;
  const child = scriptedCaller({ parent: caller, image: "cd" });
  const call = bench.gateway.startCall(child, run.id, { action: "acme.thing.get", input: { id: "1" } });
  await bench.approve();
  await call.done;
  const told = entries(bench.events());
  assert.equal(told.length, 2);
  for (const { authority, validity } of told) assert.deepEqual([authority === null, validity], [false, "unsigned"]);
  const names = bench.eventsOf("caller_evidence").map(({ session, caller: { cdhash } }) => [session, cdhash]);
  assert.deepEqual(
    told.map(({ session_id }) => names.find(([session]) => session === session_id)?.[1]),
    [caller.evidence.cdhash, child.evidence.cdhash],
  );
});

test("evidence of two sessions that stands before both counts for each its own", async () => {
  for (const [who, id] of [
    [caller, "1"],
    [scriptedCaller({ image: "cd" }), "2"],
  ] as const) {
    const run = await bench.openApproved(who, ["acme.thing.get"]);
    await bench.gateway.startCall(who, run.id, { action: "acme.thing.get", input: { id } }).done;
  }
  // Nobody vouches for either image: the test tells them apart by what they are.
  const events = bench
    .events()
    .map((event) =>
      event.event_type === "caller_evidence" ? { ...event, authority: String(event.caller.cdhash) } : event,
    ) as readonly AuditEvent[];
  const shown = (all: readonly AuditEvent[]) =>
    entries(all).map(({ session_id, authority }) => [session_id, authority]);
  const [first, second] = shown(events);
  assert.notEqual(first?.[1], second?.[1], "the two are told apart");
  const late = events.filter(({ event_type }) => event_type === "session_started");
  const ended = events.findLastIndex(({ event_type }) => event_type === "caller_evidence");
  const others = events.filter((event) => !late.includes(event));
  const at = others.indexOf(events[ended] as AuditEvent) + 1;
  const mixed = [...others.slice(0, at), ...late.toReversed(), ...others.slice(at)];
  assert.deepEqual(new Map(shown(mixed) as never), new Map(shown(events) as never));
});

test("a log of 0.1, with the evidence after the session, gives the same authority", async () => {
  await callApproved("acme.thing.get", { id: "1" });
  const events = [...bench.events()];
  const at = events.findIndex(({ event_type }) => event_type === "caller_evidence");
  const [evidence = assert.fail()] = events.splice(at, 1);
  const old = [...events.slice(0, at + 1), evidence, ...events.slice(at + 1)];
  assert.equal(old[at]?.event_type, "session_started");
  assert.deepEqual(
    entries(old),
    entries(bench.events()).map((entry) => ({ ...entry, frame: at })),
  );
});

test("a run that nobody let in is told with the authority that its card showed", async () => {
  const run = await bench.openRun(caller, ["acme.thing.get"]);
  await bench.deny("no");
  await run.admission?.session.catch(() => undefined);
  const [entry = assert.fail()] = entries(bench.events());
  assert.deepEqual([entry.state, entry.authority === null], ["refused", false]);
});

test("a refused callback is in the log under the correlation id of its answer", async () => {
  const callback = {
    pack: "nobody",
    peer: "127.0.0.1",
    rawHeaders: [],
    body: Buffer.from("{}"),
    correlationId: "cor_7",
  };
  await assert.rejects(bench.gateway.callbacks.receive(callback), denies("callback_refused"));
  const [refused = assert.fail()] = bench.eventsOf("callback_refused");
  assert.equal("correlation_id" in refused && refused.correlation_id, "cor_7");
});

const KNOWN = {
  ...{ principal: "a program", endpoint: "POST /v1/runs/{run_id}/calls", media_type: "application/json" },
  ...{ request_digest: null, signature: null, fields: { "/body/action": "acme.thing.get" } },
} as const;
/** As long as whoever waits wants, or not at all. */
const untilTold = {
  sleep: (ms: number, told?: Waking): Promise<void> =>
    ms === 0 ? Promise.resolve() : new Promise((resolve) => told?.addEventListener("abort", resolve)),
};

/** A call as the agent's route makes it, with its record; says what was appended together from its first send on. */
async function askPlane(action: string, input: JsonObject, waitMs: number, known: KnownOfRequest = KNOWN) {
  const run = await openApproved();
  const from = appended.length;
  const context = {
    name: "a",
    caller,
    correlationId: "req_1",
    waitMs,
    traceparent: null,
    onGone: () => undefined,
    connection: { destroy: () => undefined },
  };
  const { closing, answer } = tellWithEnd(bench.gateway, context, run.id, known);
  const call = bench.gateway.startCall(caller, run.id, { action, input, closing });
  const { status, body } = await answer(call, untilTold);
  const named = () => ({ who: "uid 1", principal: "a program", operator: null, traceparent: null });
  const record = { ...known, decision: { kind: "allowed", by: "any" }, result: { kind: "done", status } } as const;
  const occasion = {
    correlationId: "req_1",
    principal: context,
    denied: null,
    body: () => ({ digest: null, bytes: 0 }),
  };
  await recordRequests(
    "agent",
    bench.gateway.requests,
    named,
  )(record, { ...occasion, answer: { status, body } as never });
  await call.done;
  return { status, types: appended.slice(from).map((events) => events.map(({ event_type }) => event_type)) };
}

test("the word about a plain read goes to the disk with the end of the read, before the answer", async () => {
  const { status, types } = await askPlane("acme.thing.get", { id: "1" }, 30_000);
  assert.equal(status, 200);
  assert.deepEqual(types, [["call_begun"], ["call_ended"]]);
  const [told = assert.fail()] = bench.eventsOf("request_accepted");
  assert.deepEqual([told.correlation_id, told.status, told.decision], ["req_1", 200, `caller ${caller.key}`]);
  const kept = bench.eventsOf("content_kept").filter(({ what }) => what === "fields");
  assert.deepEqual(
    kept.map(({ digest, text }) => [digest, text]),
    [[told.fields_digest, '{"/body/action":"acme.thing.get"}']],
  );
});

test("an end that is not the answer leaves the word about the request to the answer", async () => {
  provider.answer((_request, response) => response.writeHead(404, { "content-type": "application/json" }).end("{}"));
  const failed = await askPlane("acme.thing.get", { id: "1" }, 30_000);
  assert.deepEqual(failed.types, [["call_begun"], ["attempt_ended"], ["content_kept", "request_accepted"]]);
  provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  const left = await askPlane("acme.thing.get", { id: "1" }, 0);
  assert.equal(left.status, 202);
  const apart = ["attempt_ended", "call_begun", "content_kept", "request_accepted"];
  assert.deepEqual(left.types.flat().toSorted(), apart);
  assert.deepEqual(
    bench.eventsOf("request_accepted").map(({ status }) => status),
    [200, 202],
  );
});

/** A search whose request and whose fields are texts of so many characters: what was appended, and what a reader of the log is told. */
async function searchPlane(requestUnits: number, fieldUnits: number) {
  const requestOf = (q: string): string => {
    const headers = { accept: "application/json", "x-api-version": "2026-04-01" };
    const url = `${provider.origin}/v1/things?q=${q}`;
    return JSON.stringify({ action: "acme.thing.find", body: null, headers, method: "GET", url });
  };
  const fieldsOf = (why: string) => ({ "/body/action": "acme.thing.find", "/body/why": why });
  const q = "q".repeat(requestUnits - requestOf("").length);
  const fields = fieldsOf("w".repeat(fieldUnits - JSON.stringify(fieldsOf("")).length));
  const { types } = await askPlane("acme.thing.find", { q }, 30_000, { ...KNOWN, fields });
  const all = bench.events();
  const events = all.slice(all.findLastIndex(({ event_type }) => event_type === "session_started") + 1);
  return { types, events, request: requestOf(q), fields: JSON.stringify(fields) };
}

/** The same of every read of its kind: without its own names, digests, long texts and times. */
function plainly(events: readonly AuditEvent[]): unknown {
  const [first = assert.fail()] = events;
  return events.map(({ sequence, ...event }) => {
    const text = JSON.stringify({ ...event, sequence: sequence - first.sequence, elapsed_ms: 0 });
    return JSON.parse(
      text
        .replaceAll(/\b[a-z]{2,4}_[0-9a-z]{26}\b/g, "ID")
        .replaceAll(/sha256:[0-9a-f]{64}/g, "DIGEST")
        .replaceAll(/q{9,}|w{9,}/g, "LONG"),
    );
  });
}

test("a text too long for the two records of a plain read stands in one of its own, and a reader is told the same", async () => {
  provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  const most = defaults.logInlineUnits;
  const begun = [["call_begun"], ["content_kept", "attempt_begun"]];
  const ended = [["call_ended"], ["attempt_ended", "content_kept", "request_accepted"]];
  let before: unknown;
  for (const [requestOver, fieldsOver] of [
    [0, 0],
    [1, 0],
    [0, 1],
    [1, 1],
  ] as const) {
    const { types, events, request, fields } = await searchPlane(most + requestOver, most + fieldsOver);
    assert.deepEqual(types, [begun[requestOver], ended[fieldsOver]]);
    assert.deepEqual(
      events.map(({ event_type }) => event_type),
      [
        ...["content_kept", "authorization_granted", "intent_accepted", "action_started", "budget_reserved"],
        ...["transport_started", "action_finished", "budget_settled", "content_kept", "request_accepted"],
      ],
    );
    const kept = events.filter((event) => event.event_type === "content_kept");
    assert.deepEqual(
      kept.map(({ what, digest, text }) => [what, digest, text]),
      [
        ["request", digestText(request), request],
        ["fields", digestText(fields), fields],
      ],
    );
    const named = events.flatMap((event) =>
      event.event_type === "intent_accepted"
        ? [event.request_digest, event.kept_digest]
        : event.event_type === "request_accepted"
          ? [event.fields_digest]
          : [],
    );
    assert.deepEqual(named, [digestText(request), digestText(request), digestText(fields)]);
    assert.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length);
    before ??= plainly(events);
    assert.deepEqual(plainly(events), before);
  }
});
