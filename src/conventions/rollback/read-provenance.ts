import { isJsonObject, type JsonObject, type JsonValue } from "../../kernel/json.ts";
import type { ProvenanceRecord, StaleRollback } from "./record.ts";
import type { Reversibility } from "./reversibility.ts";

/** What a promotion left behind, as its answer says. */
export interface Promotion {
  readonly provenance: ProvenanceRecord;
  /** As classified by whoever can prove it; nothing said is nothing proven. */
  readonly reversibility: Reversibility;
  /** Authority over the deployment, where the provider issues it. It is never an agent's. */
  readonly capability: JsonValue;
}

const classes: readonly Reversibility[] = [
  "reversible_at_application_level",
  "reversible_at_traffic_level",
  "needing_repair",
];

/** Null where the answer does not say which deployment, release and generation it made: nothing can be bound to it. */
export function readPromotion(body: JsonValue): Promotion | null {
  if (!isJsonObject(body)) return null;
  const text = (name: string): string => (typeof body[name] === "string" ? body[name] : "");
  const generation = body["created_target_generation"] ?? body["target_generation"];
  const prior = body["prior_release_id"] ?? null;
  if (text("deployment_id") === "" || text("environment") === "" || text("release_id") === "") return null;
  if (typeof generation !== "number" || !Number.isSafeInteger(generation)) return null;
  if (prior !== null && typeof prior !== "string") return null;
  return {
    provenance: {
      deployment_id: text("deployment_id"),
      environment: text("environment"),
      release_id: text("release_id"),
      artifact_digest: text("artifact_digest"),
      source_revision: text("source_revision"),
      config_digest: text("config_digest"),
      prior_release_id: prior,
      created_target_generation: generation,
      migration_set_id: text("migration_set_id") === "" ? null : text("migration_set_id"),
      actor_id: text("actor_id"),
    },
    reversibility: classes.find((name) => name === body["reversibility"]) ?? "needing_repair",
    capability: capabilityIn(body),
  };
}

/** What is on a target, as a read of it says; null where it does not plainly say, or is about another one. */
export function readTarget(
  body: JsonValue,
  environment: string,
): { readonly generation: number; readonly release: string } | null {
  if (!isJsonObject(body) || (body["environment"] ?? environment) !== environment) return null;
  const generation = body["generation"] ?? body["target_generation"];
  const release = body["release_id"] ?? body["current_release_id"];
  if (typeof generation !== "number" || !Number.isSafeInteger(generation) || typeof release !== "string") return null;
  return { generation, release };
}

/** The observed values of a 409, with nothing else of the answer: no advice on how to get past it is passed on. */
export function readStaleRollback(status: number, body: JsonValue): StaleRollback | null {
  if (status !== 409 || !isJsonObject(body)) return null;
  if (body["error"] !== "stale_rollback" && body["code"] !== "stale_rollback") return null;
  const expected = body["expected_target_generation"];
  const observed = body["observed_target_generation"];
  const release = body["observed_release_id"];
  return {
    error: "stale_rollback",
    origin_deployment_id: typeof body["origin_deployment_id"] === "string" ? body["origin_deployment_id"] : "",
    expected_target_generation: typeof expected === "number" ? expected : null,
    observed_target_generation: typeof observed === "number" ? observed : null,
    observed_release_id: typeof release === "string" ? release : null,
  };
}

export function capabilityIn(body: JsonValue): JsonValue {
  return isJsonObject(body) ? (body["capability"] ?? null) : null;
}

/** The answer without what only the gateway keeps. */
export function withoutCapability(body: JsonValue): JsonValue {
  if (!isJsonObject(body) || !Object.hasOwn(body, "capability")) return body;
  const { capability: _, ...rest } = body as JsonObject & { readonly capability: JsonValue };
  return rest;
}
