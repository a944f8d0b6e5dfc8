import type { JsonObject, JsonValue } from "../../../../src/kernel/json.ts";
import { type Check, isRefusal, isSuccess, type Kit, memberOf, type Reply, textOf } from "../check.ts";

const MANY = 20;

function partOf(kit: Kit) {
  const part = kit.profile.rollback;
  kit.expect(part !== undefined, "the profile describes promotion and rollback");
  return part;
}

function write(kit: Kit, target: string, body: JsonObject): Promise<Reply> {
  return kit.json("POST", target, body, { "idempotency-key": kit.key() });
}

async function promote(kit: Kit): Promise<JsonValue | undefined> {
  const { release, promote: target, environment } = partOf(kit);
  const unique = kit.key();
  const body = Object.entries(release.body).map(([name, value]): [string, JsonValue] => [
    name,
    value === "{unique}" ? unique : value,
  ]);
  const recorded = await write(kit, release.target, Object.fromEntries(body));
  kit.expect(isSuccess(recorded), "the release of the profile is recorded");
  const promoted = await write(kit, target, { environment, release: textOf(recorded.json, "release_id") });
  kit.expect(isSuccess(promoted), "it is promoted");
  return promoted.json;
}

function requestFor(promoted: JsonValue | undefined, reason: string): JsonObject {
  return {
    origin_deployment_id: textOf(promoted, "deployment_id"),
    expected_current_release_id: textOf(promoted, "release_id"),
    expected_target_generation: memberOf(promoted, "created_target_generation") ?? null,
    restore_release_id: textOf(promoted, "prior_release_id"),
    reason,
    approval_id: "conformance",
  };
}

export const rollbackChecks: readonly Check[] = [
  {
    name: "release.tag",
    rule: "Deployment provenance: a release is an immutable digest, not a tag",
    needs: "rollback",
    async run(kit: Kit) {
      const { promote: target, environment } = partOf(kit);
      kit.expect(isRefusal(await write(kit, target, { environment, release: "latest" })), "a tag is refused");
    },
  },
  {
    name: "promotion.provenance",
    rule: "Deployment provenance: the record that a promotion writes",
    needs: "rollback",
    async run(kit: Kit) {
      const promoted = await promote(kit);
      const fields = [
        "deployment_id",
        "environment",
        "release_id",
        "artifact_digest",
        "source_revision",
        "config_digest",
      ];
      for (const name of [...fields, "prior_release_id", "created_target_generation", "migration_set_id", "actor_id"]) {
        kit.expect(memberOf(promoted, name) !== undefined, `the answer has ${name}`);
      }
    },
  },
  {
    name: "rollback.restores",
    rule: "Target generation and rollback: the restore release, the next generation, status running",
    needs: "rollback",
    async run(kit: Kit) {
      const promoted = await promote(kit);
      const reply = await write(kit, partOf(kit).rollbacks, requestFor(promoted, "conformance"));
      kit.expect(isSuccess(reply), "a rollback of the current deployment is accepted");
      const generation = memberOf(promoted, "created_target_generation");
      kit.expect(memberOf(reply.json, "target_generation") === Number(generation) + 1, "target_generation is one more");
      kit.expect(
        textOf(reply.json, "current_release_id") === textOf(promoted, "prior_release_id"),
        "the prior release is current",
      );
      kit.expect(textOf(reply.json, "status") === "running", "status is running");
    },
  },
  {
    name: "rollback.stale",
    rule: "Errors: 409 stale_rollback returns the observed values",
    needs: "rollback",
    async run(kit: Kit) {
      const older = await promote(kit);
      const newer = await promote(kit);
      const reply = await write(kit, partOf(kit).rollbacks, requestFor(older, "conformance stale"));
      kit.expect(reply.status === 409, "a rollback after a newer release is 409");
      kit.expect(textOf(reply.json, "error") === "stale_rollback", "its error is stale_rollback");
      kit.expect(
        textOf(reply.json, "observed_release_id") === textOf(newer, "release_id"),
        "observed_release_id is what is there",
      );
      const generation = memberOf(newer, "created_target_generation");
      kit.expect(
        memberOf(reply.json, "observed_target_generation") === generation,
        "observed_target_generation is what is there",
      );
    },
  },
  {
    name: "rollback.ownership",
    rule: "Target generation and rollback: ownership comes from the stored link",
    needs: "rollback",
    async run(kit: Kit) {
      const older = await promote(kit);
      const newer = await promote(kit);
      const forged = {
        ...requestFor(older, "conformance forged"),
        expected_current_release_id: textOf(newer, "release_id"),
        expected_target_generation: memberOf(newer, "created_target_generation") ?? null,
      };
      kit.expect(
        isRefusal(await write(kit, partOf(kit).rollbacks, forged)),
        "current values do not make up for ownership",
      );
    },
  },
  {
    name: "rollback.concurrent",
    rule: "Target generation and rollback: compare and set",
    needs: "rollback",
    async run(kit: Kit) {
      const request = requestFor(await promote(kit), "conformance many");
      const replies = await Promise.all(Array.from({ length: MANY }, () => write(kit, partOf(kit).rollbacks, request)));
      kit.expect(replies.filter(isSuccess).length === 1, `of ${MANY} rollbacks at once one is accepted`);
    },
  },
];
