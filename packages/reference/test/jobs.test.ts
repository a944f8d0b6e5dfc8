import assert from "node:assert/strict";
import { createHmac, randomUUID } from "node:crypto";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { verifyWebhook } from "../../../src/conventions/callback/standard-webhooks.ts";
import { countStatuses, type Reply, type Stand, startStand } from "./stand.ts";

const report = { account: "acct-1", range: { start: "2026-01-01", end: "2026-01-31" }, format: "csv" };

async function create(stand: Stand, asked: object = {}): Promise<Reply> {
  const reply = await stand.ask("POST", "/v1/reports", { body: report, ...asked });
  assert.equal(reply.status, 202, reply.text);
  return reply;
}

test("a report is accepted with 202, Location and the creation body, and accepted is not done", async (t) => {
  const stand = await startStand(t);
  const { body, headers } = await create(stand);
  assert.deepEqual(Object.keys(body).sort(), ["job_id", "state", "status_url"]);
  assert.equal(headers.location, body.status_url);
  assert.equal(body.status_url, `/v1/jobs/${body.job_id}`);
  assert.match(String(headers["retry-after"]), /^[1-9]\d*$/);
  const status = await stand.ask("GET", body.status_url);
  assert.deepEqual(Object.keys(status.body).sort(), ["job_id", "progress", "state", "updated_at"]);
  assert.equal(status.body.state, "queued");
});

test("progress reaches its total before the job has succeeded", async (t) => {
  const stand = await startStand(t);
  const { body } = await create(stand);
  await stand.time.advance(4_500);
  const full = await stand.ask("GET", body.status_url);
  assert.deepEqual([full.body.state, full.body.progress], ["running", { completed: 100, total: 100 }]);
  assert.equal((await stand.ask("GET", `${body.status_url}/result`)).status, 404);
  assert.notEqual(full.headers["retry-after"], undefined);
  await stand.time.advance(1_500);
  const done = await stand.ask("GET", body.status_url);
  assert.deepEqual([done.body.state, done.headers["retry-after"]], ["succeeded", undefined]);
  const result = await stand.ask("GET", `${body.status_url}/result`);
  assert.match(result.body.report_digest, /^sha256:/);
});

test("the same token and payload return the original job and start no second one", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  const first = await create(stand, { key });
  await stand.time.advance(60_000);
  const again = await create(stand, { key });
  assert.equal(again.text, first.text);
  assert.equal(again.headers.location, first.headers.location);
  assert.equal(JSON.parse(stand.dump()["operations"] ?? "[]").length, 1);
});

test("the same token with another payload is refused, without a token nothing starts", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  await create(stand, { key });
  const before = stand.dump();
  const other = await stand.ask("POST", "/v1/reports", { key, body: { ...report, format: "json" } });
  assert.deepEqual([other.status, other.body.code], [422, "idempotency_key_reused"]);
  const missing = await stand.ask("POST", "/v1/reports", { key: null, body: report });
  assert.deepEqual([missing.status, missing.body.code], [400, "idempotency_key_missing"]);
  const short = await stand.ask("POST", "/v1/reports", { key: "abc", body: report });
  assert.deepEqual([short.status, short.body.code], [400, "idempotency_key_missing"]);
  const twice = await stand.ask("POST", "/v1/reports", {
    key: null,
    headers: { "idempotency-key": [randomUUID(), randomUUID()] },
    body: report,
  });
  assert.deepEqual([twice.status, twice.body.code], [400, "framing_invalid"]);
  assert.deepEqual(stand.dump(), before);
});

test("a token belongs to one principal and one route", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  const mine = await create(stand, { key });
  const theirs = await create(stand, { key, token: await stand.tokenFor({ actor: "other" }) });
  assert.notEqual(mine.body.job_id, theirs.body.job_id);
  const release = {
    operation_id: "client-1",
    service: "web",
    artifact: `sha256:${"a".repeat(64)}`,
    environment: "staging",
  };
  assert.equal((await stand.ask("POST", "/v1/releases", { key, body: release })).status, 201);
});

test("a repeat while the first is still being worked on is 409", async (t) => {
  const stand = await startStand(t);
  await stand.arm("late_before_commit", { delay_ms: 1_000 });
  const key = randomUUID();
  const slow = stand.ask("POST", "/v1/reports", { key, body: report });
  await until(async () => (await stand.ask("GET", "/control/faults")).body.armed.length === 0);
  const repeat = await stand.ask("POST", "/v1/reports", { key, body: report });
  assert.deepEqual([repeat.status, repeat.body.code, repeat.body.retry_allowed], [409, "idempotency_in_flight", true]);
  const other = await stand.ask("POST", "/v1/reports", { key, body: { ...report, account: "b" } });
  assert.equal(other.body.code, "idempotency_key_reused");
  await stand.time.advance(1_000);
  assert.equal((await slow).status, 202);
  assert.equal((await stand.ask("POST", "/v1/reports", { key, body: report })).text, (await slow).text);
});

test("past its retention a token is a tombstone that refuses reuse", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  await create(stand, { key });
  await stand.time.advance(30 * 86_400_000 + 60_000);
  const token = await stand.tokenFor();
  const reply = await stand.ask("POST", "/v1/reports", { key, token, body: report });
  assert.deepEqual([reply.status, reply.body.code], [409, "idempotency_key_retired"]);
});

test("a hundred concurrent reuses of one token start exactly one job", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => stand.ask("POST", "/v1/reports", { key, body: report })),
  );
  const counts = countStatuses(replies);
  assert.ok((counts[202] ?? 0) >= 1);
  assert.equal((counts[202] ?? 0) + (counts[409] ?? 0), 100);
  assert.equal(new Set(replies.filter(({ status }) => status === 202).map(({ body }) => body.job_id)).size, 1);
  assert.equal(JSON.parse(stand.dump()["operations"] ?? "[]").length, 1);
});

test("a cancellation is a request: it is cancelled only when the status says so", async (t) => {
  const stand = await startStand(t);
  const { body } = await create(stand);
  await stand.time.advance(1_000);
  const asked = await stand.ask("DELETE", `/jobs/${body.job_id}`, { key: null });
  assert.deepEqual([asked.status, asked.body.state], [202, "cancelling"]);
  const repeated = await stand.ask("DELETE", `/jobs/${body.job_id}`, { key: null });
  assert.deepEqual([repeated.status, repeated.body.state], [202, "cancelling"]);
  await stand.time.advance(1_200);
  assert.equal((await stand.ask("GET", body.status_url)).body.state, "cancelled");
  const late = await stand.ask("DELETE", `/jobs/${body.job_id}`, { key: null });
  assert.deepEqual([late.status, late.body.state], [200, "cancelled"]);
});

test("a cancellation that comes too late ends in success", async (t) => {
  const stand = await startStand(t);
  const { body } = await create(stand);
  await stand.time.advance(5_000);
  assert.equal((await stand.ask("DELETE", `/jobs/${body.job_id}`, { key: null })).body.state, "cancelling");
  await stand.time.advance(1_000);
  assert.equal((await stand.ask("GET", body.status_url)).body.state, "succeeded");

  const early = await create(stand);
  await stand.arm("cancel_too_late");
  await stand.ask("DELETE", `/jobs/${early.body.job_id}`, { key: null });
  await stand.time.advance(3_000);
  assert.equal((await stand.ask("GET", early.body.status_url)).body.state, "cancelling");
  await stand.time.advance(3_000);
  assert.equal((await stand.ask("GET", early.body.status_url)).body.state, "succeeded");
});

test("a job fails when it is told to", async (t) => {
  const stand = await startStand(t);
  await stand.arm("job_fails");
  const { body } = await create(stand);
  await stand.time.advance(6_000);
  assert.equal((await stand.ask("GET", body.status_url)).body.state, "failed");
  assert.equal((await stand.ask("GET", `${body.status_url}/result`)).status, 404);
});

test("a job that failed is resumed under its own id, once for each key, and only its status tells how it ends", async (t) => {
  const stand = await startStand(t);
  await stand.arm("job_fails", { endpoint: "POST /v1/reports" });
  const { body } = await create(stand);
  const resume = (asked: object = {}) => stand.ask("POST", `/v1/jobs/${body.job_id}/resume`, asked);
  const early = await resume();
  assert.deepEqual([early.status, early.body.code], [409, "job_not_resumable"]);
  await stand.time.advance(60_000);
  assert.equal((await stand.ask("GET", body.status_url)).body.state, "failed");
  const unnamed = await resume({ key: null });
  assert.deepEqual([unnamed.status, unnamed.body.code], [400, "idempotency_key_missing"]);
  const reader = await resume({ token: await stand.tokenFor({ scopes: ["reports:read"] }) });
  assert.equal(reader.status, 403);
  const stranger = await resume({ token: await stand.tokenFor({ actor: "other" }) });
  assert.equal(stranger.status, 404);
  const key = randomUUID();
  const first = await resume({ key });
  assert.deepEqual([first.status, first.body.job_id, first.body.state], [202, body.job_id, "queued"]);
  assert.equal(first.headers.location, body.status_url);
  await stand.time.advance(60_000);
  assert.equal((await stand.ask("GET", body.status_url)).body.state, "succeeded");
  assert.equal((await resume({ key })).text, first.text, "a repeat repeats the answer");
  assert.equal((await stand.ask("GET", body.status_url)).body.state, "succeeded", "and resumes nothing again");
  assert.deepEqual([(await resume()).status], [409]);
});

test("an operation is found by its id and by every name that its client gave it, by nobody else", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  const headers = { "x-trace-id": "trace-7", "x-correlation-id": "call-7" };
  const { body } = await create(stand, { key, headers });
  for (const name of ["trace-7", "call-7", key]) {
    const found = await stand.ask("GET", `/operations/by-id/${name}`);
    assert.deepEqual([found.status, found.body.job_id], [200, body.job_id], name);
    assert.equal((await stand.ask("GET", `/operations/${found.body.operation_id}`)).body.job_id, body.job_id);
  }
  const token = await stand.tokenFor({ actor: "other" });
  assert.equal((await stand.ask("GET", "/operations/by-id/trace-7", { token })).status, 404);
  assert.equal((await stand.ask("GET", body.status_url, { token })).status, 404);
  await create(stand, { headers });
  assert.equal(
    (await stand.ask("GET", "/operations/by-id/trace-7")).body.job_id,
    body.job_id,
    "the first keeps the name",
  );
});

test("a release is named by its digest, and asking twice gives one release", async (t) => {
  const stand = await startStand(t);
  const body = {
    operation_id: "rel-1",
    service: "web",
    artifact: `sha256:${"b".repeat(64)}`,
    environment: "production",
  };
  const first = await stand.ask("POST", "/v1/releases", { body });
  assert.equal(first.status, 201);
  const again = await stand.ask("POST", "/v1/releases", { body: { ...body, operation_id: "rel-2" } });
  assert.equal(again.body.release_id, first.body.release_id);
  const found = await stand.ask("GET", "/operations/by-id/rel-1");
  assert.deepEqual([found.body.state, found.body.result.release_id], ["succeeded", first.body.release_id]);
  const promoted = await stand.ask("POST", "/v1/deployments/promote", {
    body: { environment: "production", release: first.body.release_id },
  });
  assert.equal(promoted.status, 201);
});

test("a deployment is an operation that promotes what it built when it is done, and not before", async (t) => {
  const stand = await startStand(t);
  const body = { repository: "web", revision: "c".repeat(40), environment: "production" };
  const reply = await stand.ask("POST", "/deployments", { body, headers: { "x-correlation-id": "deploy-1" } });
  assert.deepEqual([reply.status, Object.keys(reply.body).sort()], [202, ["operation_id", "state", "status_url"]]);
  assert.equal((await stand.ask("GET", "/v1/environments/production")).body.generation, 1);
  await stand.time.advance(4_000);
  const done = await stand.ask("GET", "/operations/by-id/deploy-1");
  assert.equal(done.body.state, "succeeded");
  const target = await stand.ask("GET", "/v1/environments/production");
  assert.deepEqual([target.body.generation, target.body.active_deployment_id], [2, done.body.result.deployment_id]);
});

interface Delivered {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function receive(t: TestContext, status: () => number = () => 204): Promise<{ url: string; got: Delivered[] }> {
  const got: Delivered[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      got.push({ headers: request.headers, body: Buffer.concat(chunks).toString("utf8") });
      response.writeHead(status()).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, got };
}

test("the end of a job is told by a webhook that its receiver can verify", async (t) => {
  const { url, got } = await receive(t);
  const stand = await startStand(t, { webhookUrl: url });
  const { body } = await create(stand);
  await stand.time.advance(6_000);
  await until(async () => got.length === 1);
  const [first] = got;
  const event = JSON.parse(first?.body ?? "{}");
  assert.deepEqual([event.type, event.data.job_id, event.data.state], ["report.succeeded", body.job_id, "succeeded"]);
  const key = Buffer.from(stand.reference.webhookSecret.slice("whsec_".length), "base64");
  const mac = (content: Buffer) => createHmac("sha256", key).update(content).digest();
  const head = {
    id: String(first?.headers["webhook-id"]),
    timestamp: String(first?.headers["webhook-timestamp"]),
    signature: String(first?.headers["webhook-signature"]),
  };
  const nowS = Math.floor(stand.time.clock.wallMs() / 1000);
  const payload = Buffer.from(first?.body ?? "");
  assert.equal(verifyWebhook(mac, head, payload, nowS, 300), "verified");
  assert.equal(verifyWebhook(mac, head, Buffer.from(`${first?.body} `), nowS, 300), "signature_invalid");
  assert.equal(verifyWebhook(mac, head, payload, nowS + 301, 300), "too_old");
});

test("webhooks repeat, change their order and get lost on request", async (t) => {
  const { url, got } = await receive(t);
  const stand = await startStand(t, { webhookUrl: url });
  await stand.arm("webhook_repeat");
  await create(stand);
  await stand.time.advance(6_000);
  await until(async () => got.length === 2);
  assert.equal(got[0]?.headers["webhook-id"], got[1]?.headers["webhook-id"]);

  await stand.arm("webhook_lose");
  await create(stand);
  await stand.time.advance(6_000);
  await until(async () => stand.dump()["outbox"] === "[]");
  assert.equal(got.length, 2);

  await stand.arm("webhook_reorder");
  const jobs = [await create(stand), await create(stand)];
  await stand.time.advance(6_000);
  await until(async () => got.length === 4);
  // Jobs of one moment end in the order of their identifiers; changed means the other way round.
  const named = got.slice(2).map(({ body }) => JSON.parse(body).data.job_id);
  assert.deepEqual(
    named,
    jobs
      .map(({ body }) => body.job_id)
      .sort()
      .reverse(),
  );
});

test("a webhook that is not taken is sent again, and given up in the end", async (t) => {
  let status = 503;
  const { url, got } = await receive(t, () => status);
  const stand = await startStand(t, { webhookUrl: url });
  await create(stand);
  await stand.time.advance(6_000);
  await until(async () => got.length === 1);
  status = 200;
  await stand.time.advance(2_000);
  await until(async () => got.length === 2);
  await until(async () => stand.dump()["outbox"] === "[]");
  status = 500;
  await create(stand);
  for (let round = 0; stand.dump()["outbox"] !== "[]" || round < 12; round++) {
    assert.ok(round < 40, "a webhook is given up after a bounded number of tries");
    await stand.time.advance(120_000);
    await new Promise((resolve) => setImmediate(resolve));
  }
});

test("what waits for its next try keeps no later webhook waiting", async (t) => {
  const taken = () => got.length > 100;
  const { url, got } = await receive(t, () => (taken() ? 204 : 503));
  const stand = await startStand(t, { webhookUrl: url });
  for (let job = 0; job <= 100; job++) await create(stand);
  await stand.time.advance(6_000);
  await until(async () => got.length >= 100);
  await stand.time.advance(100);
  await until(async () => taken());
  assert.equal(JSON.parse(stand.dump()["outbox"] ?? "").length, 100);
});

/** Looks again and again: what is waited for happens on real sockets, and a busy machine takes its time. */
async function until(done: () => Promise<boolean>): Promise<void> {
  for (const giveUpAt = Date.now() + 120_000; Date.now() < giveUpAt; ) {
    if (await done()) return;
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  assert.fail("what was waited for did not happen");
}
