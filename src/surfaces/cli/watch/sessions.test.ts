import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../../../kernel/json.ts";
import { sessionLine, sortSessions } from "./sessions.ts";

const record: JsonObject = {
  session_id: "ses_1",
  run_id: "run_1",
  state: "approved",
  caller: { process: { pid: 7, uid: 1000 }, path_observed: "/usr/bin/agent" },
  scope_granted: { actions: ["acme.a"] },
  approved_by: "ada",
  approved_at: "2026-01-01T00:00:00.000Z",
  ended_at: null,
  end_reason: null,
};

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

test("whatever a record holds, its line is one line of visible characters", () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(...Object.keys(record)), fc.jsonValue({ stringUnit: "binary" })),
      (odd) => {
        assert.match(sessionLine({ ...record, ...(odd as JsonObject) }).text, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
      },
    ),
  );
});
