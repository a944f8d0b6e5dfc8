import type { JobStatus } from "../../../../src/conventions/operation/record.ts";
import { isoTime } from "../../../../src/kernel/clock.ts";
import { Denied, Fault } from "../../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Who } from "../context.ts";
import { type Core, nowIso } from "../core.ts";
import { insertRow } from "../prepared.ts";
import type { Tables } from "../tables.ts";
import { advanceJob, isFinal, type Job, type JobNow, PROGRESS_TOTAL } from "./advance.ts";

export type OperationRow = Tables["operations"];

export interface NewOperation {
  readonly kind: OperationRow["kind"];
  readonly request: JsonObject;
  readonly durationMs: number;
  readonly fails: boolean;
  readonly jobId: string | null;
  /** Every name under which the client may ask for it again. */
  readonly clientIds: readonly (string | undefined)[];
}

/** Adds an operation with its client's names for it, inside the transaction of whoever starts it. */
export function startOperation(core: Core, who: Who, input: NewOperation): OperationRow {
  const { store } = core;
  const at = nowIso(core);
  const row: OperationRow = {
    tenant_id: who.tenant,
    operation_id: core.identify("opn"),
    actor_id: who.actor,
    kind: input.kind,
    job_id: input.jobId,
    request: JSON.stringify(input.request),
    state: "queued",
    fails: input.fails ? 1 : 0,
    started_at_ms: core.clock.wallMs(),
    duration_ms: input.durationMs,
    cancel_at_ms: null,
    cancel_ignored: 0,
    result: null,
    created_at: at,
    updated_at: at,
  };
  store.run(insertRow("operations", row));
  // The courier settles it when its time has come.
  core.published();
  for (const client_operation_id of new Set(input.clientIds)) {
    if (client_operation_id === undefined) continue;
    // The first use of a name keeps it: a later operation must not take over what somebody reconciles by.
    store.run(
      store.db
        .insertInto("client_references")
        .values({ tenant_id: who.tenant, actor_id: who.actor, client_operation_id, operation_id: row.operation_id })
        .onConflict((conflict) => conflict.doNothing()),
    );
  }
  return row;
}

/** Starts failed work again from its beginning, under the names it has, inside the transaction of whoever asks. */
export function resumeOperation(core: Core, row: OperationRow, fails: boolean): OperationRow {
  const change = {
    state: "queued",
    fails: fails ? 1 : 0,
    started_at_ms: core.clock.wallMs(),
    cancel_at_ms: null,
    cancel_ignored: 0,
    updated_at: nowIso(core),
  } as const;
  const { store } = core;
  const changed = store.run(
    store.db
      .updateTable("operations")
      .set(change)
      .where("tenant_id", "=", row.tenant_id)
      .where("operation_id", "=", row.operation_id)
      .where("state", "=", "failed"),
  );
  if (changed !== 1) throw new Fault("an operation was resumed that had not failed");
  core.published();
  return { ...row, ...change };
}

export function operationNow(core: Core, row: OperationRow): JobNow {
  return advanceJob(jobOf(row), core.clock.wallMs());
}

export function jobOf(row: OperationRow): Job {
  return {
    state: row.state,
    fails: row.fails === 1,
    startedAtMs: row.started_at_ms,
    durationMs: row.duration_ms,
    cancelAtMs: row.cancel_at_ms,
    cancelIgnored: row.cancel_ignored === 1,
  };
}

/** Another actor's work is as absent as work that never was. */
export function findOwn(core: Core, who: Who, by: "operation_id" | "job_id", id: string): OperationRow {
  const { store } = core;
  const row = store.one(
    store.db
      .selectFrom("operations")
      .selectAll()
      .where("tenant_id", "=", who.tenant)
      .where("actor_id", "=", who.actor)
      .where(by, "=", id),
  );
  if (row === undefined) throw new Denied("not_found", "there is no such operation");
  return row;
}

export function findByClientId(core: Core, who: Who, clientId: string): OperationRow {
  const { store } = core;
  const found = store.one(
    store.db
      .selectFrom("client_references")
      .select("operation_id")
      .where("tenant_id", "=", who.tenant)
      .where("actor_id", "=", who.actor)
      .where("client_operation_id", "=", clientId),
  );
  if (found === undefined) throw new Denied("not_found", "no operation is known under this identifier");
  return findOwn(core, who, "operation_id", found.operation_id);
}

export function jobStatus(core: Core, row: OperationRow): JobStatus {
  const now = operationNow(core, row);
  return {
    job_id: row.job_id ?? row.operation_id,
    state: now.state,
    updated_at: isFinal(row.state) ? row.updated_at : isoTime(core.clock.wallMs()),
    progress: { completed: now.completed, total: PROGRESS_TOTAL },
  };
}

export function operationStatus(core: Core, row: OperationRow): JsonObject {
  const { job_id, ...status } = jobStatus(core, row);
  return {
    operation_id: row.operation_id,
    kind: row.kind,
    ...(row.job_id === null ? {} : { job_id }),
    ...status,
    status_url: `/operations/${row.operation_id}`,
    created_at: row.created_at,
    result: row.result === null ? null : (JSON.parse(row.result) as JsonObject),
  };
}
