import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import type { Operation } from "../operation/operations.ts";
import { createCallbackMemory } from "./memory.ts";

const jobOf = (action: string, remoteJobId: string | null) => ({ action, remoteJobId }) as unknown as Operation;

test("a callback that came early is for the job that it named, of its own pack, once and for a while", () => {
  const memory = createCallbackMemory();
  assert.equal(memory.takeEarly(jobOf("acme.report.create", "job-1"), 0), false, "none came yet");
  memory.keepEarly("acme", "job-1", 0);
  memory.keepEarly("acme", "job-2", 0);
  assert.equal(memory.takeEarly(jobOf("acme.report.create", null), 0), false);
  assert.equal(memory.takeEarly(jobOf("other.report.create", "job-1"), 0), false);
  assert.equal(memory.takeEarly(jobOf("acme.report.create", "job-1"), 0), true);
  assert.equal(memory.takeEarly(jobOf("acme.report.create", "job-1"), 0), false);
  assert.equal(memory.takeEarly(jobOf("acme.report.create", "job-2"), defaults.callbackEarlyMs + 1), false);
  memory.keepEarly("acme", "job-3", 0);
  memory.clear();
  assert.equal(memory.takeEarly(jobOf("acme.report.create", "job-3"), 0), false);
});
