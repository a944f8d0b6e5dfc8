import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { planLines } from "../../conventions/approval/render-plan.ts";
import { doctorLines, runDoctor } from "./doctor.ts";
import { printPlan } from "./plan.ts";
import { hangOf, sayProse } from "./say-prose.ts";
import { widthOf } from "./watch/measure.ts";

function said(text: string, columns: number | undefined, hang?: number): string[] {
  const lines: string[] = [];
  sayProse({ out: (line) => void lines.push(line), ...(columns === undefined ? {} : { columns }) }, text, hang);
  return lines;
}

test("on a terminal a sentence is broken between words, and every word of it is there once, in its order", () => {
  const words = fc.array(
    fc.string({ minLength: 1, maxLength: 50 }).map((word) => word.replaceAll(/\s/g, "x")),
    {
      minLength: 1,
      maxLength: 40,
    },
  );
  fc.assert(
    fc.property(words, fc.integer({ min: 24, max: 120 }), fc.integer({ min: 0, max: 12 }), (given, columns, hang) => {
      const lines = said(given.join(" "), columns, hang);
      assert.deepEqual(
        lines.flatMap((line) => line.trimStart().split(" ")),
        given,
      );
      for (const line of lines) assert.ok(widthOf(line) <= columns || !line.trimStart().includes(" "), line);
      for (const line of lines.slice(1)) assert.ok(line.startsWith(" ".repeat(hang)) && line[hang] !== " ", line);
    }),
  );
});

test("where a line of a card goes on it stands deeper than any line of the card begins", () => {
  const words = `Image enrolled as our node ${"and more of it ".repeat(12)}`;
  for (const line of [`  ${words}`, `    agent says  "${words}"`, `${words}`]) {
    const [, ...rest] = said(line, 80, hangOf(line));
    const start = line.length - line.trimStart().length;
    assert.ok(rest.length > 0);
    for (const row of rest) assert.ok(row.length - row.trimStart().length > start, row);
    if (start > 0) for (const row of rest) assert.ok(row.length - row.trimStart().length > 4, row);
  }
});

test("into a file or a pipe, and in a window too narrow for words, it stays the line that it is", () => {
  const text = "  indented, and with  two blanks, ".repeat(8);
  assert.deepEqual(said(text, undefined), [text]);
  assert.deepEqual(said(text, 23), [text]);
  assert.deepEqual(said("  indented, and with  two blanks", 80), ["  indented, and with  two blanks"]);
});

test("gw doctor in a window of 80 columns goes on below its own text", async () => {
  const detail = "the kernel has no such thing, and what needs it says so when it is asked for it and not before";
  const findings = [{ name: "kernel", state: "warning", detail, mend: "sudo apt-get install it" }] as const;
  const lines: string[] = [];
  const io = { out: (line: string) => void lines.push(line), columns: 80 } as unknown as Parameters<
    typeof runDoctor
  >[2];
  await runDoctor(async () => findings, { json: false }, io);
  assert.ok(lines.length > doctorLines(findings).length && lines.every((line) => line.length <= 80), lines.join("\n"));
  assert.equal(lines[1]?.search(/\S/), lines[0]?.indexOf("the kernel"));
});

test("gw plan in a window of 80 columns is broken between words, below its own text", () => {
  const message = "a legal hold freezes the members of this project until whoever asked for it has taken it back again";
  const blocker = { severity: "error", code: "legal_hold_active", path: "", message, blocks_execution: true } as const;
  const plan = {
    ...{ plan_id: "plan_1", preview_action: "acme.plan", expires_at: "2030-01-01T00:00:00.000Z", effects: [] },
    ...{ validation: [{ ...blocker, repair: null }], read_revisions: [], assumptions: [] },
  };
  const lines: string[] = [];
  printPlan(plan, { out: (line) => void lines.push(line), columns: 80 });
  assert.ok(lines.length > planLines(plan).length && lines.every((line) => line.length <= 80), lines.join("\n"));
});
