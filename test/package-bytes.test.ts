import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { tarOf } from "../scripts/package/pack-files.ts";

/** One tree, as different people would check it out. */
function makeTree(names: readonly string[], mode: number, timeS: number): string {
  const folder = mkdtempSync(join(tmpdir(), "gw-tree-"));
  for (const name of names) {
    mkdirSync(join(folder, name), { mode: mode | 0o111 });
    const file = join(folder, name, "text");
    writeFileSync(file, name);
    writeFileSync(join(folder, name, "program"), "#!/bin/sh\n");
    chmodSync(file, mode);
    chmodSync(join(folder, name, "program"), mode | 0o100);
    utimesSync(file, timeS, timeS);
  }
  symlinkSync("b/text", join(folder, "link"));
  return folder;
}

test("an archive does not depend on order, times, permissions or place of the files it is made from", () => {
  const one = makeTree(["a", "b", "C"], 0o644, 1_000_000_000);
  const other = makeTree(["C", "b", "a"], 0o600, 1_500_000_000);
  try {
    for (const rename of [undefined, "gw-1.2.3"]) {
      const bytes = tarOf(one, 1_700_000_000, rename);
      assert.ok(bytes.equals(tarOf(other, 1_700_000_000, rename)));
      assert.ok(!bytes.equals(tarOf(one, 1_700_000_001, rename)), "the time it is given is inside");
    }
  } finally {
    for (const folder of [one, other]) rmSync(folder, { recursive: true });
  }
});
