import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { seedReleases } from "../src/seed.ts";
import { countStatuses, type Reply, type Stand, startStand } from "./stand.ts";

const promotePath = "/v1/deployments/promote";
const rollbackPath = "/v1/environments/staging/rollbacks";

async function promote(stand: Stand, release: string = seedReleases.second, token?: string): Promise<Reply> {
  const body = { environment: "staging", release };
  const reply = await stand.ask("POST", promotePath, { body, ...(token === undefined ? {} : { token }) });
  assert.equal(reply.status, 201, reply.text);
  return reply;
}

function requestFor({ body }: Reply, changes: object = {}): object {
  return {
    origin_deployment_id: body.deployment_id,
    expected_current_release_id: body.release_id,
    expected_target_generation: body.target_generation,
    restore_release_id: body.prior_release_id,
    reason: "errors rise",
    approval_id: "apr_1",
    ...changes,
  };
}

test("a promotion writes provenance with the prior release and the generation it created", async (t) => {
  const stand = await startStand(t);
  const { body, headers } = await promote(stand);
  assert.equal(body.prior_release_id, seedReleases.first);
  assert.equal(body.created_target_generation, 2);
  assert.equal(body.actor_id, "robot");
  assert.equal(body.status, "running");
  assert.equal(headers.location, `/v1/deployments/${body.deployment_id}`);
  for (const field of ["artifact_digest", "source_revision", "config_digest", "migration_set_id"]) {
    assert.notEqual(body[field], undefined, field);
  }
  const target = await stand.ask("GET", "/v1/environments/staging");
  assert.deepEqual(
    [target.body.release_id, target.body.generation, target.body.active_deployment_id],
    [seedReleases.second, 2, body.deployment_id],
  );
});

test("the prior release is stored and never recomputed, whatever is promoted elsewhere or later", async (t) => {
  const stand = await startStand(t);
  const first = await promote(stand);
  await promote(stand, seedReleases.migrating);
  const read = await stand.ask("GET", `/v1/deployments/${first.body.deployment_id}`);
  assert.equal(read.body.prior_release_id, seedReleases.first);
  assert.equal(read.body.status, "superseded");
});

test("a tag is not a release: only a digest is promoted, and only a known one", async (t) => {
  const stand = await startStand(t);
  const before = stand.dump();
  const tag = await stand.ask("POST", promotePath, { body: { environment: "staging", release: "v1.2.3" } });
  assert.deepEqual(
    [tag.status, tag.body.errors[0].code, tag.body.errors[0].path],
    [422, "value_not_allowed", "/release"],
  );
  const unknown = `sha256:${"0".repeat(64)}`;
  const absent = await stand.ask("POST", promotePath, { body: { environment: "staging", release: unknown } });
  assert.deepEqual([absent.status, absent.body.code], [422, "release_unknown"]);
  assert.deepEqual(stand.dump(), before);
});

test("a rollback of the current deployment restores the stored release at the next generation, running", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const reply = await stand.ask("POST", rollbackPath, { body: requestFor(promoted) });
  assert.equal(reply.status, 201);
  const { rollback_deployment_id, ...rest } = reply.body;
  assert.deepEqual(rest, {
    reverted_deployment_id: promoted.body.deployment_id,
    previous_release_id: seedReleases.second,
    current_release_id: seedReleases.first,
    target_generation: 3,
    status: "running",
  });
  const target = await stand.ask("GET", "/v1/environments/staging");
  assert.deepEqual([target.body.active_deployment_id, target.body.generation], [rollback_deployment_id, 3]);
  const reverted = await stand.ask("GET", `/v1/deployments/${promoted.body.deployment_id}`);
  assert.equal(reverted.body.status, "rolled_back");
});

test("any mismatch is 409 stale_rollback with the observed values, and nothing changes", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const before = stand.dump();
  const cases = [
    { expected_target_generation: 1 },
    { expected_target_generation: 3 },
    { expected_current_release_id: seedReleases.first },
    { restore_release_id: seedReleases.migrating },
    { restore_release_id: seedReleases.second },
  ];
  for (const changes of cases) {
    const reply = await stand.ask("POST", rollbackPath, { body: requestFor(promoted, changes) });
    assert.equal(reply.status, 409, JSON.stringify(changes));
    const { error, code, origin_deployment_id, expected_target_generation } = reply.body;
    assert.deepEqual([error, code], ["stale_rollback", "stale_rollback"]);
    assert.equal(origin_deployment_id, promoted.body.deployment_id);
    assert.equal(expected_target_generation, changes.expected_target_generation ?? 2);
    assert.equal(reply.body.observed_target_generation, 2);
    assert.equal(reply.body.observed_release_id, seedReleases.second);
    assert.equal(reply.body.retry_allowed, false);
  }
  assert.deepEqual(stand.dump(), before);
});

test("a rollback after a newer release is stale even where every expected value is filled in from what is there", async (t) => {
  const stand = await startStand(t);
  const first = await promote(stand);
  const newer = await promote(stand, seedReleases.migrating);
  const forged = {
    expected_target_generation: newer.body.target_generation,
    expected_current_release_id: newer.body.release_id,
  };
  const reply = await stand.ask("POST", rollbackPath, { body: requestFor(first, forged) });
  assert.deepEqual([reply.status, reply.body.error, reply.body.mismatches], [409, "stale_rollback", ["ownership"]]);
});

test("promoting the same release again does not give the older deployment its target back", async (t) => {
  const stand = await startStand(t);
  const first = await promote(stand);
  const again = await promote(stand);
  assert.equal(first.body.release_id, again.body.release_id);
  const forged = { expected_target_generation: again.body.target_generation };
  const reply = await stand.ask("POST", rollbackPath, { body: requestFor(first, forged) });
  assert.deepEqual([reply.status, reply.body.error], [409, "stale_rollback"]);
});

test("the first deployment of an environment has nothing to go back to", async (t) => {
  const stand = await startStand(t);
  const installer = await stand.tokenFor({ actor: "installer" });
  const target = await stand.ask("GET", "/v1/environments/staging");
  const body = {
    origin_deployment_id: target.body.active_deployment_id,
    expected_current_release_id: seedReleases.first,
    expected_target_generation: 1,
    restore_release_id: seedReleases.first,
    ...{ reason: "why not", approval_id: "apr_1" },
  };
  const reply = await stand.ask("POST", rollbackPath, { token: installer, body });
  assert.deepEqual([reply.status, reply.body.mismatches], [409, ["restore"]]);
});

test("another actor's deployment needs an authority of its own, which a person gives for that deployment alone", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const other = await stand.tokenFor({ actor: "other" });
  const refused = await stand.ask("POST", rollbackPath, { token: other, body: requestFor(promoted) });
  assert.deepEqual([refused.status, refused.body.code], [403, "capability_missing"]);
  assert.equal(refused.body.observed_release_id, undefined);
  const path = `/v1/deployments/${promoted.body.deployment_id}/capabilities`;
  const nobody = await stand.tokenFor({ actor: "other", scopes: ["rollbacks:write"] });
  const unscoped = await stand.ask("POST", path, { token: nobody, body: { actor_id: "other" } });
  assert.deepEqual([unscoped.status, unscoped.body.code], [403, "insufficient_scope"]);
  const given = await stand.ask("POST", path, { body: { actor_id: "other" } });
  assert.equal(given.status, 201);
  assert.equal(given.body.route, "POST /v1/environments/{environment}/rollbacks");
  const allowed = await stand.ask("POST", rollbackPath, { token: other, body: requestFor(promoted) });
  assert.equal(allowed.status, 201);
});

test("authority over a deployment expires, can be ended, and ends with the deployment's terminal state", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const path = `/v1/deployments/${promoted.body.deployment_id}/capabilities`;
  assert.equal((await stand.ask("DELETE", path, { key: null })).status, 200);
  const ended = await stand.ask("POST", rollbackPath, { body: requestFor(promoted) });
  assert.deepEqual([ended.status, ended.body.code], [403, "capability_ended"]);

  const next = await promote(stand, seedReleases.first);
  await stand.time.advance(Date.parse(next.body.capability.expires_at) - stand.time.clock.wallMs());
  const token = await stand.tokenFor();
  const late = await stand.ask("POST", rollbackPath, { token, body: requestFor(next) });
  assert.deepEqual([late.status, late.body.code], [403, "capability_ended"]);

  await promote(stand, seedReleases.second, token);
  const regrant = await stand.ask("POST", path, { token, body: { actor_id: "robot" } });
  assert.deepEqual([regrant.status, regrant.body.code], [409, "record_inactive"]);
});

test("a hundred concurrent rollbacks over real connections have exactly one effect", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => stand.ask("POST", rollbackPath, { body: requestFor(promoted) })),
  );
  assert.deepEqual(countStatuses(replies), { 201: 1, 409: 99 });
  assert.ok(replies.every(({ status, body }) => status === 201 || body.error === "stale_rollback"));
  const target = await stand.ask("GET", "/v1/environments/staging");
  assert.equal(target.body.generation, 3);
});

test("a hundred concurrent repeats under one token have one effect and one answer", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const key = randomUUID();
  const replies = await Promise.all(
    Array.from({ length: 100 }, () => stand.ask("POST", rollbackPath, { key, body: requestFor(promoted) })),
  );
  const done = replies.filter(({ status }) => status === 201);
  assert.ok(done.length >= 1);
  assert.equal(new Set(done.map(({ text }) => text)).size, 1);
  assert.ok(replies.every(({ status, body }) => status === 201 || body.code === "idempotency_in_flight"));
  assert.equal((await stand.ask("GET", "/v1/environments/staging")).body.generation, 3);
});

test("the entity tag changes on every transition; stale is 412, absent where it is required 428, weak never matches", async (t) => {
  const stand = await startStand(t);
  const path = "/v1/environments/staging/target";
  const tagOf = async () => String((await stand.ask("GET", "/v1/environments/staging")).headers.etag);
  const first = await tagOf();
  const body = { release: seedReleases.second };
  const absent = await stand.ask("PUT", path, { body });
  assert.deepEqual([absent.status, absent.body.code], [428, "precondition_required"]);
  const weak = await stand.ask("PUT", path, { body, headers: { "if-match": `W/${first}` } });
  assert.deepEqual([weak.status, weak.body.code], [412, "precondition_failed"]);
  const wild = await stand.ask("PUT", path, { body, headers: { "if-match": "*" } });
  assert.deepEqual([wild.status, wild.body.code], [422, "header_value_refused"]);
  const done = await stand.ask("PUT", path, { body, headers: { "if-match": first } });
  assert.equal(done.status, 201);
  const second = await tagOf();
  assert.notEqual(second, first);
  const stale = await stand.ask("PUT", path, { body, headers: { "if-match": first } });
  assert.deepEqual([stale.status, stale.body.observed_target_generation], [412, 2]);
  const conditional = await stand.ask("POST", rollbackPath, { body: requestFor(done), headers: { "if-match": first } });
  assert.equal(conditional.status, 412);
  const rolled = await stand.ask("POST", rollbackPath, { body: requestFor(done), headers: { "if-match": second } });
  assert.equal(rolled.status, 201);
  assert.notEqual(await tagOf(), first, "the same release at another generation is another state");
});

test("a hundred concurrent conditional writes on one entity tag have exactly one effect", async (t) => {
  const stand = await startStand(t);
  const etag = String((await stand.ask("GET", "/v1/environments/staging")).headers.etag);
  const replies = await Promise.all(
    Array.from({ length: 100 }, () =>
      stand.ask("PUT", "/v1/environments/staging/target", {
        body: { release: seedReleases.second },
        headers: { "if-match": etag },
      }),
    ),
  );
  assert.deepEqual(countStatuses(replies), { 201: 1, 412: 99 });
});

test("the same token and body under another entity tag is another request", async (t) => {
  const stand = await startStand(t);
  const key = randomUUID();
  const etag = String((await stand.ask("GET", "/v1/environments/staging")).headers.etag);
  const put = (tag: string) =>
    stand.ask("PUT", "/v1/environments/staging/target", {
      ...{ key, body: { release: seedReleases.second }, headers: { "if-match": tag } },
    });
  const first = await put(etag);
  assert.equal(first.status, 201);
  assert.equal((await put(etag)).text, first.text, "a repeat repeats, although the tag is stale by now");
  const other = await put('"another"');
  assert.deepEqual([other.status, other.body.code], [422, "idempotency_key_reused"]);
});

test("reversibility claims no more than is proven", async (t) => {
  const stand = await startStand(t);
  assert.equal((await promote(stand)).body.reversibility, "reversible_at_application_level");
  assert.equal((await promote(stand, seedReleases.migrating)).body.reversibility, "needing_repair");
  const target = await stand.ask("GET", "/v1/environments/production");
  const first = await stand.ask("GET", `/v1/deployments/${target.body.active_deployment_id}`);
  assert.equal(first.body.reversibility, "needing_repair");
});

test("a rollout is running and then active", async (t) => {
  const stand = await startStand(t);
  const { body } = await promote(stand);
  await stand.time.advance(5_000);
  assert.equal((await stand.ask("GET", `/v1/deployments/${body.deployment_id}`)).body.status, "active");
});

test("an environment or deployment of another tenant is not there", async (t) => {
  const stand = await startStand(t);
  const promoted = await promote(stand);
  const token = await stand.tokenFor({ tenant: "globex" });
  const read = await stand.ask("GET", `/v1/deployments/${promoted.body.deployment_id}`, { token });
  assert.deepEqual([read.status, read.body.code], [404, "not_found"]);
  const rolled = await stand.ask("POST", rollbackPath, { token, body: requestFor(promoted) });
  assert.deepEqual([rolled.status, rolled.body.code], [404, "not_found"]);
  const crossed = await stand.ask("POST", "/v1/environments/production/rollbacks", { body: requestFor(promoted) });
  assert.deepEqual([crossed.status, crossed.body.code], [404, "not_found"]);
});

test("a promotion is previewed without a trace, executed by its plan once, and is stale after another one", async (t) => {
  const stand = await startStand(t);
  const before = stand.dump();
  const plan = (token = stand.token) =>
    stand.ask("POST", "/v1/deployments/plan", {
      ...{ token, key: null, body: { environment: "staging", release: seedReleases.second } },
    });
  const execute = (plan_id: string, key: string = randomUUID(), token = stand.token) =>
    stand.ask("POST", "/v1/deployments/execute", { token, key, body: { plan_id, expected_revision: "g1" } });
  const [first, second] = [await plan(), await plan()];
  assert.deepEqual(stand.dump(), before);
  assert.deepEqual([first.status, first.body.mode, first.body.executable], [200, "preview", true]);
  assert.equal(first.headers["cache-control"], "no-store");
  assert.deepEqual(first.body.read_revisions, [{ resource: "environments/staging", revision: "g1" }]);
  const [{ sample }] = first.body.effects;
  assert.deepEqual(
    [sample[0].previous, sample[0].proposed],
    [{ release_id: seedReleases.first }, { release_id: seedReleases.second }],
  );
  const other = await stand.tokenFor({ actor: "somebody-else" });
  assert.equal((await execute(first.body.plan_id, randomUUID(), other)).status, 404);
  const key = randomUUID();
  const done = await execute(first.body.plan_id, key);
  assert.deepEqual([done.status, done.body.prior_release_id], [201, seedReleases.first]);
  assert.equal((await execute(first.body.plan_id, key)).body.deployment_id, done.body.deployment_id);
  const again = await execute(first.body.plan_id);
  assert.deepEqual([again.status, again.body.code], [409, "plan_used"]);
  const stale = await execute(second.body.plan_id);
  assert.deepEqual([stale.status, stale.body.code], [409, "plan_stale"]);
  assert.deepEqual(stale.body.changed, ["environments/staging"]);
});
