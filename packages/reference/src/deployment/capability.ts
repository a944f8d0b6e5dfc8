import { isoTime } from "../../../../src/kernel/clock.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import { type Core, nowIso } from "../core.ts";
import { insertRow, prepared } from "../prepared.ts";

export const ROLLBACK_ROUTE = "POST /v1/environments/{environment}/rollbacks";

/** Authority that the server keeps: for one actor, over one deployment, in one environment, on one route, for a time. */
export type CapabilityRecord = {
  readonly capability_id: string;
  readonly deployment_id: string;
  readonly environment: string;
  readonly route: string;
  readonly actor_id: string;
  readonly expires_at: string;
};

export function issueCapability(
  core: Core,
  tenant: string,
  deployment: { readonly deployment_id: string; readonly environment: string },
  actor: string,
  issuedBy: string,
): CapabilityRecord {
  const { store, clock } = core;
  const expires_at_ms = clock.wallMs() + defaults.referenceCapabilityMs;
  const { deployment_id, environment } = deployment;
  const granted = {
    capability_id: core.identify("cap"),
    deployment_id,
    environment,
    route: ROLLBACK_ROUTE,
    actor_id: actor,
  };
  store.run(
    insertRow("capabilities", { ...granted, tenant_id: tenant, issued_by: issuedBy, expires_at_ms, revoked_at: null }),
  );
  return { ...granted, expires_at: isoTime(expires_at_ms) };
}

export type Authority = "live" | "ended" | "none";

/** Whether this actor was ever given authority over the deployment on this route, and whether it still holds. */
export function authorityOver(
  core: Core,
  tenant: string,
  deployment: { readonly deployment_id: string; readonly environment: string },
  actor: string,
): Authority {
  const { store, clock } = core;
  const found = store.all(
    store.db
      .selectFrom("capabilities")
      .select(["expires_at_ms", "revoked_at"])
      .where("tenant_id", "=", tenant)
      .where("deployment_id", "=", deployment.deployment_id)
      .where("environment", "=", deployment.environment)
      .where("route", "=", ROLLBACK_ROUTE)
      .where("actor_id", "=", actor),
  );
  if (found.length === 0) return "none";
  return found.some((row) => row.revoked_at === null && clock.wallMs() < row.expires_at_ms) ? "live" : "ended";
}

export function requireLive(authority: Authority): void {
  if (authority === "none") {
    throw new Denied("capability_missing", "another actor's deployment needs an authority of its own");
  }
  if (authority === "ended") throw new Denied("capability_ended", "the authority over this deployment has ended");
}

const endAll = prepared((db, p: { readonly tenant: string; readonly deploymentId: string; readonly at: string }) =>
  db
    .updateTable("capabilities")
    .set({ revoked_at: p.at })
    .where("tenant_id", "=", p.tenant)
    .where("deployment_id", "=", p.deploymentId)
    .where("revoked_at", "is", null),
);

export function endCapabilities(core: Core, tenant: string, deploymentId: string): void {
  core.store.run(endAll({ tenant, deploymentId, at: nowIso(core) }));
}
