import assert from "node:assert/strict";
import fs, { mkdtempSync, rmSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder } from "./make-folder.ts";

test("a folder that somebody else makes at the same time is taken like one that was there", (t) => {
  const above = join(mkdtempSync(join(tmpdir(), "gw-folder-")), "above");
  const own = fs.mkdirSync as (path: string, options?: object) => undefined;
  const besideOther = (path: string, options?: object): undefined => {
    own(path, options);
    if (path === above) own(join(above, "wanted"), { mode: 0o700 });
  };
  t.mock.method(fs, "mkdirSync", besideOther as typeof fs.mkdirSync);
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
    rmSync(join(above, ".."), { recursive: true });
  });
  makeFolder(join(above, "wanted"));
  assert.ok(statSync(join(above, "wanted")).isDirectory());
});
