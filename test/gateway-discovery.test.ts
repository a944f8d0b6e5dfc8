import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { type CallResult, readBody } from "../src/conventions/outcome/result.ts";
import { defaults } from "../src/kernel/defaults.ts";
import { isJsonObject, type JsonValue } from "../src/kernel/json.ts";
import { type ScriptedCaller, scriptedCaller } from "./support/caller.ts";
import { untilDone } from "./support/clock.ts";
import { type Bench, denies, startBench, TOKEN } from "./support/gateway.ts";
import { type Received, startProvider, type TestProvider } from "./support/provider.ts";

let provider: TestProvider;
let bench: Bench;
let caller: ScriptedCaller;

beforeEach(async () => {
  provider = await startProvider();
  bench = await startBench(`
format: gw.pack/v1
pack: acme
provider: { origin: "${provider.origin}", credential: acme-token, auth: { scheme: bearer }, network: private }
actions:
  thing.list:
    effect: read
    request: { method: GET, path: /v1/things }
    input:
      state: { in: query, type: string, optional: true }
    pages: { items: data, cursor: next_cursor, cursor_param: cursor, size_param: limit, page_size: 2, max_pages: 4, max_records: 7 }
  event.list:
    effect: read
    request: { method: GET, path: /v1/events }
    pages: { items: data, link: next, cursor_param: cursor, size_param: limit, page_size: 2, max_pages: 4, max_records: 100 }
  bare.list:
    effect: read
    request: { method: GET, path: "/v1/owners/{owner}/bare" }
    input:
      owner: { in: path, type: string, maxLength: 10 }
    pages: { items: "", link: next, link_path: "/by-number/{id}/bare", cursor_param: cursor, size_param: limit, page_size: 2, max_pages: 4, max_records: 7 }
  sparse.list:
    effect: read
    request: { method: GET, path: /v1/sparse }
    pages: { items: data, empty_if: total, cursor: next_cursor, cursor_param: cursor }
`);
  bench.credentials.set("acme-token", { eachUse: false, disabled: false, origin: provider.origin });
  caller = scriptedCaller();
});
afterEach(async () => {
  await bench.close();
  await provider.close();
});

interface Page {
  readonly status?: number;
  readonly body?: JsonValue;
  readonly text?: string;
  readonly link?: string;
}

/** Answers page after page, as the test says for each request. */
function serve(pageOf: (cursor: string | null, request: Received, turn: number) => Page): void {
  let turn = 0;
  provider.answer((request, response) => {
    const { searchParams } = new URL(request.url, provider.origin);
    const page = pageOf(searchParams.get("cursor"), request, turn++);
    response.writeHead(page.status ?? 200, {
      "content-type": "application/json",
      ...(page.link === undefined ? {} : { link: page.link }),
    });
    response.end(page.text ?? JSON.stringify(page.body ?? null));
  });
}

async function list(action = "acme.thing.list", input = {}, limits = {}): Promise<CallResult> {
  const run = await bench.openApproved(caller, [action], limits);
  let done = false;
  const work = bench.gateway.startCall(caller, run.id, { action, input }).done.finally(() => {
    done = true;
  });
  work.catch(() => undefined);
  await untilDone(bench.time, 500, () => done);
  return work;
}

function dataOf({ response }: CallResult): JsonValue {
  const body = response === null ? null : readBody(response);
  return isJsonObject(body) ? (body["data"] ?? null) : null;
}

/** Two records a page under ever new cursors, until `end`. */
const counting =
  (end: number) =>
  (cursor: string | null): Page => {
    const from = Number(cursor ?? 0);
    const next = from + 2 < end ? String(from + 2) : null;
    return { body: { data: [from, from + 1].filter((one) => one < end), next_cursor: next } };
  };

test("a list is read to its end, each page an attempt of its own: budgeted and logged", async () => {
  serve(counting(5));
  const result = await list("acme.thing.list", { state: "active" });
  assert.equal(result.outcome, "success");
  assert.deepEqual(dataOf(result), [0, 1, 2, 3, 4]);
  assert.deepEqual(
    provider.received.map(({ url }) => url),
    [
      "/v1/things?state=active&limit=2",
      "/v1/things?state=active&limit=2&cursor=2",
      "/v1/things?state=active&limit=2&cursor=4",
    ],
  );
  assert.ok(provider.received.every(({ headers }) => headers.authorization === `Bearer ${TOKEN}`));
  const { discovery } = result;
  assert.deepEqual(
    [discovery?.completion, discovery?.stop_reason, discovery?.pages_fetched, discovery?.records_received],
    ["complete", "end_of_list", 3, 5],
  );
  assert.deepEqual([discovery?.requested_page_size, discovery?.last_continuation_cursor], [2, null]);
  const types = bench.events().map(({ event_type }) => event_type);
  for (const type of ["intent_accepted", "action_finished", "budget_reserved", "budget_settled"]) {
    assert.equal(types.filter((one) => one === type).length, 3, type);
  }
});

test("record and page ceilings stop a list that never ends", async () => {
  serve(counting(1e9));
  const many = await list();
  assert.deepEqual([many.discovery?.stop_reason, many.discovery?.completion], ["record_ceiling", "partial"]);
  assert.deepEqual(dataOf(many), [0, 1, 2, 3, 4, 5, 6]);
  assert.equal(provider.received.length, 4);
  assert.match(many.discovery?.last_continuation_cursor ?? "", /^\[redacted: 1 characters/);
  serve((_cursor, _request, turn) => ({ body: { data: [], next_cursor: `c${turn}` } }));
  const empty = await list();
  assert.deepEqual([empty.discovery?.stop_reason, empty.discovery?.pages_fetched], ["page_ceiling", 4]);
});

test("a repeated cursor stops the list, and the pages before it are in the result", async () => {
  serve((_cursor, _request, turn) => ({ body: { data: [turn], next_cursor: "again" } }));
  const result = await list();
  assert.deepEqual([result.outcome, result.discovery?.stop_reason], ["success", "cursor_repeated"]);
  assert.deepEqual(dataOf(result), [0, 1]);
  assert.equal(provider.received.length, 2);
});

test("a page that is none stops the list and is reported", async () => {
  for (const page of [{ text: "<html>" }, { text: '{"data":[],"data":[1]}' }, { body: { items: [] } }]) {
    serve((cursor) => (cursor === null ? { body: { data: [1], next_cursor: "a" } } : page));
    const result = await list();
    assert.deepEqual([result.outcome, result.discovery?.stop_reason], ["success", "page_malformed"]);
    assert.deepEqual(dataOf(result), [1]);
  }
  serve(() => ({ body: { items: [] } }));
  const first = await list();
  assert.deepEqual(
    [first.outcome, first.discovery?.pages_fetched, first.discovery?.completion],
    ["error", 0, "partial"],
  );
});

test("an integer past 2^53 spoils no page: a record has its digits as text, and as a cursor it is followed by them", async () => {
  serve((cursor) => {
    const rest = cursor === null ? `9007199254740993` : "null";
    return { text: `{"data":[{"id":1234567890123456789,"of":7}],"next_cursor":${rest}}` };
  });
  const result = await list();
  const one = '{"id":"1234567890123456789","of":7}';
  assert.deepEqual([JSON.stringify(dataOf(result)), result.discovery?.completion], [`[${one},${one}]`, "complete"]);
  assert.ok(provider.received.at(-1)?.url.endsWith("&cursor=9007199254740993"));
});

test("Link headers are followed by their cursor alone, through our own request", async () => {
  serve((cursor) => ({
    body: { data: [cursor] },
    ...(cursor === "c2" ? {} : { link: `</v1/events?cursor=${cursor === null ? "c1" : "c2"}&limit=2>; rel="next"` }),
  }));
  const result = await list("acme.event.list");
  assert.deepEqual(dataOf(result), [null, "c1", "c2"]);
  assert.equal(result.discovery?.completion, "complete");
});

test("a list that is the answer itself is read to its end, also where its links name it by number", async () => {
  serve((cursor) => ({
    body: [cursor],
    ...(cursor === "3" ? {} : { link: `</by-number/77/bare?cursor=${cursor === null ? 2 : 3}&limit=2>; rel="next"` }),
  }));
  const result = await list("acme.bare.list", { owner: "ada" });
  assert.deepEqual([dataOf(result), result.discovery?.completion], [[null, "2", "3"], "complete"]);
  assert.deepEqual(
    provider.received.map(({ url }) => url),
    ["/v1/owners/ada/bare?limit=2", "/v1/owners/ada/bare?limit=2&cursor=2", "/v1/owners/ada/bare?limit=2&cursor=3"],
    "no link is followed: each request is ours",
  );
  serve(() => ({ body: { message: "moved" } }));
  const moved = await list("acme.bare.list", { owner: "ada" });
  assert.deepEqual([moved.outcome, moved.discovery?.stop_reason], ["error", "page_malformed"]);
});

test("an empty page may lack its list where the definition says so, and no other answer is taken for one", async () => {
  serve((cursor) => ({ body: cursor === null ? { total: 0, next_cursor: "b" } : { data: [1], total: 1 } }));
  const result = await list("acme.sparse.list");
  assert.deepEqual([dataOf(result), result.discovery?.completion], [[1], "complete"]);
  serve(() => ({ body: { error: "quota" } }));
  const refused = await list("acme.sparse.list");
  assert.deepEqual([refused.outcome, refused.discovery?.stop_reason], ["error", "page_malformed"]);
});

test("a next link to another origin or path, or with other parameters, is never followed", async () => {
  const foreign = await startProvider();
  try {
    for (const [target, reason] of [
      [`${foreign.origin}/v1/events?cursor=2`, "continuation_foreign"],
      ["/v1/secrets?cursor=2", "continuation_foreign"],
      ["/v1/events?cursor=2&limit=5000", "continuation_undocumented"],
      ["/v1/events?page=2", "continuation_undocumented"],
    ] as const) {
      const before = provider.received.length;
      serve(() => ({ body: { data: [1] }, link: `<${target}>; rel="next"` }));
      const result = await list("acme.event.list");
      assert.deepEqual([result.outcome, result.discovery?.stop_reason], ["success", reason]);
      assert.deepEqual(dataOf(result), [1]);
      assert.equal(provider.received.length, before + 1);
    }
    assert.equal(foreign.received.length, 0);
  } finally {
    await foreign.close();
  }
});

test("a budget that ends mid-walk gives the pages read so far and says which ceiling it was", async () => {
  serve(counting(1e9));
  const result = await list("acme.thing.list", {}, { attempts: 2 });
  assert.deepEqual([result.outcome, result.discovery?.completion], ["success", "partial"]);
  assert.equal(result.discovery?.stop_reason, "attempts_exhausted");
  assert.deepEqual(dataOf(result), [0, 1, 2, 3]);
  assert.ok(bench.events().some(({ event_type }) => event_type === "budget_denied"));
});

test("a run whose time ends mid-walk gives the pages read so far", async () => {
  const run = await bench.openApproved(caller, ["acme.thing.list"], { durationMs: 3_000 });
  provider.answer(async (_request, response) => {
    await bench.time.advance(3_000);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(counting(9)(null).body));
  });
  const result = await bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {} }).done;
  assert.equal(result.outcome, "success");
  assert.deepEqual(dataOf(result), [0, 1]);
  assert.equal(result.discovery?.stop_reason, "run_deadline_exhausted");
  assert.equal(provider.received.length, 1);
});

test("a budget that refuses the very first page is a plain denial", async () => {
  serve(counting(9));
  const run = await bench.openApproved(caller, ["acme.thing.list"], { attempts: 1 });
  const call = () => bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {} }).done;
  assert.equal((await call()).discovery?.stop_reason, "attempts_exhausted");
  await assert.rejects(call(), denies("attempts_exhausted"));
});

test("a page that fails is retried within the read class, and then ends the list with its status", async () => {
  serve((cursor, _request, turn) => (cursor !== null && turn === 1 ? { status: 503 } : counting(4)(cursor)));
  const mended = await list();
  assert.deepEqual([dataOf(mended), mended.discovery?.completion], [[0, 1, 2, 3], "complete"]);
  serve((cursor) => (cursor === null ? counting(4)(cursor) : { status: 403 }));
  const refused = await list();
  assert.deepEqual([refused.outcome, refused.discovery?.stop_reason], ["success", "status_403"]);
  assert.deepEqual(dataOf(refused), [0, 1]);
  serve(() => ({ status: 403 }));
  const never = await list();
  assert.deepEqual(
    [never.outcome, never.discovery?.continue],
    ["error", null],
    "whoever has read nothing begins again",
  );
});

test("a page that echoes the credential is withheld and ends the list", async () => {
  serve((cursor) => ({ body: { data: [cursor === null ? 1 : TOKEN], next_cursor: "b" } }));
  const result = await list();
  assert.equal(result.discovery?.stop_reason, "credential_echoed");
  assert.deepEqual(dataOf(result), [1]);
  assert.ok(!JSON.stringify(result).includes(TOKEN));
});

test("a cursor that fits no request ends the list", async () => {
  serve(() => ({ body: { data: [1], next_cursor: "é".repeat(4_000) } }));
  const result = await list();
  assert.deepEqual([result.discovery?.stop_reason, provider.received.length], ["continuation_malformed", 1]);
});

test("a caller that is no longer the one who was approved gets nothing more", async () => {
  const run = await bench.openApproved(caller, ["acme.thing.list"]);
  serve((cursor) => {
    if (cursor !== null) caller.become({ kind: "traced", tracer: 4 });
    return counting(1e9)(cursor);
  });
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {} });
  await assert.rejects(call.done, denies("caller_traced"));
  assert.equal(provider.received.length, 2);
});

test("a card about a list says how much of it may be read", async () => {
  bench.credentials.set("acme-token", { eachUse: true, disabled: false, origin: provider.origin });
  serve(counting(5));
  const run = await bench.openRun(caller, ["acme.thing.list"]);
  const call = bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {} });
  const { card } = await bench.waiting();
  assert.ok(card?.notes.some((note) => note.includes("4 pages or 7 records")));
  await bench.approve();
  assert.equal((await call.done).discovery?.completion, "complete");
});

test("a partial list goes on under a handle of ours, within the definition's page size and ceilings", async () => {
  serve(counting(11));
  const run = await bench.openApproved(caller, ["acme.thing.list", "acme.event.list"]);
  const read = (more: object, who = caller, action = "acme.thing.list", input = {}) =>
    bench.gateway.startCall(who, run.id, { action, input, list: more }).done;
  const first = await read({ max_pages: 2 });
  assert.deepEqual(dataOf(first), [0, 1, 2, 3]);
  const handle = first.discovery?.continue ?? "";
  assert.match(handle, /^lst_[\w-]{32}$/);
  // The ceiling of the definition stands, whatever is asked for: seven records, and the page that was cut goes on where it was cut.
  const second = await read({ continue: handle, max_records: 99, max_pages: 99, page_size: 99 });
  assert.deepEqual(dataOf(second), [4, 5, 6, 7, 8, 9, 10]);
  assert.deepEqual([second.discovery?.completion, second.discovery?.continue], ["complete", null]);
  const third = await read({ max_records: 3 });
  assert.deepEqual(dataOf(third), [0, 1, 2]);
  const fourth = await read({ continue: third.discovery?.continue, max_pages: 1, page_size: 1 });
  assert.deepEqual(dataOf(fourth), [3], "no record is lost or told twice");
  assert.ok(provider.received.every(({ url }) => url.includes("limit=2")));
  await assert.rejects(
    read({ continue: handle }, caller, "acme.thing.list", { state: "x" }),
    denies("list_handle_unknown"),
  );
  await assert.rejects(read({ continue: handle }, caller, "acme.event.list"), denies("list_handle_unknown"));
  await bench.time.advance(defaults.listHandleMs);
  const later = await bench.openRun(caller, ["acme.thing.list"]);
  const late = bench.gateway.startCall(caller, later.id, {
    action: "acme.thing.list",
    input: {},
    list: { continue: handle },
  });
  await assert.rejects(late.done, denies("list_handle_unknown"));
});

test("a list whose pages do not fit its record ceiling is read to its end in parts, each record once", async () => {
  serve(counting(11));
  const run = await bench.openApproved(caller, ["acme.thing.list"]);
  const told: (JsonValue | undefined)[] = [];
  for (let handle: string | null | undefined; handle !== null; ) {
    const more = { max_records: 3, ...(handle === undefined ? {} : { continue: handle }) };
    const part = await bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {}, list: more })
      .done;
    told.push([dataOf(part), part.discovery?.stop_reason ?? null]);
    handle = part.discovery?.continue ?? null;
  }
  assert.deepEqual(told, [
    [[0, 1, 2], "record_ceiling"],
    [[3, 4, 5], "record_ceiling"],
    [[6, 7, 8], "record_ceiling"],
    [[9, 10], "end_of_list"],
  ]);
});

test("a circle is still one where its pages are cut", async () => {
  serve((cursor) => ({ body: { data: [cursor === null ? 0 : 2, 1], next_cursor: "again" } }));
  const run = await bench.openApproved(caller, ["acme.thing.list"]);
  const read = (more: object) =>
    bench.gateway.startCall(caller, run.id, { action: "acme.thing.list", input: {}, list: more }).done;
  const cut = await read({ max_records: 3 });
  assert.equal(cut.discovery?.stop_reason, "record_ceiling");
  const { discovery } = await read({ continue: cut.discovery?.continue });
  assert.deepEqual([discovery?.stop_reason, discovery?.continue], ["cursor_repeated", null]);
});

test("a list that its budget stopped has a handle too", async () => {
  serve(counting(9));
  const result = await list("acme.thing.list", {}, { attempts: 2 });
  assert.equal(result.discovery?.stop_reason, "attempts_exhausted");
  assert.match(result.discovery?.continue ?? "", /^lst_/);
});
