import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { RunView } from "../../agent/answers.ts";
import { findProgram } from "./find-program.ts";
import { summaryLines } from "./summary.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true, force: true }));
for (const name of ["first", "second"]) mkdirSync(join(folder, name));
writeFileSync(join(folder, "first", "tool"), "text");
writeFileSync(join(folder, "second", "tool"), "#!/bin/sh\n");
chmodSync(join(folder, "second", "tool"), 0o755);
chmodSync(join(folder, "first", "tool"), 0o644);
const path = `${join(folder, "first")}:${join(folder, "second")}`;
const exitOf = (name: string, where: string | undefined = path) => {
  const found = findProgram(name, where, folder);
  return found.kind === "found" ? 0 : found.exit;
};

test("a command is what PATH finds, past files that cannot be executed", () => {
  assert.equal(exitOf("tool"), 0);
  assert.equal(exitOf("tool", join(folder, "first")), 126);
  assert.equal(exitOf("second/tool"), 0);
  assert.equal(exitOf("./first/tool"), 126);
});

test("what is not there is 127 and what is no file is 126", () => {
  assert.equal(exitOf("absent"), 127);
  assert.equal(exitOf("./absent"), 127);
  assert.equal(exitOf(""), 127);
  assert.equal(exitOf("./first"), 126);
  assert.equal(findProgram("sh", undefined, folder).kind, "found");
});

test("a folder of PATH that nobody may look into does not end the search", () => {
  const closed = join(folder, "closed");
  mkdirSync(closed, { mode: 0o000 });
  assert.equal(exitOf("tool", `${closed}:${path}`), 0);
  chmodSync(closed, 0o700);
});

test("a name is shown escaped: it may hold what a terminal obeys", () => {
  const found = findProgram("\u001b[2Jx", path, folder);
  assert.ok(found.kind === "refused" && !found.message.includes("\u001b"));
});

const ended = { exit: 0, signal: null, fault: null } as const;
const view = (change: Partial<RunView>): RunView => ({
  ...{ run_id: "run_1", state: "open", purpose: "p", created_at: "2026-01-01T00:00:00.000Z", session_id: null },
  ...{ scope: null, descendants: true },
  approval_id: null,
  end_reason: null,
  calls: { started: 4, success: 1, error: 0, denied: 1, unknown: 1, unknown_calls: ["call_9"] },
  budget: {
    ...{ run_id: "run_1", deadline_at: "2026-01-01T01:00:00.000Z" },
    ...{ attempts_used: 3, attempts_remaining: 37, side_effect_attempts: 1, side_effects_remaining: 4 },
    ...{ settled_spend: 20, spend_remaining_cents: 50, reserved_spend: 30, budget_stop_reason: null },
  },
  ...change,
});

test("the summary names calls, denials, spend and what is unknown", () => {
  const text = summaryLines("agent", ended, 0, view({})).join("\n");
  assert.match(text, /4 calls: 1 success, 0 error, 1 denied, 1 unknown, 1 not answered yet/);
  assert.match(text, /3 of 40 attempts, 1 of 5 side effects; spent 20 of 70 cents \(30 still reserved\)/);
  assert.match(text, /outcome unknown, so do not repeat: call_9/);
  assert.doesNotMatch(text, /still live/);
});

test("the summary says when the run was over before the command was, and who is left", () => {
  const text = summaryLines(
    "agent",
    { ...ended, exit: 143, signal: "SIGTERM" },
    2,
    view({ state: "ended", end_reason: "run_deadline_exhausted" }),
  ).join("\n");
  assert.match(text, /ended with SIGTERM/);
  assert.match(text, /had ended before: run_deadline_exhausted/);
  assert.match(text, /2 processes that it started still live/);
});

test("a gateway that is gone at the end does not hide how the command ended", () => {
  const text = summaryLines("agent", { ...ended, exit: 3 }, 1, null).join("\n");
  assert.match(text, /ended with status 3/);
  assert.match(text, /gateway did not answer/);
  assert.match(text, /1 process that it started still lives/);
});
