import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { breakRule } from "../scripts/mutants/find.ts";
import { mutants } from "../scripts/mutants/table.ts";

const root = dirname(import.meta.dirname);

test("every rule that `npm run mutants` breaks still stands where its row says, exactly once, and its tests exist", () => {
  const lost = mutants.map((mutant) => breakRule(root, mutant)).filter((found) => typeof found === "string");
  assert.deepEqual(lost, []);
  const gone = mutants.flatMap(({ tests }) => tests).filter((file) => !existsSync(join(root, file)));
  assert.deepEqual(gone, []);
  const untitled = mutants
    .filter(
      ({ tests, title }) =>
        title !== undefined && !tests.some((file) => readFileSync(join(root, file), "utf8").includes(title)),
    )
    .map(({ title }) => title);
  assert.deepEqual(untitled, []);
  const named = mutants.map(({ rule }) => rule);
  assert.equal(new Set(named).size, named.length);
});
