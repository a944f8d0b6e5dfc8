import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  grantedOf,
  moveIn,
  type NarrowDraft,
  narrowingOf,
  sayNarrowing,
  startNarrowing,
  toggleIn,
  typeIn,
} from "./narrow.ts";
import { viewOf } from "./testing/table.ts";

function draftOf(mode = "session"): NarrowDraft {
  const draft = startNarrowing(viewOf("apr_1", { mode }));
  assert.ok(draft !== null);
  return draft;
}

function toggled(draft: NarrowDraft): NarrowDraft {
  const next = toggleIn(draft);
  return typeof next === "string" ? draft : next;
}

test("nothing taken away is no narrowing", () => {
  assert.equal(narrowingOf(draftOf()), null);
  assert.equal(narrowingOf(null), null);
  assert.equal(sayNarrowing(draftOf()), "");
});

test("the action that this call needs and the last action stay", () => {
  const draft = draftOf();
  assert.equal(toggleIn(draft), "needed");
  const session = startNarrowing(viewOf("apr_1", {}, { call: null, asks: "session" }));
  assert.ok(session !== null);
  const one = toggled(session);
  assert.equal(toggleIn(moveIn(one, 1)), "last");
  assert.deepEqual(narrowingOf(one)?.actions, ["acme.b"]);
});

test("a run that was opened by another keeps its budget, and a widened session keeps its size", () => {
  assert.deepEqual(
    draftOf("join").limits.map(({ name }) => name),
    ["request_bytes"],
  );
  assert.deepEqual(draftOf("access").limits, []);
  assert.equal(startNarrowing(viewOf("apr_1", { mode: "each_use" }, { scope: null })), null);
});

test("a limit is typed, mended and said", () => {
  const at = moveIn(draftOf(), 2);
  const typed = typeIn(typeIn(typeIn(at, "0"), "7"), "x");
  assert.equal(typed.limits[0]?.typed, "7");
  assert.equal(sayNarrowing(typed), "narrowed to 7 attempts");
  assert.equal(typeIn(typed, "backspace").limits[0]?.typed, "");
  assert.equal(typeIn(typed, "kill").limits[0]?.typed, "");
});

test("whatever is typed, what is granted is never more than was asked", () => {
  const keys = fc.array(fc.constantFrom("up", "down", " ", "0", "1", "9", "backspace", "kill", "x"), { maxLength: 60 });
  fc.assert(
    fc.property(keys, (typed) => {
      let draft = draftOf();
      for (const key of typed) {
        if (key === "up" || key === "down") draft = moveIn(draft, key === "up" ? -1 : 1);
        else draft = key === " " ? toggled(draft) : typeIn(draft, key);
      }
      for (const limit of draft.limits) assert.ok(grantedOf(limit) <= limit.asked && grantedOf(limit) >= 0);
      const narrowing = narrowingOf(draft);
      if (narrowing === null) return;
      const { budget } = viewOf("apr_1").card.run;
      for (const [name, asked] of Object.entries(budget)) {
        assert.ok((narrowing.budget?.[name as keyof typeof budget] ?? 0) <= asked);
      }
      assert.ok(narrowing.actions === null || (narrowing.actions.length > 0 && narrowing.actions.includes("acme.a")));
      assert.ok((narrowing.request_bytes ?? 0) <= 1000);
    }),
  );
});
