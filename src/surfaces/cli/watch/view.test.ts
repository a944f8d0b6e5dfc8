import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { call } from "../../../conventions/approval/testing/card.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { anyText } from "../../../kernel/testing/any-text.ts";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { widthOf } from "./measure.ts";
import { areasOf } from "./reading.ts";
import { grantLines, helpLines } from "./screens.ts";
import { sitConnected, sitDown, type Table, typeSecret, viewOf } from "./testing/table.ts";
import { clockOf, viewWatch } from "./view.ts";

function textOf(table: Table): readonly string[] {
  return viewWatch(table.state).map(({ text }) => text);
}

function assertWhole(table: Table): void {
  const { columns, rows } = table.state.size;
  const lines = viewWatch(table.state);
  assert.equal(lines.length, rows);
  for (const { text } of lines) {
    assert.ok(widthOf(text) <= columns, text);
    assert.match(text, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
  }
}

/** The rows between the two rules: the only place where a card's text may stand. */
function cardArea(table: Table): readonly string[] {
  const { list, strip, card } = areasOf(table.state.size);
  return textOf(table).slice(list + strip + 2, list + strip + 2 + card);
}

test("the screen says who sits there, in which mode, and whether it is connected", () => {
  const table = sitDown();
  assert.match(textOf(table)[0] ?? "", /ada +connecting/);
  table.tell({ kind: "live", guardRail: true, locked: true });
  assert.match(textOf(table)[0] ?? "", /guard-rail mode +connected +LOCKED/);
  table.tell({ kind: "lost", why: "gone", retryInMs: 3_000 });
  table.wait(1_000);
  assert.match(textOf(table)[0] ?? "", /NOT CONNECTED for 1 s, trying again in 2 s/);
});

test("the queue counts down, and says which cards were not seen", () => {
  const table = sitConnected();
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  table.wait(10_000);
  assert.match(textOf(table)[1] ?? "", /^> +1 +4:50 left +(not seen|seen) +session for 2 actions and call acme\.a/);
  table.wait(250_000);
  assert.match(textOf(table)[1] ?? "", /0:40 LEFT/);
  assert.equal(clockOf(-5), " 0:00");
});

test("the first line of the card is the authority, and the last page says that it is the end", () => {
  const table = sitConnected({ rows: 20 });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  assert.equal(cardArea(table)[0], "| Unsigned: nobody vouches for this image");
  assert.ok(textOf(table).some((line) => line.includes("MORE BELOW")));
  table.wait(defaults.cardSteadyMs);
  table.readOn();
  assert.ok(textOf(table).some((line) => line.startsWith("-- end of the card")));
  assert.match(textOf(table).at(-1) ?? "", /^a approve/);
});

test("an argument longer than the screen is shown whole over the pages", () => {
  const table = sitConnected({ rows: 20 });
  const name = Array.from({ length: 900 }, (_, index) => `<${index}>`).join("");
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { call: { ...call, arguments: { name } } }) });
  table.wait(defaults.cardSteadyMs);
  const rows = new Set<string>();
  for (let page = 0; page < 60; page++) {
    for (const row of cardArea(table)) rows.add(row);
    table.type("enter");
  }
  const shown = [...rows].filter((row) => /<\d/.test(row) || row.startsWith("|:")).map((row) => row.slice(5));
  const joined = shown.join("");
  for (let index = 0; index < 900; index++) assert.ok(joined.includes(`<${index}>`), String(index));
});

test("right-to-left letters are pointed out by a row of ours", () => {
  const table = sitConnected({ rows: 80 });
  const said = { ...viewOf("apr_1").card.run, purpose_claimed: "pay \u05d0\u05d1 12" };
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { run: said }) });
  assert.ok(cardArea(table).some((row) => row.startsWith("|! right-to-left")));
});

test("on the narrowest screen the keys of a card end with how to get help and how to leave", () => {
  const table = sitConnected({ columns: 80, rows: 24 });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  table.wait(defaults.cardSteadyMs);
  table.type("enter");
  assert.match(textOf(table).at(-1) ?? "", /a approve.*[?] help {2}q quit/);
});

test("in a window of 80 columns no line of the help, or above a grant, is cut", () => {
  for (const { text } of [...helpLines(), ...grantLines("--caller x", 80, true)]) assert.ok(widthOf(text) <= 80, text);
});

test("prompts, lists and messages each have their words", () => {
  const table = sitConnected({ rows: 80 });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  assert.match(textOf(table).at(-1) ?? "", /one moment/);
  table.wait(defaults.cardSteadyMs);
  table.type("n");
  assert.ok(textOf(table).some((line) => line.includes("[x] acme.a  (this call needs it)")));
  table.type("down", "down", "1");
  assert.ok(textOf(table).some((line) => line.includes("1 instead of 40")));
  table.type("enter");
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.ok(textOf(table).some((line) => line.startsWith("? Approve, narrowed to 1 attempt: session for 2 actions")));
  table.tell({ kind: "secretTyped", length: 3 });
  assert.ok(textOf(table).some((line) => line.includes("PIN: ***_")));
  typeSecret(table, 4);
  assert.ok(textOf(table).some((line) => line.includes("checking")));
  table.tell({ kind: "approval", view: viewOf("apr_1", { state: "expired" }) });
  assert.ok(textOf(table).some((line) => line.startsWith("! Gone while you were typing")));
  table.wait(defaults.cardSteadyMs);
  table.type("enter");
  assert.ok(textOf(table).some((line) => line === "Lately"));
  table.type("?");
  assert.ok(textOf(table).some((line) => line.includes("approve: only when the card was read to its end")));
  table.type("x", "s");
  assert.ok(textOf(table).some((line) => line.includes("asking the gateway")));
  table.tell({ kind: "sessions", sessions: [{ id: "ses_1", live: true, text: "live ses_1" }] });
  assert.ok(textOf(table).includes("> live ses_1"));
  table.type("r");
  assert.ok(textOf(table).some((line) => line.startsWith("? Revoke session ses_1")));
  assertWhole(table);
});

test("a window that is too small says so in whatever room it has", () => {
  for (const [columns, rows] of [
    [59, 18],
    [60, 17],
    [10, 3],
    [2, 1],
    [1, 1],
  ] as const) {
    const table = sitConnected({ columns, rows });
    assertWhole(table);
  }
  assert.match(textOf(sitConnected({ columns: 50, rows: 17 })).join(" "), /too small/);
});

const hostile = fc.oneof(
  anyText({ maxLength: 60 }),
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.constantFrom(
    "\u001b[2J\u001b[1;1Hgw watch  ada  connected",
    "x\n| Budget of the run\n-- end of the card",
    `${" ".repeat(200)}> 1 approve`,
    "\u202eevorppa",
    "аpproved by root",
    "\u009b31m",
    "e\u0301\u0302\u0303\u0304",
  ),
);

test("whatever an agent writes, and wherever, the screen stays ours", () => {
  fc.assert(
    fc.property(
      hostile,
      hostile,
      hostile,
      fc.integer({ min: 60, max: 140 }),
      fc.integer({ min: 18, max: 40 }),
      fc.nat(6),
      (one, two, three, columns, rows, pages) => {
        const table = sitConnected({ columns, rows });
        const view = viewOf(
          "apr_1",
          { mode: one, reason: two },
          {
            authority: three,
            caller: { path_observed: one, cdhash: two, validity: three, process: { pid: 7, uid: 1 } },
            context: { ancestors: [{ pid: 1, path: two }], unowned_mappings: [three], interpreter: { name: one } },
            call: { ...call, arguments: { [one]: two, list: [three, { [two]: one }] }, target: three, action: one },
            scope: { ...viewOf("x").card.scope, actions: [one, two], hosts: [three] } as never,
            notes: [one],
          },
        );
        table.tell({ kind: "approval", view });
        table.wait(defaults.cardSteadyMs);
        for (let page = 0; page < pages; page++) table.type("enter");
        assertWhole(table);
        for (const row of cardArea(table)) assert.match(row, /^(\||$)/);
        assert.match(textOf(table)[0] ?? "", /^gw watch {2}ada/);
        table.tell({ kind: "approval", view: { ...view, state: "denied", decided_by: three } });
        table.tell({ kind: "refused", code: "x", message: one });
        assertWhole(table);
        assert.ok(
          textOf(table).every((row) => row === "" || /^(gw watch|[ *]| |--|Lately|o operations|one moment)/.test(row)),
        );
      },
    ),
    { numRuns: runsOf(60) },
  );
});

const planned = {
  plan_id: "plan_1",
  preview_action: "acme.plan",
  arguments: {},
  request_digest: "sha256:1",
  previewed_at: "2026-01-01T00:00:00.000Z",
  // The card runs out at 00:05:00.
  expires_at: "2026-01-01T00:04:00.000Z",
  validation: [],
  read_revisions: [{ resource: "p", revision: "r1" }],
  effects: [
    {
      relation: "direct",
      total: 1,
      sample: [{ resource: "p", revision: "r1", previous: { a: "x".repeat(200) }, proposed: { a: "y" }, cause: "c" }],
      next_cursor: null,
    },
  ],
  assumptions: [],
} as const;

test("a plan's time counts down above its card, and approving one that ran out is refused with the way on", () => {
  const table = sitConnected({ rows: 60 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { plan: planned }) });
  table.wait(60_000);
  assert.ok(textOf(table).some((line) => line.includes("plan good for 3:00")));
  table.wait(180_000);
  assert.ok(textOf(table).some((line) => line.includes("PLAN OVER")));
  table.type("a");
  assert.ok(!textOf(table).some((line) => line.startsWith("? Approve")));
  assert.match(table.state.notices.at(-1)?.text ?? "", /its plan has run out/);
  table.type("d");
  assert.ok(
    textOf(table).some((line) => line.startsWith("? Deny")),
    "it can still be denied",
  );
});

test("a colour only repeats the sign of a diff, on every row of a long value", () => {
  const table = sitConnected({ rows: 60, columns: 80 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { plan: planned, call: null }) });
  table.wait(defaults.cardSteadyMs);
  const lines = viewWatch(table.state);
  const removed = lines.filter(({ style }) => style === "removed").map(({ text }) => text);
  assert.ok(removed.length > 1);
  assert.match(removed[0] ?? "", /^\| {7}- a: "x/);
  for (const row of removed.slice(1)) assert.match(row, /^\|: {3}x+"?$/);
  assert.deepEqual(
    lines.filter(({ style }) => style === "added").map(({ text }) => text),
    ['|       + a: "y"'],
  );
});
