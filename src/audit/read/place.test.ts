import assert from "node:assert/strict";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { segmentName } from "../frame/layout.ts";
import { extentOf, fromNewest } from "./place.ts";

test("a segment that an archive takes away while the log is measured counts for nothing", () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    // Listed, and not there: as it is between the two looks.
    symlinkSync(join(folder, "gone"), join(folder, segmentName(1)));
    writeFileSync(join(folder, segmentName(2)), Buffer.alloc(30));
    writeFileSync(join(folder, segmentName(3)), Buffer.alloc(12));
    const { total, before } = extentOf(folder);
    assert.deepEqual([total, before({ segment: 3, offset: 2 })], [42, 32]);
    assert.equal(fromNewest(folder, 50), undefined);
    assert.deepEqual(fromNewest(folder, 20), { segment: 2, offset: 22 });
  } finally {
    rmSync(folder, { recursive: true });
  }
});
