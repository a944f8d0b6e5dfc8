import type { JobCreation } from "../../../../src/conventions/operation/record.ts";
import { defaults } from "../../../../src/kernel/defaults.ts";
import { Denied } from "../../../../src/kernel/failure.ts";
import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { Answer } from "../../../request/src/serve.ts";
import type { Core } from "../core.ts";
import { nowIso } from "../core.ts";
import { underToken } from "../idempotency.ts";
import { isFinal } from "../operation/advance.ts";
import { findOwn, jobStatus, type OperationRow, resumeOperation, startOperation } from "../operation/operation.ts";
import { settleOperation } from "../operation/settle.ts";
import type { MakeRoute, ReferenceRoute } from "../route.ts";
import { accepted, lookAgain } from "./operations.ts";

const jobParams = {
  type: "object",
  required: ["job_id"],
  properties: { job_id: { type: "string", minLength: 1, maxLength: 128 } },
} as const;

export function reportRoutes(core: Core, route: MakeRoute): readonly ReferenceRoute[] {
  return [create(core, route), status(core, route), result(core, route), cancel(core, route), resume(core, route)];
}

function create(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/reports",
      body: {
        kind: "json",
        schema: {
          type: "object",
          required: ["account", "range", "format"],
          properties: {
            account: { type: "string", minLength: 1, maxLength: 64 },
            range: {
              type: "object",
              required: ["start", "end"],
              properties: { start: { type: "string", format: "date" }, end: { type: "string", format: "date" } },
            },
            format: { enum: ["csv", "json"] },
          },
        },
      },
      recorded: ["/body/account", "/body/format"],
    },
    {
      summary: "Start a report; the job tells how it goes",
      answers: { 202: { description: "Accepted, which is not done" } },
      headers: [
        { name: "Idempotency-Key", required: true, description: "One for each intent; a repeat repeats the answer" },
        { name: "X-Trace-ID", required: false, description: "The client's name for it" },
      ],
      scope: "reports:write",
    },
    ({ command: { body, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => {
        const row = startOperation(core, who, {
          kind: "report",
          request: body,
          durationMs: defaults.referenceJobMs,
          fails: core.faults.take(["job_fails"], endpoint) !== undefined,
          jobId: core.identify("job"),
          clientIds: [who.fields.traceId, who.fields.correlationId, who.fields.idempotencyKey],
        });
        const job_id = row.job_id ?? "";
        const creation: JobCreation = { job_id, state: row.state, status_url: `/v1/jobs/${job_id}` };
        return accepted(core, row, creation);
      }),
    ({ body }) =>
      body.range.start <= body.range.end
        ? []
        : [{ code: "value_not_allowed", path: "/range/end", message: "is before the start" }],
  );
}

function status(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/v1/jobs/{job_id}", params: jobParams, body: { kind: "none" } },
    { summary: "The status of a job", answers: { 200: { description: "Status" } }, scope: "reports:read" },
    ({ command: { params }, who }) => statusAnswer(core, findOwn(core, who, "job_id", params.job_id), 200),
  );
}

function result(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    { method: "GET", path: "/v1/jobs/{job_id}/result", params: jobParams, body: { kind: "none" } },
    { summary: "What a job made", answers: { 200: { description: "The result" } }, scope: "reports:read" },
    ({ command: { params }, who }) => {
      const row = settleOperation(core, findOwn(core, who, "job_id", params.job_id));
      if (row.result === null) throw new Denied("not_found", "the job has no result");
      return { status: 200, body: { job_id: row.job_id, ...(JSON.parse(row.result) as JsonObject) } };
    },
  );
}

/** A request for an end. How it ends is read from the status, and it may be a success. */
function cancel(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "DELETE",
      path: "/jobs/{job_id}",
      params: jobParams,
      body: { kind: "none" },
      recorded: ["/params/job_id"],
    },
    {
      summary: "Ask for a job to be cancelled",
      answers: { 202: { description: "Asked" }, 200: { description: "It had ended before" } },
      scope: "reports:write",
    },
    ({ command: { params, endpoint }, who }) => {
      const { store } = core;
      const found = settleOperation(core, findOwn(core, who, "job_id", params.job_id));
      if (isFinal(found.state)) return statusAnswer(core, found, 200);
      if (found.cancel_at_ms !== null) return statusAnswer(core, found, 202);
      const tooLate = core.faults.take(["cancel_too_late"], endpoint) !== undefined;
      const change = { cancel_at_ms: core.clock.wallMs(), cancel_ignored: tooLate ? 1 : 0, updated_at: nowIso(core) };
      store.run(
        store.db
          .updateTable("operations")
          .set(change)
          .where("tenant_id", "=", who.tenant)
          .where("operation_id", "=", found.operation_id)
          .where("cancel_at_ms", "is", null),
      );
      core.published();
      return statusAnswer(core, { ...found, ...change }, 202);
    },
  );
}

/** Failed work goes on as the same job. Only the status tells whether it then succeeds. */
function resume(core: Core, route: MakeRoute): ReferenceRoute {
  return route(
    {
      method: "POST",
      path: "/v1/jobs/{job_id}/resume",
      params: jobParams,
      body: { kind: "none" },
      recorded: ["/params/job_id"],
    },
    {
      summary: "Resume a job that failed; it goes on under its own id, and a repeat under one key resumes it once",
      answers: { 202: { description: "Accepted, which is not done" } },
      headers: [
        { name: "Idempotency-Key", required: true, description: "One for each intent; a repeat repeats the answer" },
      ],
      scope: "reports:write",
    },
    ({ command: { params, endpoint }, digest, who }) =>
      underToken(core, who, endpoint, digest, () => {
        const found = settleOperation(core, findOwn(core, who, "job_id", params.job_id));
        if (found.state !== "failed") {
          throw new Denied("job_not_resumable", `the job is ${found.state}; only one that failed can be resumed`);
        }
        const row = resumeOperation(core, found, core.faults.take(["job_fails"], endpoint) !== undefined);
        const job_id = row.job_id ?? "";
        return accepted(core, row, { job_id, state: row.state, status_url: `/v1/jobs/${job_id}` });
      }),
  );
}

function statusAnswer(core: Core, found: OperationRow, code: number): Answer {
  const row = settleOperation(core, found);
  const body = jobStatus(core, row);
  return { status: code, body, headers: isFinal(row.state) ? {} : lookAgain(core, 1) };
}
