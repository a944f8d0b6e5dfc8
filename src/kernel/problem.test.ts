import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "./failure.ts";
import { problemOf } from "./problem.ts";

test("structured errors are returned with stable codes plus a human message", () => {
  const denied = new Denied("schema_violation", "name is too long", {
    errors: [{ code: "value_not_allowed", path: "/name", message: "at most 3" }],
    extra: { observed_release_id: "r2" },
  });
  assert.deepEqual(problemOf(denied, "evt_1"), {
    observed_release_id: "r2",
    type: "urn:gw:error:schema_violation",
    title: "The value does not fit the schema of the route or action.",
    status: 422,
    detail: "name is too long",
    code: "schema_violation",
    message: "name is too long",
    errors: [{ code: "value_not_allowed", path: "/name", message: "at most 3" }],
    retry_allowed: false,
    correlation_id: "evt_1",
    run_id: null,
  });
});

test("what a refusal adds never replaces a member of the envelope", () => {
  const denied = new Denied("not_found", "nothing there", { extra: { status: 200, code: "fine" } });
  const problem = problemOf(denied, "evt_2");
  assert.deepEqual([problem.status, problem.code], [404, "not_found"]);
});
