import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { call } from "../../../conventions/approval/testing/card.ts";
import { runsOf } from "../../../kernel/testing/whole.ts";
import {
  areasOf,
  isReadToEnd,
  isTooSmall,
  markSeen,
  pageBack,
  pageForward,
  pageOf,
  relayout,
  rowsFor,
  toggleEvidence,
} from "./reading.ts";
import type { Item } from "./state.ts";
import { viewOf } from "./testing/table.ts";

const size = { columns: 80, rows: 24 };

function itemOf(characters = 3_000): Item {
  const view = viewOf("apr_1", {}, { call: { ...call, arguments: { name: "x".repeat(characters) } } });
  const shown = rowsFor(view, size, false);
  return {
    view,
    digest: "",
    expiresMs: 0,
    firstSeenMs: 0,
    ...shown,
    unfolded: false,
    top: 0,
    seen: 0,
    pagedMs: -1_000,
    planExpiresMs: null,
    narrow: null,
  };
}

test("rows that were skipped are not seen, however the end came on screen", () => {
  const item = { ...itemOf(), top: 40 };
  assert.equal(markSeen(item, 10).seen, 0);
  assert.equal(markSeen({ ...item, seen: 40 }, 10).seen, 50);
  assert.equal(markSeen({ ...item, seen: 45 }, 10).seen, 50);
});

test("going back does not forget what was read", () => {
  const read = markSeen(pageForward(markSeen(itemOf(), 10), 10, 0), 10);
  assert.equal(markSeen(pageBack(read, 10), 10).seen, read.seen);
});

test("every way of paging keeps the place inside the card and counts only what was on screen", () => {
  const moves = fc.array(
    fc.oneof(
      fc.constantFrom("forward", "forward", "forward", "back", "evidence"),
      fc.record({ columns: fc.integer({ min: 60, max: 160 }), rows: fc.integer({ min: 18, max: 60 }) }),
    ),
    { maxLength: 40 },
  );
  fc.assert(
    fc.property(moves, (steps) => {
      let [item, at, nowMs] = [itemOf(), size, 0];
      const shown = new Set<number>();
      for (const move of steps) {
        const page = areasOf(at).card;
        nowMs += 1_000;
        if (move === "forward") item = pageForward(item, page, nowMs);
        else if (move === "back") item = pageBack(item, page);
        else if (move === "evidence") item = toggleEvidence(item, at);
        else {
          at = move;
          item = relayout(item, at);
          shown.clear();
          for (let row = 0; row < item.seen; row++) shown.add(row);
        }
        for (let row = item.top; row < item.top + areasOf(at).card; row++) shown.add(row);
        item = markSeen(item, areasOf(at).card);
        assert.ok(item.top >= 0 && item.top <= item.rows.length);
        assert.ok(item.seen <= item.rows.length || !item.unfolded);
        for (let row = 0; row < item.seen; row++) assert.ok(shown.has(row), String(row));
        const { at: number, of } = pageOf(item, areasOf(at).card);
        assert.ok(number >= 1 && number <= of);
      }
    }),
    { numRuns: runsOf(60) },
  );
});

test("a card can be read to its end in any window that is large enough", () => {
  for (const rows of [18, 24, 60]) {
    let item = itemOf();
    assert.ok(!isReadToEnd(item));
    const page = areasOf({ columns: 80, rows }).card;
    item = markSeen(item, page);
    for (let step = 0; step < 500; step++) item = markSeen(pageForward(item, page, step * 1_000), page);
    assert.ok(isReadToEnd(item));
  }
});

test("the areas fill the screen whatever its size", () => {
  for (let rows = 18; rows < 100; rows++) {
    const { list, strip, card, foot } = areasOf({ columns: 80, rows });
    assert.equal(list + strip + card + foot + 4, rows);
    assert.ok(card >= 8 && strip >= 1 && list >= 1);
  }
  assert.ok(isTooSmall({ columns: 59, rows: 40 }) && isTooSmall({ columns: 60, rows: 17 }));
  assert.ok(!isTooSmall({ columns: 60, rows: 18 }));
});

test("the first screen of 80x24 holds any ordinary call whole, with who vouches, every argument, cost, budget and what follows without an answer", () => {
  const authority =
    "Debian's node (nodejs 20.19.2+dfsg-1), by package record, not a signature, running a script that no signature covers";
  const target = "https://registry.example/-/package/%40acme%2Fsite/dist-tags/latest";
  const calls = [
    {
      ...call,
      target,
      arguments: { package: "@acme/site", tag: "latest", version: "1.4.2" },
      sent_as: { version: "body" },
    },
    { ...call, effect: "read", because: [], arguments: { owner: "acme", repo: "site", number: 41 } },
    { ...call, maximum_cents: null, arguments: {} },
  ];
  for (const one of calls) {
    const scope = { ...(viewOf("x").card.scope ?? assert.fail()), actions: [one.action] };
    for (const card of [{ asks: "session_and_call", scope } as const, { asks: "call", scope: null } as const]) {
      const view = viewOf("apr_1", {}, { ...card, authority, call: one });
      const { rows, essential } = rowsFor(view, size, false);
      const text = rows.map((row) => row.text).join("\n");
      assert.equal(essential, rows.length);
      assert.ok(essential <= areasOf(size).card, `${essential} rows:\n${text}`);
      for (const name of Object.keys(one.arguments)) assert.ok(text.includes(`${name} = `), name);
      for (const label of ["call", "request", "can cost", "agent says", "budget", "no answer"]) {
        assert.match(text, new RegExp(`^\\|   ${label} `, "m"));
      }
    }
  }
});

test("the evidence is folded, opens below what has to be read, and folds again without unreading it", () => {
  const folded = markSeen(itemOf(10), areasOf(size).card);
  assert.ok(isReadToEnd(folded));
  const open = toggleEvidence(folded, size);
  assert.ok(open.rows.length > open.essential && isReadToEnd(open));
  assert.deepEqual(open.rows.slice(0, open.essential), folded.rows);
  assert.ok(open.rows.slice(open.essential).some(({ text }) => text.includes("request digest")));
  const long = toggleEvidence(itemOf(), size);
  assert.ok(!isReadToEnd(markSeen(long, areasOf(size).card)), "evidence on screen is not the card read");
  assert.deepEqual(toggleEvidence(open, size).rows, folded.rows);
});
