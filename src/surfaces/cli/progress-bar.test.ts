import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { progressBar, spread } from "./progress-bar.ts";

test("what takes over a second says how far it is and how long it will take, and leaves nothing behind", () => {
  const shown: string[] = [];
  let nowMs = 5_000;
  const bar = progressBar(
    (text) => shown.push(text),
    () => nowMs,
  );
  bar.show(10_000_000, 40_000_000);
  assert.deepEqual(shown, [], "it may be over in a moment");
  nowMs += 1_500;
  bar.show(20_000_000, 40_000_000);
  bar.show(20_000_000, 40_000_000);
  nowMs += 1_500;
  bar.show(40_000_000, 40_000_000);
  bar.clear();
  bar.clear();
  assert.deepEqual(shown, [
    `${"█".repeat(12)}${"░".repeat(12)} 50 % of 40 MB, 2 s left`,
    `${"█".repeat(24)} 100 % of 40 MB, 0 s left`,
    "",
  ]);
});

test("several pieces of work are one bar, and none counts for more than it was said to be", () => {
  const shown: (readonly [number, number])[] = [];
  const part = spread({ show: (done, total) => shown.push([done, total]), clear: () => undefined }, [10, 20, 30]);
  part(0)(4);
  part(1)(25);
  part(2)(30);
  assert.deepEqual(shown, [
    [4, 60],
    [30, 60],
    [60, 60],
  ]);
});

test("where nobody looks nothing is shown", () => {
  const bar = progressBar(null, () => 0);
  bar.show(1, 2);
  bar.clear();
});

test("a program that is ended while it shows how far it is leaves nothing behind, and ends as it would have", async () => {
  const program = `
    import { progressBar } from ${JSON.stringify(new URL("progress-bar.ts", import.meta.url).href)};
    let nowMs = 0;
    const bar = progressBar((text) => process.stdout.write(\`[\${text}]\`), () => (nowMs += 2_000));
    setInterval(() => undefined, 60_000);
    bar.show(1, 2);
  `;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    if (said === "") child.kill("SIGINT");
    said += chunk;
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  assert.match(said, /left\]\[\]$/);
  assert.equal(child.signalCode, "SIGINT");
});
