import assert from "node:assert/strict";
import fs, { readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { systemRandom } from "../src/adapters/platform/system.ts";
import { refreshMirror } from "../src/surfaces/client/mirror.ts";
import { asUser, type Gateway, Home, makeFolder } from "./support/home.ts";

describe("an operator's copy of a log", asUser, () => {
  let home: Home;
  let gateway: Gateway;

  before(async () => {
    home = await new Home(makeFolder()).init();
    gateway = await home.up();
  });

  after(() => gateway?.end());

  test("has every byte in its place, also where a disk takes a part of what it is given", async (t) => {
    const name = join("audit", "0000000001.gwlog");
    const served = readFileSync(join(home.folder, name));
    const writeWhole = fs.writeSync as (...given: readonly unknown[]) => number;
    // As a disk does that has little room left, and has room again for the next.
    const writePart = (...[fd, bytes, offset, length, at]: readonly unknown[]): number =>
      Buffer.isBuffer(bytes) && typeof length === "number" && typeof at === "number" && length > 64
        ? writeWhole(fd, bytes, offset, Math.ceil(length / 3), at)
        : writeWhole(fd, bytes, offset, length, at);
    t.mock.method(fs, "writeSync", writePart as typeof fs.writeSync);
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
    const copy = join(makeFolder(), "copy");
    await refreshMirror({ path: home.operatorSocket, requireServer: () => undefined }, copy, systemRandom);
    const copied = readFileSync(join(copy, name));
    assert.ok(copied.subarray(0, served.length).equals(served), `${copied.length} of ${served.length} bytes`);
  });
});
