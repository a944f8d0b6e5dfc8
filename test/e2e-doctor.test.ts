import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { asUser, demoPack, Home, type Members, makeFolder } from "./support/home.ts";

const ORIGIN = "http://127.0.0.1:9";

test("gw doctor says what still keeps a call from working, each with the command that mends it", asUser, async () => {
  const home = await new Home(makeFolder()).init();
  assert.deepEqual(await told(home), [
    ["gateway", "warning", "gw up"],
    ["packs", "warning", "gw pack add FILE"],
    ["credentials", "ok", null],
    ["PIN", "warning", "gw operator pin"],
    ["backup", "warning", "gw backup FILE"],
    ["checkpoint", "warning", "gw audit checkpoint > FILE, kept elsewhere"],
    ["asked today", "ok", null],
  ]);

  const file = join(dirname(home.folder), "demo.yaml");
  writeFileSync(file, demoPack(ORIGIN));
  assert.equal((await home.run(["pack", "add", file])).code, 0);
  assert.deepEqual((await told(home))[1], ["packs", "warning", "gw pack trust demo"]);

  await home.must(["pack", "trust", "demo"]);
  const [, packs, credentials] = await told(home);
  assert.deepEqual(packs, ["packs", "ok", null]);
  assert.equal(credentials?.[1], "warning");
  assert.match(String(credentials?.[2]), /^gw credential add demo-token/);

  await home.addCredential("demo-token", ORIGIN);
  const gateway = await home.up();
  try {
    assert.deepEqual(
      (await told(home)).slice(0, 3).map(([, state]) => state),
      ["ok", "ok", "ok"],
    );
    await home.must(["lock"]);
    assert.deepEqual((await told(home))[0], [
      "gateway",
      "warning",
      "gw unlock, or gw unlock --first where it has just been started",
    ]);
  } finally {
    await gateway.end("SIGTERM");
  }
});

test(
  "gw doctor knows of the backup and the checkpoint that were made, and says what a person will be asked",
  asUser,
  async () => {
    const home = await new Home(makeFolder()).init();
    const detailOf = async (name: string): Promise<string> => {
      const rows = JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
      return String(rows.find((row) => row["name"] === name)?.["detail"]);
    };
    assert.match(await detailOf("asked today"), /^every session$/);
    await home.must(["backup", join(dirname(home.folder), "one.gwbackup")]);
    assert.deepEqual((await told(home))[4], ["backup", "ok", null]);
    const gateway = await home.up();
    try {
      await home.must(["audit", "checkpoint"]);
    } finally {
      await gateway.end("SIGTERM");
    }
    assert.deepEqual((await told(home))[5], ["checkpoint", "ok", null]);
    await home.addCredential("careful", ORIGIN, ["--each-use"]);
    assert.match(await detailOf("asked today"), /^every session; each use of careful$/);
  },
);

test("gw audit checkpoint signs for no older copy of the home's log than the operator saw", asUser, async () => {
  const home = await new Home(makeFolder()).init();
  await (await home.up()).end("SIGTERM");
  const old = join(makeFolder(), "audit");
  cpSync(join(home.folder, "audit"), old, { recursive: true });
  const checkpoint = ["audit", "checkpoint", "--json", "--log", old];
  assert.equal((await home.operator(checkpoint)).code, 0);
  await (await home.up()).end("SIGTERM");
  const behind = await home.operator(checkpoint);
  assert.equal(behind.code, 1, behind.err);
  assert.equal(JSON.parse(behind.out).firstBreach.code, "head_behind");
});

async function told(home: Home): Promise<readonly (readonly unknown[])[]> {
  const rows = JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
  const first = rows.findIndex(({ name }) => name === "gateway");
  return rows.slice(first).map(({ name, state, mend }) => [name, state, mend]);
}
