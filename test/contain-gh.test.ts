import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { asUser } from "./support/home.ts";
import { runInStand } from "./support/stand/run-stand.ts";

/** Of docs/contained.md: `gh COMMAND` and whether it works. A row that is not true fails here. */
const table = readFileSync(join(import.meta.dirname, "..", "docs", "contained.md"), "utf8")
  .split("\n")
  .flatMap((line) => {
    const [, command, says] = /^\| `(gh [^`]+)` \| (yes|no[^|]*) \|$/.exec(line) ?? [];
    return command === undefined || says === undefined ? [] : [{ command, works: says === "yes" }];
  });

const missing = spawnSync("gh", ["--version"]).status === 0 ? false : "gh is not installed";

test("the everyday commands of gh do in a box what the table says", {
  ...asUser,
  ...(missing ? { skip: missing } : {}),
}, async (t) => {
  assert.ok(table.length >= 42, `${table.length} commands`);
  const { ran, end } = await runInStand(table.map(({ command }) => command));
  for (const [index, { command, works }] of table.entries()) {
    await t.test(`${command}: ${works ? "works" : "is refused in words"}`, () => {
      const { code, out, err } = ran[index] ?? assert.fail();
      assert.equal(code === 0, works, `${err}${out}`);
      if (!works) assert.match(err, /Refused by gw|gw: no action/);
    });
  }
  assert.equal(end.foreign, false, "the provider was shown its credential and nothing else");
});
