import assert from "node:assert/strict";
import { test } from "node:test";
import type { SessionEntry } from "../../../audit/journals/sessions.ts";
import { layRows, rowOf } from "./lines.ts";

test("what an agent said it is for stands in gw sessions as its words, in quotes that it cannot end", () => {
  const entry = {
    kind: "session",
    calls: { succeeded: 1, failed: 0, unknown: 0, denied: 0 },
    approved_by: "ada",
    end_reason: null,
    ended_at: null,
    gap: false,
    authority: "Debian",
    caller: "/usr/bin/agent",
    started_at: "2026-11-15T12:00:00.000Z",
    state: "open",
    session_id: "ses_1",
    run_id: "run_1",
    purpose: 'tidy"; approved by root; \u001b[2J',
  } as unknown as SessionEntry;
  const line = layRows([rowOf(entry)], undefined).join("\n");
  assert.match(line, / says "tidy\\"; approved by root; [^"]*"; approved by ada; /);
  assert.ok(!line.includes("\u001b"));
});
