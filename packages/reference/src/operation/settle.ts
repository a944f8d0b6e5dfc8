import { digestJson, digestText } from "../../../../src/kernel/canonical-json.ts";
import { Fault } from "../../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import { type Core, nowIso } from "../core.ts";
import { promoteRelease } from "../deployment/promote.ts";
import { recordRelease } from "../deployment/release.ts";
import { readTarget } from "../deployment/target.ts";
import { recordChange } from "../events.ts";
import { isFinal } from "./advance.ts";
import { type OperationRow, operationNow } from "./operation.ts";

/** Writes down an end that has come: state, result, feed and notice in one transaction, and only once. */
export function settleOperation(core: Core, row: OperationRow): OperationRow {
  const { state } = operationNow(core, row);
  if (isFinal(row.state) || !isFinal(state)) return row;
  const { store } = core;
  return store.write(() => {
    const result = state === "succeeded" ? JSON.stringify(complete(core, row)) : null;
    const updated_at = nowIso(core);
    const changed = store.run(
      store.db
        .updateTable("operations")
        .set({ state, result, updated_at })
        .where("tenant_id", "=", row.tenant_id)
        .where("operation_id", "=", row.operation_id)
        .where("state", "=", row.state),
    );
    if (changed !== 1) throw new Fault("an operation was settled twice");
    const id = row.job_id ?? row.operation_id;
    recordChange(
      core,
      {
        tenant: row.tenant_id,
        actor: row.actor_id,
        type: `${row.kind}.${state}`,
        resource: `operations/${row.operation_id}`,
      },
      { operation_id: row.operation_id, job_id: id, state },
    );
    return { ...row, state, result, updated_at };
  });
}

/** Settles everything whose time has come; returns when the next one is due. */
export function settleDue(core: Core): number | null {
  const { store } = core;
  const open = store.all(
    store.db
      .selectFrom("operations")
      .selectAll()
      .where("state", "in", ["queued", "running", "cancelling"])
      // What ends in one moment ends in one order.
      .orderBy("started_at_ms")
      .orderBy("job_id"),
  );
  let next: number | null = null;
  for (const row of open) {
    const { dueAtMs } = operationNow(core, row);
    if (dueAtMs === null) settleOperation(core, row);
    else next = Math.min(next ?? dueAtMs, dueAtMs);
  }
  return next;
}

/** What the work leaves behind when it succeeds. */
function complete(core: Core, row: OperationRow): JsonObject {
  const request = JSON.parse(row.request) as Readonly<Record<string, string>>;
  switch (row.kind) {
    case "report":
      return { report_digest: digestJson(request), rows: 42 };
    case "release":
      return { release_id: request["release_id"] ?? "" };
    case "deployment": {
      const { repository = "", revision = "", environment = "" } = request;
      const artifact = digestText(`${repository}@${revision}`);
      const release = recordRelease(
        core,
        { tenant: row.tenant_id },
        { service: repository, artifact, environment, sourceRevision: revision },
      );
      const target = readTarget(core, row.tenant_id, environment);
      const { deployment, generation } = promoteRelease(core, target, {
        tenant: row.tenant_id,
        actor: row.actor_id,
        releaseId: release.release_id,
      });
      return { deployment_id: deployment.deployment_id, release_id: release.release_id, target_generation: generation };
    }
  }
}
