import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Job } from "../action/pack.ts";
import { readJobReport } from "./read-status.ts";

const job: Job = {
  id: "/job_id",
  state: "/status/phase",
  status: { action: "s", idInput: "job_id" },
  cancel: null,
  result: null,
  succeeded: ["done"],
  failed: ["failed", "expired"],
  cancelled: ["cancelled"],
  resume: null,
  createDeadlineMs: 1,
  resultDeadlineMs: 1,
  pollFirstMs: 1,
  pollCapMs: 1,
  maxChecks: 1,
};

test("only the states that the definition lists as final are an end", () => {
  const end = (phase: unknown) => readJobReport(job, { job_id: "j", status: { phase } as never }).end;
  assert.equal(end("done"), "succeeded");
  assert.equal(end("expired"), "failed");
  assert.equal(end("cancelled"), "cancelled");
  for (const phase of ["DONE", "done ", "running", "", null, 100, true, ["done"]]) assert.equal(end(phase), null);
});

test("a progress of 100 is shown and ends nothing", () => {
  const report = readJobReport(job, {
    job_id: "j",
    status: { phase: "running" },
    progress: { completed: 100, total: 100 },
  });
  assert.deepEqual(report, {
    jobId: "j",
    remoteState: "running",
    end: null,
    progress: { completed: 100, total: 100 },
  });
});

test("a number is an identifier too; an empty, oversized or inherited one is none", () => {
  assert.equal(readJobReport(job, { job_id: 7 }).jobId, "7");
  for (const job_id of ["", "x".repeat(257), 1.5, null, {}]) assert.equal(readJobReport(job, { job_id }).jobId, null);
  assert.equal(readJobReport({ ...job, id: "/constructor" }, {}).jobId, null);
});

test("no answer makes the reader throw", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (body) => {
      const { end, remoteState } = readJobReport(job, body as never);
      if (end !== null) assert.ok(["done", "failed", "expired", "cancelled"].includes(remoteState ?? ""));
    }),
  );
});
