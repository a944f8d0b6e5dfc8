import assert from "node:assert/strict";
import fs, { readFileSync, rmSync, writeFileSync } from "node:fs";
import { request as ask, createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { systemRandom } from "../src/adapters/platform/system.ts";
import { refreshMirror } from "../src/surfaces/client/mirror.ts";
import { asUser, type Gateway, Home, makeFolder, start } from "./support/home.ts";

const SOURCES = join(import.meta.dirname, "..", "src");

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

  test("keeps what came meanwhile, where a part of the log is on its way for long", async () => {
    const name = join("audit", "0000000001.gwlog");
    const copy = join(makeFolder(), "copy");
    const asked = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const slow = createServer((request, response) => {
      const { method, url: path, headers } = request;
      const onward = ask({ socketPath: home.operatorSocket, method, path, headers }, async (answer) => {
        const body = await buffer(answer);
        if (path?.endsWith("/read") === true) {
          asked.resolve();
          await released.promise;
        }
        response.writeHead(answer.statusCode ?? 0, answer.headers).end(body);
      });
      request.pipe(onward);
    });
    const place = join(makeFolder(), "slow.sock");
    await new Promise<void>((resolve) => slow.listen(place, resolve));
    try {
      const late = refreshMirror({ path: place, requireServer: () => undefined }, copy, systemRandom);
      await asked.promise;
      await home.must(["lock"]);
      await home.must(["unlock"]);
      const served = readFileSync(join(home.folder, name));
      await refreshMirror({ path: home.operatorSocket, requireServer: () => undefined }, copy, systemRandom);
      released.resolve();
      await late;
      assert.ok(readFileSync(join(copy, name)).subarray(0, served.length).equals(served));
    } finally {
      released.resolve();
      slow.close();
    }
  });

  test("is brought up to date by commands that an operator gives at the same time", async () => {
    const copy = join(makeFolder(), "copy");
    // A disk on which the last step of replacing a file takes its time.
    const program = `
      const { default: fs } = await import("node:fs");
      const rename = fs.renameSync;
      fs.renameSync = (...given) => (Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10), rename(...given));
      (await import("node:module")).syncBuiltinESMExports();
      const { refreshMirror } = await import(${JSON.stringify(join(SOURCES, "surfaces/client/mirror.ts"))});
      const { systemRandom } = await import(${JSON.stringify(join(SOURCES, "adapters/platform/system.ts"))});
      const door = { path: ${JSON.stringify(home.operatorSocket)}, requireServer: () => undefined };
      for (let time = 0; time < 8; time++) await refreshMirror(door, ${JSON.stringify(copy)}, systemRandom);`;
    const command = [process.execPath, "--input-type=module", "--eval", program];
    const done = await Promise.all([1, 2, 3].map(() => start(command).exited));
    for (const { code, err } of done) assert.equal(code, 0, err);
  });

  test("has the cut that is in force, whether it grew or shrank", async () => {
    const copy = join(makeFolder(), "copy");
    const name = join("audit", "cut.gwcut");
    for (const cut of ["one\n", "a longer one\n", "a shorter\n", "another!!\n"]) {
      writeFileSync(join(home.folder, name), cut);
      await refreshMirror({ path: home.operatorSocket, requireServer: () => undefined }, copy, systemRandom);
      assert.equal(readFileSync(join(copy, name), "utf8"), cut);
    }
    rmSync(join(home.folder, name));
  });
});
