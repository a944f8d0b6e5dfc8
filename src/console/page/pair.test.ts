import assert from "node:assert/strict";
import { test } from "node:test";
import { diffValues } from "../../conventions/approval/diff-values.ts";
import { pairDifferences } from "./pair.ts";

test("what goes and what comes at one path stand side by side, and every change stands once", () => {
  const before = { name: "old", tags: ["a", "b"], gone: 1, same: true };
  const after = { name: "new", tags: ["b", "c"], same: true, fresh: { deep: null } };
  const found = diffValues(before, after);
  const pairs = pairDifferences(found);
  assert.deepEqual(
    pairs.map(({ gone, come }) => [gone?.path ?? null, gone?.value ?? null, come?.path ?? null, come?.value ?? null]),
    [
      ["name", "old", "name", "new"],
      ["tags[]", "a", null, null],
      [null, null, "tags[]", "c"],
      ["gone", 1, null, null],
      [null, null, "fresh.deep", null],
    ],
  );
  const shown = pairs.flatMap(({ gone, come }) => [gone, come]).filter((one) => one !== null);
  assert.deepEqual(
    shown,
    found.filter(({ sign }) => sign !== " "),
  );
});
