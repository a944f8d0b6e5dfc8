import assert from "node:assert/strict";
import { test } from "node:test";
import type { StateRow } from "../ports.ts";
import { createDayCounts } from "./day-counts.ts";

const DAY_MS = 86_400_000;
const NOON = Date.parse("2026-11-18T12:00:00.000Z");

/** Counts over a store that outlives them, and time that is moved by hand. */
function stand() {
  const rows = new Map<string, StateRow | { readonly tampered: string }>();
  const time = { wallMs: NOON };
  const steps: string[] = [];
  const start = () =>
    createDayCounts(
      {
        find: (table, id) => rows.get(`${table} ${id}`) ?? null,
        async record(step, events, given = []) {
          steps.push(`${step} ${events.length}`);
          await new Promise((resolve) => setImmediate(resolve));
          for (const row of typeof given === "function" ? given() : given) rows.set(`${row.table} ${row.id}`, row);
        },
      },
      { wallMs: () => time.wallMs },
    );
  return { start, rows, time, steps };
}

test("so many are counted in a day, each durable at once, over restarts, and each key for itself", async () => {
  const { start, rows, steps } = stand();
  const counts = start();
  assert.deepEqual(
    [await counts.take("a", 2), await counts.take("a", 2), await counts.take("a", 2)],
    [true, true, false],
  );
  assert.deepEqual(steps, ["day.counted 0", "day.counted 0"], "what is refused is not counted");
  assert.equal(await counts.take("b", 1), true);
  const [row] = rows.values();
  assert.ok(row !== undefined && !("tampered" in row));
  assert.deepEqual([row.table, row.state, row.body], ["notes", "day", { day: "2026-11-18", used: 2 }]);
  const again = start();
  assert.deepEqual([await again.take("a", 2), await again.take("a", 3)], [false, true]);
});

test("of two at once that find room for one, one is counted", async () => {
  const counts = stand().start();
  assert.deepEqual(await Promise.all([counts.take("a", 1), counts.take("a", 1)]), [true, false]);
});

test("another day begins anew, and a clock that goes back does not", async () => {
  const { start, time } = stand();
  const counts = start();
  assert.equal(counts.lastDay("a"), null);
  await counts.take("a", 1);
  time.wallMs -= DAY_MS;
  assert.equal(await counts.take("a", 1), false);
  time.wallMs += 2 * DAY_MS;
  assert.equal(counts.lastDay("a"), "2026-11-18");
  assert.equal(await counts.take("a", 1), true);
  assert.deepEqual([counts.lastDay("a"), start().lastDay("a")], ["2026-11-19", "2026-11-19"]);
});

test("a row that was changed behind the gateway's back lets nothing more pass today, and says no day", async () => {
  const { start, rows } = stand();
  await start().take("a", 5);
  const [id] = rows.keys();
  rows.set(String(id), { tampered: "day a" });
  const counts = start();
  assert.equal(counts.lastDay("a"), null);
  assert.equal(await counts.take("a", Number.MAX_SAFE_INTEGER), false);
});
