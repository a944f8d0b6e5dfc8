import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../../kernel/testing/any-text.ts";
import { sessionLine, sortSessions } from "./sessions.ts";
import { sessionOf } from "./testing/session.ts";

const record = sessionOf("ses_1");

test("a session says who, what, by whom and since when", () => {
  const { live, text } = sessionLine(record);
  assert.equal(live, true);
  for (const part of ["live", "ses_1", "pid 7 uid 1000", "acme.a", "by ada", "since 2026", '"/usr/bin/agent"']) {
    assert.ok(text.includes(part), part);
  }
  const ended = sessionLine({ ...record, ended_at: "2026-01-01T00:01:00.000Z", end_reason: "revoked" });
  assert.ok(!ended.live && ended.text.includes("(revoked)"));
});

test("live sessions stand first", () => {
  const of = (id: string, ended_at: string | null) => sessionLine({ ...record, session_id: id, ended_at });
  const sorted = sortSessions([of("a", "x"), of("b", null), of("c", "x"), of("d", null)]);
  assert.deepEqual(
    sorted.map(({ id }) => id),
    ["b", "d", "c", "a"],
  );
});

test("whatever its texts are, its line is one line of visible characters", () => {
  const odd = anyText();
  const names = ["session_id", "approved_by", "approved_at", "ended_at", "end_reason"] as const;
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...names), odd), odd, odd, (texts, path_observed, action) => {
      const caller = { ...record.caller, path_observed };
      const scope_granted = { ...record.scope_granted, actions: [action] };
      const { text } = sessionLine({ ...record, ...texts, caller, scope_granted });
      assert.match(text, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
    }),
  );
});
