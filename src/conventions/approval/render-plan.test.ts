import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../kernel/json.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import type { EffectGroup, PlanEffect } from "../plan/record.ts";
import { ADDED, planLines, REMOVED } from "./render-plan.ts";

const effect: PlanEffect = {
  resource: "projects/p1",
  revision: "r7",
  previous: { role: "viewer" },
  proposed: { role: "editor" },
  cause: "request",
};

function plan(...effects: readonly EffectGroup[]) {
  return {
    plan_id: "plan_1",
    preview_action: "acme.plan",
    expires_at: "2030-01-01T00:00:00.000Z",
    validation: [],
    read_revisions: [{ resource: "projects/p1", revision: "r7" }],
    effects,
    assumptions: [],
  } as const;
}

function group(relation: EffectGroup["relation"], ...sample: readonly PlanEffect[]): EffectGroup {
  return { relation, total: sample.length, sample, next_cursor: null };
}

function linesOf(change: Partial<PlanEffect>): readonly string[] {
  return planLines(plan(group("direct", { ...effect, ...change })));
}

test("previous and proposed stand under each other with a sign, below the resource and its cause", () => {
  const lines = linesOf({});
  const at = lines.indexOf('    change projects/p1 at r7, because of "request"');
  assert.deepEqual(lines.slice(at + 1, at + 3), [`${REMOVED}role: "viewer"`, `${ADDED}role: "editor"`]);
});

test("what is created, removed and only touched is called so", () => {
  assert.ok(linesOf({ previous: null }).some((line) => line.startsWith("    CREATE projects/p1")));
  assert.ok(linesOf({ proposed: null }).some((line) => line.startsWith("    REMOVE projects/p1")));
  assert.ok(linesOf({ proposed: { role: "viewer" } }).some((line) => line.startsWith("    touch projects/p1")));
});

test("direct, derived and separate effects are groups of their own, with totals and what is not listed", () => {
  const derived = { ...group("derived", effect), total: 40 };
  const separate = group("separate", { ...effect, compensating_action: "send another" });
  const text = planLines(plan(group("direct", effect), derived, separate)).join("\n");
  assert.match(text, /in short +changes 1 direct; 40 derived, 39 NOT LISTED; 1 separate\n/);
  assert.match(
    text,
    /changes directly +1\n[\s\S]*follows from that +40, 1 of them listed\n[\s\S]*not undone with it +1\n/,
  );
  assert.match(text, /and 39 MORE that the provider counts/);
  assert.match(text, /to make up for it: "send another"/);
});

test("a plan that changes nothing says so", () => {
  assert.match(planLines(plan()).join("\n"), /in short +changes NOTHING/);
});

test("a warning and what blocks are told apart, with the repair where there is one", () => {
  const entry = { severity: "warning", code: "member_count_change", path: "", message: "m", repair: null } as const;
  const lines = planLines({
    ...plan(),
    validation: [
      { ...entry, blocks_execution: false },
      {
        ...entry,
        severity: "error",
        code: "version_conflict",
        path: "/if_match",
        blocks_execution: true,
        repair: "again",
      },
    ],
  });
  assert.ok(lines.includes('  WARNING             member_count_change: "m"'));
  assert.ok(lines.includes('  BLOCKED BY          version_conflict at /if_match: "m"; to mend it: "again"'));
});

test("an assumption says whether execution goes on without it", () => {
  const assumptions = [
    { dependency: "mail", assumed: "up", may_proceed_without: true },
    { dependency: "dns", assumed: "up", may_proceed_without: false },
  ];
  const text = planLines({ ...plan(), assumptions }).join("\n");
  assert.match(text, /mail: "up" \(goes on without it\)/);
  assert.match(text, /dns: "up" \(FAILS WITHOUT IT\)/);
  assert.match(text, /relies on 1/);
});

test("two texts that only look the same are written out", () => {
  const text = linesOf({ previous: { n: "caf\u00e9" }, proposed: { n: "cafe\u0301" } }).join("\n");
  assert.match(text, /THE TWO LOOK ALIKE: "caf\\u\{e9\}" becomes "cafe\\u\{301\}"/);
});

test("where two long texts part is pointed at, and both stand whole", () => {
  const [before, after] = [`${"x".repeat(200)}old${"y".repeat(200)}`, `${"x".repeat(200)}new${"y".repeat(200)}`];
  const text = linesOf({ previous: { n: before }, proposed: { n: after } }).join("\n");
  assert.ok(text.includes(before) && text.includes(after));
  assert.match(text, /that is: "old" becomes "new", after 200 characters/);
});

test("values that stay are context: a few are shown, and the rest is counted", () => {
  const same = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`m${at}`, at]));
  const lines = linesOf({ previous: { ...same, role: "a" }, proposed: { ...same, role: "b" } });
  assert.ok(lines.includes("        (and 15 more values that stay as they are)"));
  assert.ok(lines.includes(`${ADDED}role: "b"`));
});

test("whatever a provider writes, a line of the diff is ours, and no changed value is left out", () => {
  const text = anyText({ maxLength: 40 });
  const value = fc.dictionary(text, fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 4 });
  fc.assert(
    fc.property(text, text, value, value, (resource, cause, previous, proposed) => {
      const lines = planLines(
        plan(
          group("direct", {
            ...effect,
            resource,
            cause,
            previous: previous as JsonValue,
            proposed: proposed as JsonValue,
          }),
        ),
      );
      for (const line of lines) assert.match(line, /^ {2}[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
      const signed = lines.filter((line) => line.startsWith(ADDED) || line.startsWith(REMOVED));
      const [gone, come] = [Object.entries(previous), Object.entries(proposed)];
      const kept = gone.filter(([name, one]) => Object.hasOwn(proposed, name) && proposed[name] === one).length;
      const leaves = (all: number): number => Math.max(1, all);
      const same = gone.length === 0 && come.length === 0;
      assert.equal(signed.length, same ? 0 : leaves(gone.length) + leaves(come.length) - 2 * kept);
    }),
    { numRuns: 200 },
  );
});
