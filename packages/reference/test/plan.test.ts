import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { RequestRecord } from "../../request/src/record.ts";
import { countStatuses, type Reply, type Stand, startStand } from "./stand.ts";

const planPath = (project: string) => `/v1/projects/${encodeURIComponent(project)}/memberships/plan`;
const grant = { subject_id: "ada", role: "editor", if_match: "r1" };

async function preview(stand: Stand, body: object = grant, project = "atlas"): Promise<Reply> {
  const reply = await stand.ask("POST", planPath(project), { body, key: null });
  assert.equal(reply.status, 200, reply.text);
  return reply;
}

function execute(stand: Stand, { body }: Reply, changes: object = {}, key: string | null = null): Promise<Reply> {
  return stand.ask("POST", "/memberships", {
    key,
    body: { plan_id: body.plan_id, expected_revision: "r1", ...changes },
  });
}

test("a preview is a 200 with mode preview, never a 201 with a resource in it, and is not stored by caches", async (t) => {
  const stand = await startStand(t);
  const { body, headers } = await preview(stand);
  assert.deepEqual([body.mode, body.executable], ["preview", true]);
  assert.equal(headers["cache-control"], "no-store");
  assert.match(body.request_digest, /^sha256:[0-9a-f]{64}$/);
  assert.deepEqual(body.read_revisions, [
    { resource: "projects/atlas", revision: "r1" },
    { resource: "subjects/ada", revision: "r1" },
  ]);
  assert.equal(Date.parse(body.expires_at) > stand.time.clock.wallMs(), true);
});

test("a preview leaves every table of the file as it was, byte for byte, and publishes nothing", async (t) => {
  const stand = await startStand(t);
  const before = stand.dump();
  await preview(stand);
  await preview(stand, { subject_id: "everyone", role: "owner", if_match: "r1" });
  await preview(stand, { ...grant, if_match: "r0" });
  await preview(stand, grant, "court");
  await stand.ask("POST", planPath("crypt"), { body: grant });
  await stand.ask("POST", planPath("atlas"), { body: { ...grant, subject_id: "nobody" } });
  await stand.time.advance(1_000);
  assert.deepEqual(stand.dump(), before);
  assert.equal((await stand.ask("GET", "/v1/events")).body.data.length, 0);
  assert.deepEqual(mails(stand), []);
});

test("a preview is recorded on its own path, which no completed change takes", async (t) => {
  const [changes, previews]: RequestRecord[][] = [[], []];
  const stand = await startStand(t, {
    onRecord: (record) => changes?.push(record),
    onPreview: (record) => previews?.push(record),
  });
  await preview(stand);
  assert.deepEqual(
    previews?.map(({ endpoint, decision }) => [endpoint, decision.kind]),
    [["POST /v1/projects/{project_id}/memberships/plan", "allowed"]],
  );
  assert.deepEqual(changes, []);
});

test("validation names code, path, whether it blocks, and a repair only where there is one", async (t) => {
  const stand = await startStand(t);
  const conflict = await preview(stand, { ...grant, if_match: "r9" });
  assert.equal(conflict.body.executable, false);
  assert.equal(conflict.body.plan_id, null);
  assert.equal(conflict.body.plan_token, null);
  const [first] = conflict.body.validation;
  assert.deepEqual(
    [first.severity, first.code, first.path, first.blocks_execution],
    ["error", "version_conflict", "/if_match", true],
  );
  assert.match(first.repair, /new preview/);
  const held = await preview(stand, grant, "court");
  const hold = held.body.validation.find(({ code }: { code: string }) => code === "legal_hold_active");
  assert.deepEqual([hold.severity, hold.blocks_execution, hold.repair], ["error", true, null]);
  assert.equal(held.body.executable, false);
  const [warning] = (await preview(stand)).body.validation;
  assert.deepEqual(
    [warning.severity, warning.code, warning.blocks_execution],
    ["warning", "member_count_change", false],
  );
});

test("authorization failures are kept apart from validation", async (t) => {
  const stand = await startStand(t);
  const forbidden = await stand.ask("POST", planPath("crypt"), { body: grant });
  assert.deepEqual([forbidden.status, forbidden.body.code], [403, "project_forbidden"]);
  const foreign = await stand.ask("POST", planPath("gemini"), { body: grant });
  assert.deepEqual([foreign.status, foreign.body.code], [404, "not_found"]);
  const inactive = await stand.ask("POST", planPath("dormant"), { body: grant });
  assert.deepEqual([inactive.status, inactive.body.code], [409, "record_inactive"]);
  const token = await stand.tokenFor({ scopes: ["memberships:write"] });
  const unscoped = await stand.ask("POST", planPath("atlas"), { token, body: grant });
  assert.deepEqual([unscoped.status, unscoped.body.code], [403, "insufficient_scope"]);
});

test("direct and derived effects stand apart, each with its cause, previous and proposed values", async (t) => {
  const stand = await startStand(t);
  const { body } = await preview(stand, { subject_id: "everyone", role: "editor", if_match: "r1" });
  const [direct, derived, separate] = body.effects;
  assert.deepEqual([direct.relation, derived.relation, separate.relation], ["direct", "derived", "separate"]);
  assert.deepEqual(direct.sample, [
    {
      resource: "projects/atlas/memberships/everyone",
      revision: null,
      previous: null,
      proposed: { role: "editor" },
      cause: "request",
    },
  ]);
  assert.equal(derived.sample[0].cause, "member of the group everyone");
  assert.match(separate.sample[0].compensating_action, /correction/);
  assert.deepEqual(
    body.assumptions.map(({ may_proceed_without }: { may_proceed_without: boolean }) => may_proceed_without),
    [true, false],
  );
});

test("a large set is a total, a bounded sample and a cursor that leads through all of it", async (t) => {
  const stand = await startStand(t);
  const { body } = await preview(stand, { subject_id: "everyone", role: "viewer", if_match: "r1" });
  const derived = body.effects[1];
  assert.deepEqual([derived.total, derived.sample.length], [1200, 10]);
  const seen = new Set<string>(derived.sample.map(({ resource }: { resource: string }) => resource));
  let cursor: string | null = derived.next_cursor;
  const path = `/v1/plans/${body.plan_id}/effects`;
  while (cursor !== null) {
    const page = await stand.ask("GET", `${path}?cursor=${cursor}`);
    assert.equal(page.status, 200);
    for (const { resource } of page.body.data) seen.add(resource);
    cursor = page.body.next_cursor;
  }
  assert.equal(seen.size, 1200);
  const other = await preview(stand, { subject_id: "everyone", role: "owner", if_match: "r1" });
  const crossed = await stand.ask("GET", `${path}?cursor=${other.body.effects[1].next_cursor}`);
  assert.deepEqual([crossed.status, crossed.body.code], [400, "cursor_invalid"]);
  const foreign = await stand.tokenFor({ actor: "other" });
  const hidden = await stand.ask("GET", `${path}?cursor=${derived.next_cursor}`, { token: foreign });
  assert.equal(hidden.status, 404);
});

test("execution takes the plan and the expected revision alone, and does what the preview said", async (t) => {
  const stand = await startStand(t);
  const planned = await preview(stand, { subject_id: "everyone", role: "editor", if_match: "r1" });
  const second = await stand.ask("POST", "/memberships", {
    body: { plan_id: planned.body.plan_id, expected_revision: "r1", role: "owner" },
  });
  assert.deepEqual(
    [second.status, second.body.errors[0].code, second.body.errors[0].path],
    [422, "unknown_member", "/role"],
  );
  const done = await execute(stand, planned);
  assert.equal(done.status, 200);
  assert.deepEqual(
    [done.body.mode, done.body.revision, done.body.applied],
    ["executed", "r2", { direct: 1, derived: 1200 }],
  );
  assert.equal(done.body.request_digest, planned.body.request_digest);
  const read = await stand.ask("GET", "/v1/projects/atlas/memberships/everyone");
  assert.deepEqual([read.status, read.body.role, read.body.revision], [200, "editor", "r2"]);
  assert.equal(JSON.parse(stand.dump()["effective_access"] ?? "[]").length, 1200);
});

test("effects are published after the commit: the notice leaves from the outbox with its compensating action named", async (t) => {
  const stand = await startStand(t);
  const planned = await preview(stand);
  assert.deepEqual(mails(stand), []);
  const done = await execute(stand, planned);
  assert.deepEqual(done.body.separate, [
    {
      resource: "mail/ada@acme.example",
      state: "queued",
      compensating_action: "send a correction to the same address",
    },
  ]);
  await stand.time.advance(10);
  const [mail] = mails(stand);
  assert.equal(mail?.["to"], "ada@acme.example");
  assert.equal(mail?.["plan_id"], planned.body.plan_id);
  assert.equal(stand.dump()["outbox"], "[]");
  const events = await stand.ask("GET", "/v1/events");
  assert.deepEqual(
    events.body.data.map(({ type }: { type: string }) => type),
    ["membership.changed"],
  );
});

test("a plan is used once, and a repeat under the same token repeats the answer", async (t) => {
  const stand = await startStand(t);
  const planned = await preview(stand);
  const key = randomUUID();
  const done = await execute(stand, planned, {}, key);
  assert.equal(done.status, 200);
  const again = await execute(stand, planned, {}, key);
  assert.equal(again.text, done.text);
  const used = await execute(stand, planned);
  assert.deepEqual([used.status, used.body.code], [409, "plan_used"]);
  const otherBody = await execute(stand, planned, { expected_revision: "r2" }, key);
  assert.deepEqual([otherBody.status, otherBody.body.code], [422, "idempotency_key_reused"]);
});

test("an expired plan, a changed revision and an unexpected one are plan_stale, and nothing is written", async (t) => {
  const stand = await startStand(t);
  const [expiring, overtaken] = [await preview(stand), await preview(stand, { ...grant, subject_id: "grace" })];
  const wrong = await execute(stand, overtaken, { expected_revision: "r7" });
  assert.deepEqual([wrong.status, wrong.body.code, wrong.body.changed], [409, "plan_stale", ["expected_revision"]]);
  assert.equal((await execute(stand, await preview(stand, { ...grant, subject_id: "linus" }))).status, 200);
  const before = stand.dump();
  const stale = await execute(stand, overtaken);
  assert.deepEqual([stale.status, stale.body.code, stale.body.changed], [409, "plan_stale", ["projects/atlas"]]);
  await stand.time.advance(15 * 60_000);
  const late = await execute(stand, expiring);
  assert.equal(late.status, 409);
  assert.ok(late.body.changed.includes("expires_at"));
  assert.deepEqual(stand.dump(), before);
});

test("another caller's plan does not exist", async (t) => {
  const stand = await startStand(t);
  const planned = await preview(stand);
  for (const request of [{ actor: "other" }, { tenant: "globex" }]) {
    const token = await stand.tokenFor(request);
    const body = { plan_id: planned.body.plan_id, expected_revision: "r1" };
    const reply = await stand.ask("POST", "/memberships", { token, body });
    assert.deepEqual([reply.status, reply.body.code], [404, "not_found"]);
    const carried = { plan_token: planned.body.plan_token, expected_revision: "r1" };
    assert.equal((await stand.ask("POST", "/memberships", { token, body: carried })).status, 404);
  }
});

test("a signed plan token stands in for the plan, and is used once all the same", async (t) => {
  const first = await startStand(t);
  const planned = await preview(first);
  const body = { plan_token: planned.body.plan_token, expected_revision: "r1" };
  const both = await first.ask("POST", "/memberships", { body: { ...body, plan_id: planned.body.plan_id } });
  assert.equal(both.status, 422);
  const forged = await first.ask("POST", "/memberships", { body: { ...body, plan_token: `${body.plan_token}x` } });
  assert.equal(forged.status, 404);
  const done = await first.ask("POST", "/memberships", { body });
  assert.equal(done.status, 200);
  const twice = await first.ask("POST", "/memberships", { body });
  assert.deepEqual([twice.status, twice.body.code], [409, "plan_used"]);
  const byId = await execute(first, planned);
  assert.deepEqual([byId.status, byId.body.code], [409, "plan_used"]);
});

test("a hundred concurrent executions of one plan have exactly one effect", async (t) => {
  const stand = await startStand(t);
  const planned = await preview(stand);
  const replies = await Promise.all(Array.from({ length: 100 }, () => execute(stand, planned, {}, randomUUID())));
  assert.deepEqual(countStatuses(replies), { 200: 1, 409: 99 });
  assert.equal(JSON.parse(stand.dump()["plan_executions"] ?? "[]").length, 1);
  assert.equal((await stand.ask("GET", "/v1/projects/atlas")).body.revision, "r2");
});

test("of fifty plans previewed on one revision and executed together exactly one holds", async (t) => {
  const stand = await startStand(t);
  const plans = await Promise.all(Array.from({ length: 50 }, () => preview(stand)));
  const replies = await Promise.all(plans.map((planned) => execute(stand, planned)));
  assert.deepEqual(countStatuses(replies), { 200: 1, 409: 49 });
  assert.ok(replies.every(({ status, body }) => status === 200 || body.code === "plan_stale"));
});

test("If-Match is the other way to say which revision was read: stale is 412, absent 428, both at once refused", async (t) => {
  const stand = await startStand(t);
  const { if_match: _, ...body } = grant;
  const etag = String((await stand.ask("GET", "/v1/projects/atlas")).headers.etag);
  const absent = await stand.ask("POST", planPath("atlas"), { body });
  assert.deepEqual([absent.status, absent.body.code], [428, "precondition_required"]);
  const stale = await stand.ask("POST", planPath("atlas"), { body, headers: { "if-match": '"r0"' } });
  assert.deepEqual([stale.status, stale.body.code], [412, "precondition_failed"]);
  const good = await stand.ask("POST", planPath("atlas"), { body, headers: { "if-match": etag } });
  assert.deepEqual([good.status, good.body.executable], [200, true]);
  const both = await stand.ask("POST", planPath("atlas"), { body: grant, headers: { "if-match": etag } });
  assert.equal(both.status, 422);
});

test("a preview by OPTIONS or by a query flag is no preview", async (t) => {
  const stand = await startStand(t);
  const options = await stand.ask("OPTIONS", "/memberships", { key: null });
  assert.deepEqual([options.status, options.headers.allow], [405, "POST"]);
  const flagged = await stand.ask("POST", "/memberships?dry_run=true", {
    body: { plan_id: "p", expected_revision: "r1" },
  });
  assert.deepEqual([flagged.status, flagged.body.errors[0].code], [422, "unknown_member"]);
});

test("mail that cannot be spooled is kept and delivered later; the provider says what is wrong and goes on", async (t) => {
  const faults: unknown[] = [];
  const stand = await startStand(t, { onFault: (error) => faults.push(error) });
  writeFileSync(`${stand.file}.mail`, "in the way");
  assert.equal((await execute(stand, await preview(stand))).status, 200);
  await stand.time.advance(10 * 60_000);
  assert.ok(faults.length > 8, "it is tried more often than a webhook would be");
  rmSync(`${stand.file}.mail`);
  await stand.time.advance(10 * 60_000);
  assert.equal(mails(stand).length, 1);
  assert.equal(stand.dump()["outbox"], "[]");
});

function mails(stand: Stand): readonly Record<string, unknown>[] {
  const folder = `${stand.file}.mail`;
  try {
    return readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")));
  } catch {
    return [];
  }
}
