import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { PageReading } from "./read-page.ts";
import { redactCursor, reportLines, reportWalk } from "./report.ts";
import { startWalk, takePage, type Walk, type WalkStep } from "./walk.ts";

const limits = { pages: 3, records: 10, bytes: 1_000 };
const page = (count: number, cursor: string | null): PageReading => ({
  kind: "page",
  records: Array.from({ length: count }, (_, index) => index),
  cursor,
});

/** Takes pages until the walk stops or they run out. */
function walkThrough(pages: readonly PageReading[], within = limits, bytes = 10): WalkStep {
  let step: WalkStep = { kind: "next", walk: startWalk(within), cursor: "" };
  for (const reading of pages) {
    step = takePage(step.walk, reading, bytes);
    if (step.kind === "stop") return step;
  }
  return step;
}

const reasonOf = (step: WalkStep) => (step.kind === "stop" ? step.reason : "next");

test("a walk goes on while there is a way on and room, and ends with the list", () => {
  assert.equal(reasonOf(walkThrough([page(3, "a")])), "next");
  const ended = walkThrough([page(3, "a"), page(2, null)]);
  assert.equal(reasonOf(ended), "end_of_list");
  assert.deepEqual([ended.walk.pages, ended.walk.received, ended.walk.cursor], [2, 5, null]);
});

test("record and page ceilings are checked after every page, and the first that is hit stops", () => {
  assert.equal(reasonOf(walkThrough([page(1, "a"), page(1, "b"), page(1, "c")])), "page_ceiling");
  assert.equal(reasonOf(walkThrough([page(5, "a"), page(5, "b")])), "record_ceiling");
  assert.equal(reasonOf(walkThrough([page(5, "a"), page(1, "b")], limits, 500)), "size_ceiling");
  assert.equal(reasonOf(walkThrough([page(4, "a"), page(1, "b"), page(5, "c")])), "record_ceiling");
});

test("a list that ends exactly at a ceiling is complete", () => {
  assert.equal(reasonOf(walkThrough([page(5, "a"), page(5, null)])), "end_of_list");
  assert.equal(reasonOf(walkThrough([page(1, "a"), page(1, "b"), page(1, null)])), "end_of_list");
});

test("a provider that sends more than the ceiling is cut, and the list is then not complete", () => {
  const step = walkThrough([page(25, null)]);
  assert.equal(reasonOf(step), "record_ceiling");
  assert.deepEqual([step.walk.received, step.walk.records.length], [25, 10]);
});

test("a repeated cursor stops the walk, at once or in a longer circle", () => {
  assert.equal(reasonOf(walkThrough([page(1, "a"), page(1, "a")])), "cursor_repeated");
  const wide = { pages: 9, records: 100, bytes: 9_999 };
  assert.equal(reasonOf(walkThrough([page(1, "a"), page(1, "b"), page(1, "a")], wide)), "cursor_repeated");
});

test("a fault on the way on keeps the page; a page that is none counts for nothing", () => {
  const kept = walkThrough([page(2, "a"), { kind: "fault", fault: "continuation_foreign", records: [8] }]);
  assert.equal(reasonOf(kept), "continuation_foreign");
  assert.deepEqual([kept.walk.pages, kept.walk.records], [2, [0, 1, 8]]);
  const lost = walkThrough([page(2, "a"), { kind: "fault", fault: "page_malformed", records: null }]);
  assert.deepEqual([reasonOf(lost), lost.walk.pages, lost.walk.cursor], ["page_malformed", 1, "a"]);
});

/** A provider that loops, lies about its size, contradicts itself, or never ends. */
const reading: fc.Arbitrary<PageReading> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("page" as const),
      records: fc.array(fc.integer(), { maxLength: 12 }),
      cursor: fc.oneof(
        { weight: 1, arbitrary: fc.constant(null) },
        { weight: 9, arbitrary: fc.string({ minLength: 1, maxLength: 2 }) },
      ),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("fault" as const),
      fault: fc.constantFrom("page_malformed" as const, "continuation_foreign" as const),
      records: fc.option(fc.array(fc.integer(), { maxLength: 5 })),
    }),
  },
);

test("against any provider a walk ends within its ceilings and never asks with a cursor twice", () => {
  const ceilings = fc.record({
    pages: fc.integer({ min: 1, max: 6 }),
    records: fc.integer({ min: 1, max: 40 }),
    bytes: fc.integer({ min: 1, max: 200 }),
  });
  fc.assert(
    fc.property(
      ceilings,
      fc.array(fc.tuple(reading, fc.nat(80)), { minLength: 8, maxLength: 12 }),
      (within, answers) => {
        let walk: Walk = startWalk(within);
        const asked = new Set<string>();
        let sent = 0;
        for (const [answer, bytes] of answers) {
          sent++;
          const step = takePage(walk, answer, bytes);
          walk = step.walk;
          assert.ok(walk.records.length <= within.records);
          assert.ok(walk.records.length <= walk.received);
          if (step.kind === "stop") {
            assert.ok(sent <= within.pages);
            const report = reportWalk(walk, { kind: "walk", reason: step.reason }, "scope", null);
            const last = answer.kind === "page" && answer.cursor === null && walk.received <= within.records;
            assert.equal(report.completion, last ? "complete" : "partial");
            return;
          }
          assert.ok(!asked.has(step.cursor), "asked with a cursor that was used before");
          asked.add(step.cursor);
        }
        assert.fail("more pages than the ceiling allows");
      },
    ),
  );
});

test("an endless provider with ever new cursors is stopped by every ceiling alone", () => {
  for (const [within, expected] of [
    [{ pages: 5, records: 1e9, bytes: 1e9 }, "page_ceiling"],
    [{ pages: 1e9, records: 40, bytes: 1e9 }, "record_ceiling"],
    [{ pages: 1e9, records: 1e9, bytes: 60 }, "size_ceiling"],
  ] as const) {
    const endless = Array.from({ length: 50 }, (_, index) => page(7, `c${index}`));
    assert.equal(reasonOf(walkThrough(endless, within)), expected);
  }
});

test("the discovery report has all specified fields, and the cursor never stands in it", () => {
  const step = walkThrough([page(2, "secret-cursor-1"), page(1, "secret-cursor-2"), page(1, "secret-cursor-3")]);
  const report = reportWalk(step.walk, { kind: "walk", reason: "page_ceiling" }, "acme.project.list: GET /v1", 50);
  assert.deepEqual(Object.keys(report), [
    "scope",
    "requested_page_size",
    "pages_fetched",
    "records_received",
    "completion",
    "stop_reason",
    "last_continuation_cursor",
    "observed_finding",
    "uninspected_scope",
    "action_taken",
    "continue",
  ]);
  assert.deepEqual([report.pages_fetched, report.records_received, report.completion], [3, 4, "partial"]);
  assert.equal(report.last_continuation_cursor, redactCursor("secret-cursor-3"));
  assert.doesNotMatch(JSON.stringify(report), /secret/);
  const labels = reportLines(report).map((line) => line.split(":")[0]);
  assert.deepEqual(labels, [
    "Scope",
    "Requested page size",
    "Pages fetched",
    "Records received",
    "Completion",
    "Stop reason",
    "Last continuation cursor",
    "Observed finding",
    "Uninspected scope",
    "Action taken",
  ]);
});

test("every way to stop says what was found and what was not looked at", () => {
  const walk = walkThrough([page(2, "a")]).walk;
  const stops = [
    ...["page_ceiling", "record_ceiling", "size_ceiling", "cursor_repeated"].map((reason) => ({
      kind: "walk",
      reason,
    })),
    ...["page_malformed", "continuation_malformed", "continuation_foreign", "continuation_undocumented"].map(
      (reason) => ({ kind: "walk", reason }),
    ),
    { kind: "budget", reason: "attempts_exhausted" },
    { kind: "unanswered", reason: "status_503" },
  ];
  const findings = stops.map((stop) => reportWalk(walk, stop as never, "s", null));
  assert.ok(
    findings.every(({ completion, uninspected_scope }) => completion === "partial" && uninspected_scope !== ""),
  );
  assert.equal(new Set(findings.map(({ observed_finding }) => observed_finding)).size, stops.length);
});

test("hostile text in a scope cannot move a person's cursor", () => {
  const report = reportWalk(startWalk(limits), { kind: "unanswered", reason: "\u001b[2J" }, "a\u202eb\nc", null);
  assert.ok(reportLines(report).every((line) => /^[\x20-\x7e]*$/.test(line)));
});
