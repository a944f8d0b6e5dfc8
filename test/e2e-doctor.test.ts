import assert from "node:assert/strict";
import { cpSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { asUser, demoPack, Home, type Members, makeFolder } from "./support/home.ts";

const ORIGIN = "http://127.0.0.1:9";

test(
  "gw doctor says what still keeps a call from working, each with the command that mends it, and what is made",
  asUser,
  async () => {
    const home = await new Home(makeFolder()).init();
    const first = await examined(home);
    assert.deepEqual(told(first), [
      ["gateway", "warning", "gw up, or on a server: systemctl start gw"],
      ["packs", "warning", "gw pack add FILE"],
      ["credentials", "ok", null],
      ["PIN", "warning", "gw operator pin"],
      ["backup", "warning", "gw backup FILE"],
      ["checkpoint", "warning", "gw audit checkpoint > FILE, kept elsewhere"],
      ["asked today", "ok", null],
    ]);
    assert.equal(askedToday(first), "every session");

    const file = join(dirname(home.folder), "demo.yaml");
    writeFileSync(file, demoPack(ORIGIN));
    assert.equal((await home.run(["pack", "add", file])).code, 0);
    assert.deepEqual(told(await examined(home))[1], ["packs", "warning", "gw pack trust demo"]);

    await home.must(["pack", "trust", "demo"]);
    const [, packs, credentials] = told(await examined(home));
    assert.deepEqual(packs, ["packs", "ok", null]);
    assert.equal(credentials?.[1], "warning");
    assert.match(String(credentials?.[2]), /^gw credential add demo-token/);

    await home.addCredential("demo-token", ORIGIN);
    await home.must(["credential", "disable", "demo-token"]);
    const [, , disabled] = told(await examined(home));
    assert.deepEqual(disabled, ["credentials", "warning", "gw credential enable demo-token"]);
    await home.must(["credential", "enable", "demo-token"]);

    await home.must(["credential", "bind", "demo-token", "--origin", "http://127.0.0.1:10"]);
    const mend = `gw credential bind demo-token --origin ${ORIGIN}`;
    const [, , there, elsewhere] = told(await examined(home));
    assert.deepEqual([there?.[1], elsewhere], ["ok", ["credential", "warning", mend]]);
    const trusted = await home.must(["pack", "trust", "demo"]);
    assert.ok(trusted.out.includes(`Next: ${mend}`), trusted.out);
    await home.must(mend.split(" ").slice(1));
    assert.equal(told(await examined(home))[3]?.[0], "PIN");
    await home.must(["backup", join(dirname(home.folder), "one.gwbackup")]);
    const gateway = await home.up();
    try {
      await home.must(["audit", "checkpoint"]);
      const status = JSON.parse((await home.run(["status", "--json"])).out) as Members;
      const inForce = `policy    version ${status["policy_version"]}, vault generation ${status["vault_generation"]}`;
      assert.ok(
        (await home.run(["status"])).out.includes(`\n  ${inForce}\n`),
        "gw status says which policy is in force",
      );
      const up = told(await examined(home)).map(([name, state]) => [name, state]);
      assert.deepEqual(
        up.filter(([name]) => name !== "PIN"),
        ["gateway", "packs", "credentials", "backup", "checkpoint", "asked today"].map((name) => [name, "ok"]),
      );
      await home.addCredential("careful", ORIGIN, ["--each-use"]);
      await home.must(["lock"]);
      const locked = await examined(home);
      assert.deepEqual(told(locked)[0], [
        "gateway",
        "warning",
        "gw unlock, or gw unlock --first where it has just been started",
      ]);
      assert.equal(askedToday(locked), "every session; each use of careful; each call of demo.thing.burn");
    } finally {
      await gateway.end("SIGTERM");
    }

    // A checkpoint is signed for no older copy of the home's log than the operator saw.
    const old = join(makeFolder(), "audit");
    cpSync(join(home.folder, "audit"), old, { recursive: true });
    const checkpoint = ["audit", "checkpoint", "--json", "--log", old];
    assert.equal((await home.operator(checkpoint)).code, 0);
    await (await home.up()).end("SIGTERM");
    const behind = await home.operator(checkpoint);
    assert.equal(behind.code, 1, behind.err);
    assert.equal(JSON.parse(behind.out).firstBreach.code, "head_behind");
  },
);

async function examined(home: Home): Promise<readonly Members[]> {
  return JSON.parse((await home.run(["doctor", "--json"])).out) as readonly Members[];
}

function askedToday(rows: readonly Members[]): string {
  return String(rows.find(({ name }) => name === "asked today")?.["detail"]);
}

function told(rows: readonly Members[]): readonly (readonly unknown[])[] {
  const first = rows.findIndex(({ name }) => name === "gateway");
  return rows.slice(first).map(({ name, state, mend }) => [name, state, mend]);
}
