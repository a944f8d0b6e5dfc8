import assert from "node:assert/strict";
import { test } from "node:test";
import type { Line } from "./line.ts";
import { paintLines, ringBell } from "./paint.ts";

const lines: readonly Line[] = [
  { text: "one", style: "bar" },
  { text: "two", style: "plain" },
];

test("only what changed is written, and all of it after a redraw", () => {
  assert.equal(paintLines(lines, lines, true), "");
  const changed = [lines[0] as Line, { text: "three", style: "plain" } as const];
  const update = paintLines(changed, lines, true);
  assert.ok(update.includes("three") && !update.includes("one"));
  const all = paintLines(lines, null, true);
  assert.ok(all.includes("one") && all.includes("two"));
});

test("without colour no look is written at all", () => {
  const plain = paintLines(lines, null, false).replaceAll("\u001b[0m", "");
  assert.ok(!plain.includes("\u001b[7m") && !plain.includes("\u001b[1m"));
  assert.ok(paintLines(lines, null, true).includes("\u001b[7mone\u001b[0m"));
});

test("a row is cleared before it is written: clearing after a full row would eat its last character", () => {
  const full = paintLines([{ text: "x".repeat(80), style: "plain" }], null, false);
  assert.ok(full.endsWith("x"));
});

test("a ring holds the bell and notices in plain words, whatever it is given", () => {
  const rung = ringBell("2 cards wait\u001b\\;x\u0007\u009c");
  assert.equal(rung, "\u0007\u001b]9;gw: 2 cards waitx\u001b\\\u001b]777;notify;gw;2 cards waitx\u001b\\");
});
