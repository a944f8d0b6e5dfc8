import assert from "node:assert/strict";
import { test } from "node:test";
import { secretTexts } from "./capability.ts";
import type { ProvenanceRecord } from "./record.ts";

const provenance: ProvenanceRecord = {
  deployment_id: "deployment-0001",
  environment: "production",
  release_id: `sha256:${"a".repeat(64)}`,
  artifact_digest: `sha256:${"b".repeat(64)}`,
  source_revision: "c".repeat(40),
  config_digest: "",
  prior_release_id: null,
  created_target_generation: 5,
  migration_set_id: null,
  actor_id: "robot-of-acme",
};

test("what authorizes is looked for; times, routes, words and what the provenance says are not", () => {
  const capability = {
    capability_id: "cap_01hzy3v9q8x7",
    deployment_id: "deployment-0001",
    actor_id: "robot-of-acme",
    environment: "production",
    route: "/v1/environments/production/rollbacks",
    kind: "rollback",
    expires_at: "2026-11-15T07:00:00.000Z",
    keys: ["another-secret-key", "another-secret-key"],
    proof: { token: "2026-look-like-a-time" },
  };
  assert.deepEqual(secretTexts(capability, provenance), [
    "cap_01hzy3v9q8x7",
    "another-secret-key",
    "2026-look-like-a-time",
  ]);
  assert.deepEqual(secretTexts("a-bare-capability", provenance), ["a-bare-capability"]);
  for (const nothing of [null, 7, true]) assert.deepEqual(secretTexts({ nothing }, provenance), []);
  assert.deepEqual(secretTexts(["twelve-chars", "eleven-char"], provenance), ["twelve-chars"]);
});

test("a capability of any size costs a bounded search", () => {
  const many = Array.from({ length: 1_000 }, (_, index) => `secret-number-${index}`);
  assert.equal(secretTexts(many, provenance).length, 16);
});

test("a route is no secret, with its method or without: the next promotion names it again", () => {
  const route = "/v1/environments/{environment}/rollbacks";
  assert.deepEqual(secretTexts({ route, by: `POST ${route}` }, provenance), []);
});
