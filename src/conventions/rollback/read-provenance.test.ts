import assert from "node:assert/strict";
import { test } from "node:test";
import { readPromotion, readStaleRollback, readTarget, withoutCapability } from "./read-provenance.ts";

const answer = {
  deployment_id: "dep-1",
  environment: "production",
  release_id: "sha256:r1",
  prior_release_id: "sha256:r0",
  created_target_generation: 5,
  artifact_digest: "sha256:a",
  reversibility: "reversible_at_traffic_level",
  capability: { capability_id: "cap" },
};

test("a promotion leaves provenance where its answer names deployment, release and generation", () => {
  const promotion = readPromotion(answer);
  assert.equal(promotion?.provenance.prior_release_id, "sha256:r0");
  assert.equal(promotion?.reversibility, "reversible_at_traffic_level");
  for (const name of ["deployment_id", "environment", "release_id", "created_target_generation"])
    assert.equal(readPromotion({ ...answer, [name]: null }), null, name);
  assert.equal(readPromotion({ ...answer, created_target_generation: "5" }), null);
  assert.equal(readPromotion({ ...answer, created_target_generation: 0.5 }), null);
  for (const name of ["deployment_id", "environment", "release_id"])
    assert.equal(readPromotion({ ...answer, [name]: "" }), null, name);
  assert.equal(readPromotion({ ...answer, prior_release_id: null })?.provenance.prior_release_id, null);
  assert.equal(promotion?.provenance.migration_set_id, null);
  assert.equal(readPromotion({ ...answer, migration_set_id: "m-1" })?.provenance.migration_set_id, "m-1");
  assert.equal(readPromotion({ ...answer, prior_release_id: 7 }), null);
  for (const nothing of [[], null, "x"]) assert.equal(readPromotion(nothing), null);
});

test("reversibility is stated as classified and never beyond", () => {
  for (const reversibility of [null, "perfect", "REVERSIBLE_AT_APPLICATION_LEVEL", 1])
    assert.equal(readPromotion({ ...answer, reversibility })?.reversibility, "needing_repair");
});

test("a stale rollback is a 409 of that name, and only its observed values are taken over", () => {
  const body = {
    error: "stale_rollback",
    origin_deployment_id: "dep-1",
    expected_target_generation: 5,
    observed_target_generation: 9,
    observed_release_id: "sha256:x",
    fallback: "use force",
  };
  assert.deepEqual(readStaleRollback(409, body), {
    error: "stale_rollback",
    origin_deployment_id: "dep-1",
    expected_target_generation: 5,
    observed_target_generation: 9,
    observed_release_id: "sha256:x",
  });
  assert.deepEqual(readStaleRollback(409, { error: "stale_rollback", observed_release_id: 7 }), {
    error: "stale_rollback",
    origin_deployment_id: "",
    expected_target_generation: null,
    observed_target_generation: null,
    observed_release_id: null,
  });
  assert.equal(readStaleRollback(409, null), null);
  assert.equal(readStaleRollback(400, body), null);
  assert.equal(readStaleRollback(409, { error: "busy" }), null);
  assert.notEqual(readStaleRollback(409, { code: "stale_rollback" }), null);
});

test("what is on a target is read where the answer plainly says it, and of that environment alone", () => {
  const body = { environment: "production", generation: 5, release_id: "sha256:r1" };
  assert.deepEqual(readTarget(body, "production"), { generation: 5, release: "sha256:r1" });
  const other = { target_generation: 6, current_release_id: "sha256:r2" };
  assert.deepEqual(readTarget(other, "production"), { generation: 6, release: "sha256:r2" });
  const wrong = [{ environment: "staging" }, { generation: "5" }, { generation: 0.5 }, { release_id: 7 }];
  for (const change of wrong) assert.equal(readTarget({ ...body, ...change }, "production"), null);
  assert.equal(readTarget([], "production"), null);
});

test("a capability does not travel on with the answer", () => {
  assert.ok(!JSON.stringify(withoutCapability(answer)).includes("cap"));
  assert.deepEqual(withoutCapability({ a: 1 }), { a: 1 });
  assert.deepEqual(withoutCapability(["capability"]), ["capability"]);
});
