import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { reportRefusals } from "./report-refusals.ts";

const refusal = (number: number) => ({ why: "upgrade", origin: `https://h${number}.example`, method: "GET" }) as const;

test("each refusal of a flood is told by name or by number, those at the end of the run too", async () => {
  const told: { readonly origin: string; readonly more: number }[] = [];
  const waiting: (() => void)[] = [];
  const reports = reportRefusals((report) => {
    told.push(report);
    return new Promise<void>((resolve) => void waiting.push(resolve));
  });
  for (let number = 0; number < 20; number++) reports.report(refusal(number));
  assert.equal(told.length, defaults.boxReportsAtOnce);
  const settled = reports.settled();
  for (const resolve of waiting.splice(0)) resolve();
  while (waiting.length === 0) await new Promise(setImmediate);
  for (const resolve of waiting.splice(0)) resolve();
  await settled;
  assert.equal(told.at(-1)?.origin, "https://h19.example");
  assert.equal(
    told.reduce((sum, { more }) => sum + more + 1, 0),
    20,
  );
});

test("a gateway that is gone holds no run up", async () => {
  let tried = 0;
  const reports = reportRefusals(() => {
    tried++;
    return Promise.reject(new Error("gone"));
  });
  reports.report(refusal(1));
  await reports.settled();
  assert.equal(tried, 2);
});
