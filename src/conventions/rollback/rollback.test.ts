import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { decideRollback } from "./decide.ts";
import {
  type DeploymentState,
  type DeploymentTrigger,
  deploymentTable,
  isTerminalDeployment,
  stepDeployment,
} from "./deployment.ts";
import type { ProvenanceRecord, RollbackRequest, TargetRecord } from "./record.ts";
import { classifyReversibility } from "./reversibility.ts";

const release = (digit: string) => `sha256:${digit.repeat(64)}`;

const provenance: ProvenanceRecord = {
  deployment_id: "dep_1",
  environment: "staging",
  release_id: release("b"),
  artifact_digest: release("1"),
  source_revision: "c".repeat(40),
  config_digest: release("2"),
  prior_release_id: release("a"),
  created_target_generation: 7,
  migration_set_id: null,
  actor_id: "robot",
};

const target: TargetRecord = {
  environment: "staging",
  release_id: release("b"),
  generation: 7,
  active_deployment_id: "dep_1",
  updated_at: "2026-01-01T00:00:00.000Z",
};

function requestOf(changes: Partial<RollbackRequest> = {}, own = provenance): RollbackRequest {
  return {
    origin_deployment_id: own.deployment_id,
    expected_current_release_id: own.release_id,
    expected_target_generation: own.created_target_generation,
    restore_release_id: own.prior_release_id ?? "",
    reason: "errors rise",
    approval_id: "apr_1",
    ...changes,
  };
}

test("the request that provenance builds is accepted while the deployment's generation is current", () => {
  assert.deepEqual(decideRollback(provenance, target, requestOf()), {
    kind: "accepted",
    release_id: release("a"),
    generation: 8,
  });
});

test("each mismatch alone makes it stale, with what was observed", () => {
  const stale: readonly (readonly [
    Partial<RollbackRequest>,
    Partial<TargetRecord>,
    Partial<ProvenanceRecord>,
    string,
  ])[] = [
    [{ expected_target_generation: 6 }, {}, {}, "generation"],
    [{ expected_current_release_id: release("c") }, {}, {}, "release"],
    [{ restore_release_id: release("c") }, {}, {}, "restore"],
    [{ origin_deployment_id: "dep_2" }, {}, {}, "deployment"],
    [{}, { environment: "production" }, {}, "deployment"],
    [{}, { active_deployment_id: "dep_2" }, {}, "ownership"],
    [{}, {}, { created_target_generation: 6 }, "ownership"],
    [{}, {}, { prior_release_id: null }, "restore"],
  ];
  for (const [changes, onTarget, onProvenance, mismatch] of stale) {
    const observed = { ...target, ...onTarget };
    const request = requestOf(changes);
    const decision = decideRollback({ ...provenance, ...onProvenance }, observed, request);
    assert.equal(decision.kind, "stale", mismatch);
    if (decision.kind !== "stale") continue;
    assert.ok(
      decision.mismatches.some((name) => name === mismatch),
      mismatch,
    );
    assert.deepEqual(decision.body, {
      error: "stale_rollback",
      origin_deployment_id: request.origin_deployment_id,
      expected_target_generation: request.expected_target_generation,
      observed_target_generation: observed.generation,
      observed_release_id: observed.release_id,
    });
  }
});

test("a rollback is never accepted once any other transition has taken place, whatever the request says", () => {
  const releases = fc.constantFrom(release("a"), release("b"), release("c"));
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      releases,
      fc.constantFrom("dep_1", "dep_2"),
      fc.record({
        expected_current_release_id: releases,
        expected_target_generation: fc.integer({ min: 0, max: 20 }),
        restore_release_id: releases,
      }),
      (later, now, owner, changes) => {
        const moved = {
          ...target,
          generation: target.generation + later,
          release_id: now,
          active_deployment_id: owner,
        };
        assert.equal(decideRollback(provenance, moved, requestOf(changes)).kind, "stale");
      },
    ),
  );
});

test("an accepted rollback restores what was stored and moves the generation by one", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2 ** 40 }),
      fc.constantFrom(release("a"), release("c")),
      (generation, prior) => {
        const own = { ...provenance, created_target_generation: generation, prior_release_id: prior };
        const decision = decideRollback(own, { ...target, generation }, requestOf({}, own));
        assert.deepEqual(decision, { kind: "accepted", release_id: prior, generation: generation + 1 });
      },
    ),
  );
});

test("a deployment runs, becomes active or fails; what is active is superseded or rolled back; nothing leaves an end", () => {
  const states: readonly DeploymentState[] = ["running", "active", "failed", "superseded", "rolled_back"];
  const triggers: readonly DeploymentTrigger[] = [
    "rollout_finished",
    "rollout_failed",
    "newer_promotion",
    "rollback_accepted",
  ];
  const moves = states.flatMap((from) =>
    triggers.map((trigger) => [from, trigger, stepDeployment(from, trigger)] as const),
  );
  assert.deepEqual(
    moves.filter(([, , to]) => to !== undefined),
    [
      ["running", "rollout_finished", "active"],
      ["running", "rollout_failed", "failed"],
      ["active", "newer_promotion", "superseded"],
      ["active", "rollback_accepted", "rolled_back"],
    ],
  );
  assert.deepEqual(states.filter(isTerminalDeployment), ["failed", "superseded", "rolled_back"]);
  assert.equal(deploymentTable.length, 4);
});

test("reversibility is claimed only as far as it is proven", () => {
  const same = provenance.config_digest;
  const classify = (
    changes: Partial<ProvenanceRecord>,
    prior: string | null,
    migrations: "none" | "backward_compatible" | "unproven",
  ) => classifyReversibility({ ...provenance, ...changes }, { priorConfigDigest: prior, migrations });
  assert.equal(classify({}, same, "none"), "reversible_at_application_level");
  assert.equal(classify({}, release("9"), "none"), "reversible_at_traffic_level");
  assert.equal(classify({ migration_set_id: "m" }, same, "backward_compatible"), "reversible_at_traffic_level");
  assert.equal(classify({ migration_set_id: "m" }, same, "none"), "needing_repair", "the two contradict each other");
  assert.equal(classify({ migration_set_id: "m" }, same, "unproven"), "needing_repair");
  assert.equal(classify({}, same, "unproven"), "needing_repair");
  assert.equal(classify({}, null, "none"), "needing_repair");
  assert.equal(classify({ prior_release_id: null }, same, "none"), "needing_repair");
});
