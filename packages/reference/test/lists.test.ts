import assert from "node:assert/strict";
import { test } from "node:test";
import { type Stand, startStand } from "./stand.ts";

interface Item {
  readonly [name: string]: string;
}

async function walk(stand: Stand, path: string, size: number): Promise<readonly Item[]> {
  const items: Item[] = [];
  let cursor: string | null = null;
  const seen = new Set<string>();
  do {
    const at: string = cursor === null ? "" : `&cursor=${cursor}`;
    const { status, body, text } = await stand.ask("GET", `${path}${path.includes("?") ? "&" : "?"}limit=${size}${at}`);
    assert.equal(status, 200, text);
    assert.ok(body.data.length <= size);
    items.push(...body.data);
    cursor = body.next_cursor;
    if (cursor !== null) assert.ok(!seen.has(cursor), "a cursor never repeats");
    seen.add(cursor ?? "");
  } while (cursor !== null);
  return items;
}

test("a list is walked by its cursor to its end, every record once and in order", async (t) => {
  const stand = await startStand(t);
  for (const size of [1, 7, 64, 200]) {
    const ids = (await walk(stand, "/v1/projects", size)).map((item) => item["project_id"]);
    assert.equal(ids.length, 64, "active and visible");
    assert.deepEqual(ids, [...new Set(ids)].sort());
  }
});

test("filters and orders are closed sets, and each gives its own list", async (t) => {
  const stand = await startStand(t);
  const inactive = await walk(stand, "/v1/projects?state=inactive", 5);
  assert.deepEqual(
    inactive.map((item) => item["project_id"]),
    ["dormant"],
  );
  const descending = (await walk(stand, "/v1/projects?sort=-name", 9)).map((item) => String(item["name"]));
  assert.deepEqual(descending, [...descending].sort().reverse());
  const broken = await walk(stand, "/v1/integrations?status=error&sort=-updated_at", 7);
  assert.equal(broken.length, 40);
  assert.ok(broken.every((item) => item["status"] === "error"));
  const before = "2026-01-01T05:00:00.000Z";
  const early = await walk(stand, `/v1/integrations?updated_before=${encodeURIComponent(before)}`, 2);
  assert.deepEqual(
    early.map((item) => item["integration_id"]),
    ["int-001", "int-002", "int-003", "int-004", "int-005"],
  );
  for (const query of ["state=gone", "sort=password", "limit=0", "limit=201", "limit=1.0", "limit=abc", "cursor="]) {
    const reply = await stand.ask("GET", `/v1/projects?${query}`);
    assert.equal(reply.status, 422, query);
  }
});

test("a cursor belongs to its query: another list, filter, order, selection or principal refuses it", async (t) => {
  const stand = await startStand(t);
  const { body } = await stand.ask("GET", "/v1/projects?limit=2");
  const cursor = body.next_cursor;
  const good = await stand.ask("GET", `/v1/projects?limit=5&cursor=${cursor}`);
  assert.equal(good.status, 200, "the page size is no part of the query");
  const uses = [
    "/v1/projects?sort=name",
    "/v1/projects?state=any",
    "/v1/projects?field=name",
    "/v1/integrations?sort=id",
    "/v1/events?limit=1",
  ];
  for (const path of uses) {
    const reply = await stand.ask("GET", `${path}&cursor=${cursor}`);
    assert.deepEqual([reply.status, reply.body.code], [400, "cursor_invalid"], path);
    assert.equal(reply.body.errors[0].path, "/cursor");
  }
  const token = await stand.tokenFor({ actor: "other" });
  assert.equal((await stand.ask("GET", `/v1/projects?cursor=${cursor}`, { token })).status, 400);
  const forged = Buffer.from(JSON.stringify({ key: "a", id: "a", bound: "x" })).toString("base64url");
  for (const text of [`${forged}.${"A".repeat(43)}`, forged, `${cursor}x`, cursor.slice(1), "x".repeat(1_024)]) {
    const reply = await stand.ask("GET", `/v1/projects?cursor=${text}`);
    assert.deepEqual([reply.status, reply.body.code], [400, "cursor_invalid"]);
  }
});

test("a field selection limits each record to what was asked for", async (t) => {
  const stand = await startStand(t);
  const { body } = await stand.ask("GET", "/v1/projects?limit=2&field=project_id&field=state");
  assert.deepEqual(body.data, [
    { project_id: "atlas", state: "active" },
    { project_id: "borealis", state: "active" },
  ]);
  const unknown = await stand.ask("GET", "/v1/projects?field=secret");
  assert.deepEqual([unknown.status, unknown.body.errors[0].path], [422, "/field/0"]);
  const twice = await stand.ask("GET", "/v1/projects?field=name&field=name");
  assert.equal(twice.status, 422);
});

test("a forbidden project and another tenant's are in no list and in no search", async (t) => {
  const stand = await startStand(t);
  const ids = (await walk(stand, "/v1/projects?state=any", 200)).map((item) => item["project_id"]);
  assert.ok(!ids.includes("crypt") && !ids.includes("gemini"));
  for (const word of ["crypt", "gemini"]) {
    assert.deepEqual((await stand.ask("GET", `/search?q=${word}`)).body.data, []);
  }
  const auditor = await stand.tokenFor({ actor: "auditor" });
  assert.equal((await stand.ask("GET", "/search?q=crypt", { token: auditor })).body.data.length, 1);
});

test("events carry the next page in a Link of the provider's own origin, and the feed only grows", async (t) => {
  const stand = await startStand(t);
  for (const name of ["a", "b", "c"]) {
    const body = { operation_id: name, service: name, artifact: `sha256:${"1".repeat(64)}`, environment: "staging" };
    assert.equal((await stand.ask("POST", "/v1/releases", { body })).status, 201);
  }
  const first = await stand.ask("GET", "/v1/events?limit=2", { headers: { host: "attacker.example" } });
  const link = /^<([^>]+)>; rel="next"$/.exec(String(first.headers.link))?.[1] ?? "";
  assert.ok(link.startsWith(`${stand.reference.origin}/v1/events?`), "never the Host that a client sent");
  const second = await stand.ask("GET", link.slice(stand.reference.origin.length));
  assert.equal(second.body.data.length, 1);
  assert.equal(second.headers.link, undefined);
  assert.equal(second.body.next_cursor, null);
  const all = [...first.body.data, ...second.body.data].map(({ event_id }: Item) => event_id);
  assert.equal(new Set(all).size, 3);
});

test("a search takes text of any kind, and a label that repeats narrows it", async (t) => {
  const stand = await startStand(t);
  const find = async (query: string) =>
    (await stand.ask("GET", `/search?${query}`)).body.data.map((item: Item) => item["project_id"]);
  assert.deepEqual(await find("q=atlas"), ["atlas"]);
  assert.deepEqual(await find("q=e&label=infra"), []);
  assert.deepEqual(await find("q=e&label=infra&include_archived=true"), ["elder"]);
  assert.deepEqual(await find("q=a&label=infra&label=tier+1"), ["atlas"]);
  assert.deepEqual(await find("q=any&label=c%2B%2B+%26+co"), ["team a/b%2Fc?d#é+1"]);
  const repeated = await stand.ask("GET", "/search?q=a&q=b");
  assert.deepEqual([repeated.status, repeated.body.code], [400, "repeated_name"]);
  assert.equal((await stand.ask("GET", "/search")).body.errors[0].path, "/q");
});

test("builds are found by a path segment that holds any character, decoded exactly once", async (t) => {
  const stand = await startStand(t);
  const name = "team a/b%2Fc?d#é+1";
  const found = await stand.ask("GET", `/projects/${encodeURIComponent(name)}/builds`);
  assert.deepEqual([found.status, found.body.project_id, found.body.data.length], [200, name, 3]);
  const twice = await stand.ask("GET", `/projects/${encodeURIComponent(encodeURIComponent(name))}/builds`);
  assert.equal(twice.status, 404, "decoding twice would find it");
  const raw = await stand.ask("GET", "/projects/team%20a/b%252Fc%3Fd%23%C3%A9%2B1/builds");
  assert.equal(raw.status, 404, "a slash that is not escaped parts segments");
  const climbing = await stand.ask("GET", "/projects/..%2Fatlas/builds");
  assert.deepEqual([climbing.status, climbing.body.code], [422, "segment_refused"]);
  for (const path of ["/projects/%zz/builds", "/projects/%ff/builds"]) {
    const reply = await stand.ask("GET", path);
    assert.deepEqual([reply.status, reply.body.code], [400, "percent_malformed"], path);
  }
});
