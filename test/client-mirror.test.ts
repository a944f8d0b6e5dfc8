import assert from "node:assert/strict";
import fs, { readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request as ask, createServer } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { after, before, describe, test } from "node:test";
import { systemRandom, systemSleep } from "../src/adapters/platform/system.ts";
import { refreshMirror } from "../src/surfaces/client/mirror.ts";
import { asUser, type Gateway, Home, makeFolder, openPlane, start } from "./support/home.ts";
import { answerChallenge, operatorOf } from "./support/operator-key.ts";

const SOURCES = join(import.meta.dirname, "..", "src");

describe("an operator's copy of a log", asUser, () => {
  let home: Home;
  let gateway: Gateway;
  let made = 0;

  before(async () => {
    home = await new Home(makeFolder()).init();
    gateway = await home.up();
  });

  after(() => gateway?.end());

  test("has every byte in its place, also where a disk takes a part of what it is given", async (t) => {
    const name = join("audit", "0000000001.gwlog");
    const served = writtenIn(join(home.folder, name));
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
    await refreshMirror({ path: home.operatorSocket, requireServer: () => undefined }, copy, systemRandom, systemSleep);
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
      const late = refreshMirror({ path: place, requireServer: () => undefined }, copy, systemRandom, systemSleep);
      await asked.promise;
      await home.must(["lock"]);
      await home.must(["unlock"]);
      const served = writtenIn(join(home.folder, name));
      await refreshMirror(
        { path: home.operatorSocket, requireServer: () => undefined },
        copy,
        systemRandom,
        systemSleep,
      );
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
      const { systemRandom, systemSleep } = await import(${JSON.stringify(join(SOURCES, "adapters/platform/system.ts"))});
      const door = { path: ${JSON.stringify(home.operatorSocket)}, requireServer: () => undefined };
      for (let time = 0; time < 8; time++) await refreshMirror(door, ${JSON.stringify(copy)}, systemRandom, systemSleep);`;
    const command = [process.execPath, "--input-type=module", "--eval", program];
    const done = await Promise.all([1, 2, 3].map(() => start(command).exited));
    for (const { code, err } of done) assert.equal(code, 0, err);
  });

  test("is not older for a command that heard of it before another one brought it forward, and nobody is accused", async () => {
    for (const change of changes()) {
      const copy = join(makeFolder(), "copy");
      const asked = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      let times = 0;
      const slow = await through(async (answer) => {
        if (++times > 1) return answer;
        asked.resolve();
        await released.promise;
        return answer;
      });
      try {
        const late = refreshMirror(slow.door, copy, systemRandom, systemSleep);
        await asked.promise;
        await change();
        await refreshMirror(direct(), copy, systemRandom, systemSleep);
        released.resolve();
        await late;
        assert.equal(times, 2, "it asked again");
        assert.deepEqual(filesOf(copy), filesOf(home.folder));
      } finally {
        released.resolve();
        slow.close();
      }
    }
  });

  test("waits for a change that stands in it and is on its way to the gateway", async () => {
    for (const change of changes()) {
      const copy = join(makeFolder(), "copy");
      let sent: Buffer | undefined;
      // The gateway serves what it had before, until the change has reached it.
      const behind = await through(async (answer) => sent ?? answer);
      try {
        const before = await answerOf("/v1/home");
        await change();
        await refreshMirror(direct(), copy, systemRandom, systemSleep);
        sent = before;
        let slept = 0;
        const sleep = async () => {
          if (++slept === 3) sent = undefined;
        };
        await refreshMirror(behind.door, copy, systemRandom, { sleep });
        assert.equal(slept, 3);
        assert.deepEqual(filesOf(copy), filesOf(home.folder));
      } finally {
        behind.close();
      }
    }
  });

  test("a gateway that shows an older vault each time it is asked is refused, and the copy stays", async () => {
    const copy = join(makeFolder(), "copy");
    const before = await answerOf("/v1/home");
    await changes()[0]?.();
    await refreshMirror(direct(), copy, systemRandom, systemSleep);
    const held = filesOf(copy);
    const old = await through(async () => before);
    let slept = 0;
    const sleep = async () => void slept++;
    try {
      await assert.rejects(refreshMirror(old.door, copy, systemRandom, { sleep }), { code: "vault_rolled_back" });
      assert.ok(slept > 1 && slept < 100, `${slept}`);
      assert.deepEqual(filesOf(copy), held);
    } finally {
      old.close();
    }
  });

  test("what a command that was cut off left of a policy gives way, and what commands remember says whether it was in force", async () => {
    const copy = join(makeFolder(), "copy");
    const before = await answerOf("/v1/home");
    await changes()[1]?.();
    await refreshMirror(direct(), copy, systemRandom, systemSleep);
    const old = await through(async () => before);
    try {
      await refreshMirror(old.door, copy, systemRandom, { sleep: async () => undefined });
      const { policy } = JSON.parse(String(before)) as { readonly policy: string };
      assert.equal(filesOf(copy)[1], policy);
    } finally {
      old.close();
    }
  });

  test("a change that another one overtook is not taken by the gateway, which accuses nobody of it", async () => {
    const { vault } = JSON.parse(String(await answerOf("/v1/home"))) as { readonly vault: string };
    for (const change of [changes()[0], changes()[0]]) {
      await change?.();
      const plane = openPlane(home.operatorSocket);
      const { operator } = await operatorOf(home);
      try {
        const { body } = await plane.ask("POST", "/v1/login/challenge");
        const login = await answerChallenge(plane, operator, String(body["challenge"]));
        const authorization = `Bearer ${String(login.body["token"])}`;
        const held = filesOf(home.folder);
        const refused = await plane.ask("POST", "/v1/home", { vault }, { authorization });
        assert.equal(refused.body["code"], "vault_busy", JSON.stringify(refused.body));
        assert.deepEqual(filesOf(home.folder), held);
      } finally {
        operator.wipe();
        plane.close();
      }
    }
  });

  /** One that makes another vault, and one that makes another policy alone. */
  function changes(): readonly (() => Promise<unknown>)[] {
    return [
      () => home.addCredential(`token-${made++}`, "https://api.example"),
      () => home.must(["policy", "set", "callbacks", made++ % 2 === 0 ? "loopback" : "off"]),
    ];
  }

  /** Without the zeros that are set aside behind it: a seal that comes a second later stands in their place. */
  function writtenIn(path: string): Buffer {
    const bytes = readFileSync(path);
    return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
  }

  const direct = () => ({ path: home.operatorSocket, requireServer: () => undefined });
  const filesOf = (folder: string) =>
    ["vault.json", "policy.json"].map((name) => readFileSync(join(folder, name), "utf8"));

  async function answerOf(path: string): Promise<Buffer> {
    const answer = Promise.withResolvers<Buffer>();
    ask({ socketPath: home.operatorSocket, path }, (response) => answer.resolve(buffer(response))).end();
    return await answer.promise;
  }

  /** A way to the gateway on which what it says of its home can be kept back, or be what it said before. */
  async function through(alter: (answer: Buffer) => Promise<Buffer>, about = "/v1/home") {
    const server = createServer((request, response) => {
      const { method, url: path } = request;
      const { connection: _, ...headers } = request.headers;
      const onward = ask({ socketPath: home.operatorSocket, method, path, headers }, async (answer) => {
        const whole = await buffer(answer);
        const body = path === about ? await alter(whole) : whole;
        const { "content-length": _length, ...others } = answer.headers;
        response.writeHead(answer.statusCode ?? 0, others).end(body);
      });
      request.pipe(onward);
    });
    const path = join(makeFolder(), "way.sock");
    await new Promise<void>((resolve) => server.listen(path, resolve));
    return { door: { path, requireServer: () => undefined }, close: () => server.close() };
  }

  test("is brought up to date while the log's files are moved to an archive", async () => {
    const copy = join(makeFolder(), "copy");
    const folder = join(home.folder, "audit");
    const [listed, found] = ["0000000000.gwlog", "0000000000.gwlog.seed"].map((name) => join(folder, name)) as [
      string,
      string,
    ];
    writeFileSync(listed, "moved");
    // As one that is gone between the folder's list and the look at it.
    symlinkSync("moved", found);
    const moving = await through(async (answer) => {
      rmSync(listed, { force: true });
      return answer;
    }, "/v1/log/files");
    try {
      await refreshMirror(moving.door, copy, systemRandom, systemSleep);
      assert.ok(!readdirSync(join(copy, "audit")).some((name) => name.startsWith("0000000000")));
      assert.ok(readFileSync(join(copy, "audit", "0000000001.gwlog")).length > 0);
    } finally {
      moving.close();
      rmSync(found);
    }
  });

  test("holds after an archive took away what it had in part, also while it was on its way", async () => {
    const twin = home.copy();
    const served = await twin.up();
    const copy = join(makeFolder(), "copy");
    const door = { path: twin.operatorSocket, requireServer: () => undefined };
    // All but the last two go: what was the last one when the copy was made is the last that goes.
    const archive = async (): Promise<void> => {
      for (const word of ["loopback", "off"]) await twin.must(["policy", "set", "callbacks", word]);
      await twin.must(["audit", "archive", join(makeFolder(), "archive"), "--keep-megabytes", "0"]);
    };
    const check = async (folder: string): Promise<unknown> =>
      JSON.parse((await twin.run(["audit", "verify", "--json", "--log", join(folder, "audit")])).out).verdict;
    const late = join(makeFolder(), "late");
    let archived: Promise<void> | undefined;
    const front = createServer(async (request, response) => {
      const { method, url: path, headers } = request;
      const body = await buffer(request);
      if (path?.endsWith("/read") === true) {
        archived ??= archive();
        await archived;
      }
      ask({ socketPath: twin.operatorSocket, method, path, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 0, answer.headers);
        answer.pipe(response);
      }).end(body);
    });
    const place = join(makeFolder(), "front.sock");
    await new Promise<void>((resolve) => front.listen(place, resolve));
    try {
      await refreshMirror(door, copy, systemRandom, systemSleep);
      assert.equal(await check(copy), "intact");
      await refreshMirror({ path: place, requireServer: () => undefined }, late, systemRandom, systemSleep);
      await refreshMirror(door, copy, systemRandom, systemSleep);
      assert.deepEqual([await check(copy), await check(late)], ["intact", "intact"]);
    } finally {
      front.close();
      await served.end("SIGTERM");
    }
  });

  test("has the cut that is in force, whether it grew or shrank", async () => {
    const copy = join(makeFolder(), "copy");
    const name = join("audit", "cut.gwcut");
    for (const cut of ["one\n", "a longer one\n", "a shorter\n", "another!!\n"]) {
      writeFileSync(join(home.folder, name), cut);
      await refreshMirror(
        { path: home.operatorSocket, requireServer: () => undefined },
        copy,
        systemRandom,
        systemSleep,
      );
      assert.equal(readFileSync(join(copy, name), "utf8"), cut);
    }
    rmSync(join(home.folder, name));
  });
});
