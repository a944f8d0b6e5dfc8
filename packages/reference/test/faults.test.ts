import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { seedReleases } from "../src/seed.ts";
import { type Stand, startStand } from "./stand.ts";

const promote = "/v1/deployments/promote";
const body = { environment: "staging", release: seedReleases.second };
const report = { account: "a", range: { start: "2026-01-01", end: "2026-01-02" }, format: "csv" };

async function generation(stand: Stand): Promise<number> {
  return (await stand.ask("GET", "/v1/environments/staging")).body.generation;
}

/** Sends and gives up once the fault has struck; resolves when the connection is gone. */
async function giveUp(stand: Stand, key: string): Promise<void> {
  const leaving = new AbortController();
  const sent = stand.ask("POST", promote, { key, body, signal: leaving.signal });
  const gone = assert.rejects(sent);
  await until(async () => (await stand.ask("GET", "/control/faults")).body.armed.length === 0);
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  leaving.abort();
  await gone;
}

test("a request that times out before the commit did nothing; the repeat under its token does it once", async (t) => {
  const stand = await startStand(t);
  await stand.arm("timeout_before_commit");
  const key = randomUUID();
  await giveUp(stand, key);
  assert.equal(await generation(stand), 1);
  await until(async () => (await stand.ask("POST", promote, { key, body })).status === 201);
  assert.equal(await generation(stand), 2);
});

test("a request that times out after the commit was done; the repeat under its token gives the original answer", async (t) => {
  const stand = await startStand(t);
  await stand.arm("timeout_after_commit");
  const key = randomUUID();
  await giveUp(stand, key);
  assert.equal(await generation(stand), 2);
  await until(async () => (await stand.ask("POST", promote, { key, body })).status === 201);
  assert.equal(await generation(stand), 2);
});

test("a connection that drops tells nothing about the commit", async (t) => {
  const stand = await startStand(t);
  await stand.arm("drop_before_commit");
  await assert.rejects(stand.ask("POST", promote, { body }));
  assert.equal(await generation(stand), 1);
  await stand.arm("drop_after_commit");
  const key = randomUUID();
  await assert.rejects(stand.ask("POST", promote, { key, body }));
  assert.equal(await generation(stand), 2);
  assert.equal((await stand.ask("POST", promote, { key, body })).status, 201);
  assert.equal(await generation(stand), 2);
});

test("an answer can be late, before or after the commit", async (t) => {
  const stand = await startStand(t);
  for (const [fault, during] of [
    ["late_before_commit", 1],
    ["late_after_commit", 3],
  ] as const) {
    await stand.arm(fault, { delay_ms: 5_000 });
    const sent = stand.ask("POST", promote, { body });
    await until(async () => (await stand.ask("GET", "/control/faults")).body.armed.length === 0);
    assert.equal(await generation(stand), during);
    await stand.time.advance(5_000);
    assert.equal((await sent).status, 201);
  }
});

test("503 is given before and after the commit, and looks the same", async (t) => {
  const stand = await startStand(t);
  await stand.arm("unavailable_before_commit", { retry_after_s: 3 });
  const before = await stand.ask("POST", promote, { body });
  assert.deepEqual([before.status, before.headers["retry-after"], await generation(stand)], [503, "3", 1]);
  await stand.arm("unavailable_after_commit", { retry_after_s: 3 });
  const after = await stand.ask("POST", promote, { body });
  assert.deepEqual([after.status, after.text, await generation(stand)], [503, before.text, 2]);
});

test("a request that arrives twice has one effect under its token", async (t) => {
  const stand = await startStand(t);
  await stand.arm("duplicate");
  assert.equal((await stand.ask("POST", promote, { body })).status, 201);
  assert.equal(await generation(stand), 2);
});

test("429 comes with and without Retry-After, and counts down", async (t) => {
  const stand = await startStand(t);
  await stand.arm("rate_limited", { endpoint: `POST ${promote}`, times: 2, retry_after_s: 7 });
  await stand.arm("rate_limited");
  const first = await stand.ask("POST", promote, { body });
  assert.deepEqual([first.status, first.body.code, first.headers["retry-after"]], [429, "rate_limited", "7"]);
  const other = await stand.ask("GET", "/v1/projects?limit=1");
  assert.deepEqual([other.status, other.headers["retry-after"]], [429, undefined]);
  assert.equal((await stand.ask("GET", "/v1/projects?limit=1")).status, 200);
  assert.equal((await stand.ask("POST", promote, { body })).status, 429);
  assert.equal((await stand.ask("POST", promote, { body })).status, 201);
});

test("a cursor can loop, and a next link can lead away", async (t) => {
  const stand = await startStand(t);
  await stand.arm("loop_cursor", { times: 2 });
  const pages = [await stand.ask("GET", "/v1/projects?limit=1"), await stand.ask("GET", "/v1/projects?limit=1")];
  assert.equal(pages[0]?.body.next_cursor, pages[1]?.body.next_cursor);
  await stand.arm("foreign_next_link");
  assert.match(String((await stand.ask("GET", "/v1/events")).headers.link), /elsewhere\.example/);
});

test("a known token can answer with a job that nobody knows", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  const first = await stand.ask("POST", "/v1/reports", { key, body: report });
  await stand.arm("unknown_job_id");
  const second = await stand.ask("POST", "/v1/reports", { key, body: report });
  assert.notEqual(second.body.job_id, first.body.job_id);
  assert.equal((await stand.ask("GET", second.body.status_url)).status, 404);
});

test("an answer can echo the credential", async (t) => {
  const stand = await startStand(t);
  await stand.arm("echo_credential");
  assert.ok((await stand.ask("GET", "/v1/projects?limit=1")).text.includes(stand.token));
  assert.ok(!(await stand.ask("GET", "/v1/projects?limit=1")).text.includes(stand.token));
});

test("faults are armed by whoever may control them, are bounded, and can be disarmed", async (t) => {
  const stand = await startStand(t);
  const token = await stand.tokenFor({ scopes: ["projects:read"] });
  const refused = await stand.ask("POST", "/control/faults", { token, body: { fault: "duplicate" } });
  assert.deepEqual([refused.status, refused.body.code], [403, "insufficient_scope"]);
  const unknown = await stand.ask("POST", "/control/faults", { body: { fault: "meteor" } });
  assert.deepEqual([unknown.status, unknown.body.errors[0].path], [422, "/fault"]);
  for (let round = 0; round < 32; round++) await stand.arm("timeout_before_commit");
  assert.equal((await stand.ask("POST", "/control/faults", { body: { fault: "duplicate" } })).status, 422);
  assert.equal((await stand.ask("DELETE", "/control/faults", { key: null })).body.armed.length, 0);
  assert.equal((await stand.ask("GET", "/v1/projects?limit=1")).status, 200);
});

async function until(done: () => Promise<boolean>): Promise<void> {
  for (const giveUpAt = Date.now() + 120_000; Date.now() < giveUpAt; ) {
    if (await done()) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.fail("what was waited for did not happen");
}

test("an answer that breaks off in the middle of its body was committed", async (t) => {
  const stand = await startStand(t);
  await stand.arm("drop_mid_response");
  const key = randomUUID();
  await assert.rejects(stand.ask("POST", promote, { key, body }));
  assert.equal(await generation(stand), 2);
  assert.equal((await stand.ask("POST", promote, { key, body })).status, 201, "the repeat gives the whole answer");
  assert.equal(await generation(stand), 2);
});

test("a provider that lies names other things than it made, and calls a preview executed", async (t) => {
  const stand = await startStand(t);
  await stand.arm("lie");
  const made = await stand.ask("POST", "/v1/reports", { body: report });
  assert.deepEqual([made.status, made.body.job_id], [202, "somebody-elses"]);
  await stand.arm("lie");
  const plan = { subject_id: "ada", role: "editor", if_match: "r1" };
  const preview = await stand.ask("POST", "/v1/projects/atlas/memberships/plan", { body: plan });
  assert.deepEqual([preview.status, preview.body.mode], [200, "executed"]);
});
