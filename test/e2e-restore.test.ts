import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  type Exited,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  start,
  until,
} from "./support/home.ts";
import { killedAt, meanwhile } from "./support/kill.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { whole } from "./support/whole.ts";

const BOB = "another horse, another battery, another staple";

/** Every page but the first. */
function damage(state: string): void {
  const bytes = readFileSync(state);
  for (let page = 4_096; page < bytes.length; page += 4_096) bytes.fill(0xa5, page, page + 256);
  writeFileSync(state, bytes);
}

describe("a home is backed up while it runs and restored on purpose", { ...asUser, concurrency: 2 }, () => {
  let provider: TestProvider;
  let made: Home;

  before(async () => {
    provider = await startProvider();
    made = await new Home(makeFolder()).init();
    await made.addCredential("demo-token", provider.origin);
    await made.trustPack("demo", demoPack(provider.origin));
    // Its copies have a log and a state.
    await (await made.up()).end("SIGTERM");
  });

  after(async () => {
    await provider?.close();
  });

  async function admitBob(home: Home): Promise<string> {
    const file = join(dirname(home.folder), "bob");
    writeFileSync(file, `${BOB}\n`, { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", file]);
    return file;
  }

  /** Bob's own client, which remembers what bob saw. */
  function asBob(home: Home, file: string, args: readonly string[]): Promise<Exited> {
    const state = `${home.folder}-state-of-bob`;
    return home.run([...args, "--operator", "bob", "--passphrase-file", file], { state });
  }

  test("a backup that cannot be written is refused under its code and leaves nothing behind", async () => {
    const folder = makeFolder();
    const closed = join(folder, "closed");
    mkdirSync(closed, { mode: 0o500 });
    for (const file of [join(closed, "x"), join(folder, "missing", "x")]) {
      const refused = await made.copy().operator(["backup", file]);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "file_not_written"], refused.err);
    }
    assert.deepEqual(readdirSync(closed), []);
  });

  test("a backup holds one state of the home, whatever another command changes or moves away meanwhile", async () => {
    const grown = made.copy();
    for (const word of ["loopback", "off"]) {
      const gateway = await grown.up();
      await grown.must(["policy", "set", "callbacks", word]);
      await gateway.end("SIGTERM");
    }
    const others = [
      { file: "written", other: ["credential", "disable", "demo-token"] },
      { file: "read", other: ["audit", "archive", join(makeFolder(), "archive"), "--keep-megabytes", "0"] },
    ];
    for (const { file, other } of others)
      for (let at = 1, came = true; came; at += whole ? 1 : 2) {
        const home = grown.copy();
        const folder = makeFolder();
        const backup = join(folder, "home.gwbackup");
        const moment = { at, file: file === "written" ? folder : join(home.folder, "audit", "0000000002.gwlog") };
        const done = await meanwhile(moment, home, ["backup", backup], other);
        came = /^meanwhile: 0/m.test(done.err);
        assert.deepEqual([done.code, readdirSync(folder)], [0, ["home.gwbackup"]], `${other.join(" ")}: ${done.err}`);
        const drill = new Home(makeFolder());
        await drill.must(["restore", backup], { state: `${home.folder}-state` });
        assert.ok(came || at > 1, done.err);
      }
  });

  test("a restored copy works, the original goes on as if there were none, and neither is taken for the other", async () => {
    const home = made.copy();
    const gateway = await home.up();
    const agent = openPlane(home.agentSocket);
    const run = await openRun(home, agent, ["demo.thing.make"]);
    assert.equal((await call(agent, run, "demo.thing.make", { name: "before" })).body["outcome"], "success");
    const file = join(makeFolder(), "home.gwbackup");
    await home.must(["backup", file]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.ok(!readFileSync(file).includes("origin: http"), "what is inside is sealed");
    assert.equal((await call(agent, run, "demo.thing.make", { name: "after" })).body["outcome"], "success");
    agent.close();

    const drill = new Home(makeFolder());
    const sameOperator = { state: `${home.folder}-state` };
    const restored = await drill.must(["restore", file, "--json"], sameOperator);
    const told = JSON.parse(restored.out) as Members;
    assert.doesNotMatch(restored.err, /What was there before/, "a new folder held nothing");
    const strange = readdirSync(drill.folder).filter((name) => /^(before-restore-|unlock-attempts)/.test(name));
    assert.deepEqual(strange, [], "nor is a try that was open in the original a wrong passphrase of the copy");
    assert.ok(Number(told["generation"]) > Number(told["restored_generation"]), restored.out);
    const copy = drill.start(["up", "--passphrase-file", drill.passphraseFile], sameOperator);
    const copyAgent = openPlane(drill.agentSocket);
    try {
      await waitFor(copy);
      const again = await copyAgent.ask("POST", "/v1/runs", { purpose: "drill", actions: ["demo.thing.make"] });
      assert.equal(again.status, 202, again.text);
    } finally {
      copyAgent.close();
      await copy.end("SIGTERM");
    }
    // The operator's client has seen both; neither speaks for the other.
    for (const one of [home, drill]) {
      const approvals =
        one === home ? await home.must(["approvals"]) : await drill.must(["audit", "checkpoint"], sameOperator);
      assert.doesNotMatch(approvals.err, /WARNING/);
    }
    assert.equal((await gateway.end("SIGTERM")).code, 0);
    assert.equal((await home.verify()).code, 0);
    // Nor is what was seen of the drill told as what was seen here.
    const looked = await home.must(["restore", "--accept"]);
    const [, saw, has] = looked.out.split("\n");
    assert.equal(saw?.replace(/^You saw (.*) before\.$/, "$1"), has?.replace(/^It now has (.*)\.$/, "$1"));
    const [event] = await drill.events("home_restored");
    assert.equal(event?.["line"], told["line"]);

    // In the place of the original it is not taken for it, although the operator knows both.
    renameSync(home.folder, `${home.folder}.away`);
    renameSync(drill.folder, home.folder);
    const swapped = await home.operator(["policy", "set", "callbacks", "loopback"]);
    assert.deepEqual([swapped.code, codeOf(swapped)], [1, "vault_forked"], swapped.err);
  });

  test("nothing is signed or handed over by an operator who has not accepted a restoration", async () => {
    const home = made.copy();
    const bob = await admitBob(home);
    assert.equal((await asBob(home, bob, ["audit", "checkpoint"])).code, 0);
    const file = join(makeFolder(), "home.gwbackup");
    await home.must(["backup", file, "--operator", "ada"]);
    await home.must(["restore", file, "--operator", "ada"]);
    const gateway = await home.up(["--operator", "ada"]);
    try {
      for (const args of [["unlock"], ["approvals"], ["policy", "set", "callbacks", "loopback"]]) {
        const refused = await asBob(home, bob, args);
        assert.deepEqual([refused.code, codeOf(refused)], [1, "restore_unaccepted"], refused.err);
      }
      const accepted = await asBob(home, bob, ["restore", "--accept"]);
      assert.equal(accepted.code, 0, accepted.err);
      assert.equal((await asBob(home, bob, ["approvals"])).code, 0);
    } finally {
      await gateway.end("SIGTERM");
    }
  });

  test("a removed operator does not come back with an old state, whoever restores it", async () => {
    const home = made.copy();
    const bob = await admitBob(home);
    const file = join(makeFolder(), "home.gwbackup");
    assert.equal((await asBob(home, bob, ["backup", file])).code, 0);
    await home.must(["operator", "remove", "bob", "--operator", "ada"]);
    // Bob has the backup, his passphrase of then, and write access to the home.
    const restored = await asBob(home, bob, ["restore", file]);
    assert.equal(restored.code, 0, restored.err);
    const refused = await home.operator(["up", "--operator", "ada"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "restore_unaccepted"], refused.err);
    const accepted = await home.operator(["restore", "--accept", "--operator", "ada"]);
    assert.deepEqual([accepted.code, codeOf(accepted)], [1, "restore_refused"], accepted.err);
    const mended = JSON.parse((await home.must(["restore", file, "--operator", "ada", "--json"])).out) as Members;
    assert.deepEqual(mended["removed_again"], ["bob"]);
    const operators = JSON.parse((await home.run(["operator", "list", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      operators.map(({ operator }) => operator),
      ["ada"],
    );
    await (await home.up()).end("SIGTERM");
  });

  test("a policy that is lost for good is restored above what was seen, and the older one stays out", async () => {
    const home = made.copy();
    const file = join(makeFolder(), "home.gwbackup");
    await home.must(["backup", file]);
    const old = readFileSync(join(home.folder, "policy.json"));
    await home.must(["policy", "set", "callbacks", "loopback"]);
    await (await home.up()).end("SIGTERM");
    rmSync(join(home.folder, "policy.json"));
    const refused = await home.operator(["policy", "set", "callbacks", "off"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "policy_missing"], refused.err);
    const told = JSON.parse((await home.must(["restore", file, "--json"])).out) as Members;
    assert.ok(Number(told["policy_version"]) > Number(told["seen_policy_version"]), JSON.stringify(told));
    await (await home.up()).end("SIGTERM");
    assert.equal((await home.verify()).code, 0);
    writeFileSync(join(home.folder, "policy.json"), old);
    const again = await home.operator(["up"]);
    assert.deepEqual([again.code, codeOf(again)], [1, "policy_rolled_back"], again.err);
  });

  test("a state that is lost for good is refused, until an operator signs to go on without it", async () => {
    const home = made.copy();
    for (const end of ["", "-wal", "-shm"]) rmSync(join(home.folder, `state.db${end}`), { force: true });
    const refused = await home.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "state_rolled_back"], refused.err);
    await home.must(["restore", "--as-found"]);
    await (await home.up()).end("SIGTERM");
    assert.equal((await home.events("home_restored")).length, 1);
  });

  test("a restoration that is killed before any of its changes loses nothing, and can be made again", async () => {
    const home = made.copy();
    const file = join(makeFolder(), "home.gwbackup");
    await home.must(["backup", file]);
    await home.must(["policy", "set", "callbacks", "loopback"]);
    const ends: (number | null)[] = [];
    let halves = 0;
    // Of 34 changes, twelve in a row leave no vault behind.
    for (let at = 1; ends.at(-1) !== 0; at += whole ? 1 : 11) {
      const twin = home.copy();
      const killed = await killedAt(at, twin.folder, twin, ["restore", file]);
      ends.push(killed.code);
      if (!existsSync(join(twin.folder, "vault.json"))) {
        const started = await twin.run(["up", "--locked"]);
        assert.deepEqual([codeOf(started), /gw restore FILE/.test(started.err)], ["vault_missing", true], started.err);
        halves++;
      }
      await twin.must(["restore", file]);
      const verified = await twin.verify();
      assert.equal(verified.code, 0, `killed at ${at}: ${verified.out}${verified.err}`);
      const asides = readdirSync(twin.folder).filter((name) => name.startsWith("before-restore-"));
      const kept = asides.some((name) => existsSync(join(twin.folder, name, "vault.json")));
      assert.ok(kept, `killed at ${at}: what was there before is kept`);
      const halfMade = readdirSync(twin.folder).filter((name) => name.startsWith(".restore-"));
      assert.deepEqual(halfMade, [], `killed at ${at}: nothing is left of the one that was cut short`);
      assert.equal((await twin.events("home_restored")).length > 0, true);
    }
    assert.ok(halves > 0 && ends.slice(0, -1).every((code) => code === null), JSON.stringify(ends));
  });

  test("a folder to restore into that is a link, open to others, or holds other things is refused and left as it is", async () => {
    const file = join(makeFolder(), "home.gwbackup");
    await made.must(["backup", file]);
    const folder = makeFolder();
    const places = ["link", "open", "other"].map((name) => join(folder, name));
    const [link = "", open = "", other = ""] = places;
    mkdirSync(join(folder, "real"), { mode: 0o700 });
    symlinkSync(join(folder, "real"), link);
    mkdirSync(open);
    chmodSync(open, 0o755);
    mkdirSync(other, { mode: 0o700 });
    writeFileSync(join(other, "letter"), "precious");
    const codes = ["file_not_regular", "file_permissions_open", "restore_refused"];
    for (const [at, place] of places.entries()) {
      // Before a passphrase is typed for it.
      const words = ["restore", file, "--home", place];
      const refused = await start([GW, ...words], { env: made.environment() }).exited;
      assert.deepEqual([refused.code, codeOf(refused)], [1, codes[at]], refused.err);
    }
    assert.deepEqual([readdirSync(join(folder, "real")), readdirSync(open), readdirSync(other)], [[], [], ["letter"]]);
  });

  test("a backup that was changed or cut, or a home that runs, is left alone", async () => {
    const home = made.copy();
    const gateway = await home.up();
    const file = join(makeFolder(), "home.gwbackup");
    await home.must(["backup", file]);
    const running = await home.operator(["restore", file]);
    assert.deepEqual([running.code, codeOf(running)], [1, "log_in_use"], running.err);
    await gateway.end("SIGTERM");
    const bytes = readFileSync(file);
    const changed = Buffer.from(bytes);
    changed[bytes.length - 2_000] = (bytes[bytes.length - 2_000] ?? 0) ^ 1;
    for (const [name, content] of [["changed", changed] as const, ["cut", bytes.subarray(0, -100)] as const]) {
      const path = join(makeFolder(), name);
      writeFileSync(path, content, { mode: 0o600 });
      const refused = await home.operator(["restore", path]);
      assert.deepEqual([refused.code, codeOf(refused)], [1, "backup_malformed"], refused.err);
    }
    await (await home.up()).end("SIGTERM");
  });

  test("a state that is damaged while the gateway runs stops it, and status and doctor say what leads on", async () => {
    const home = made.copy();
    const gateway = await home.up();
    const state = join(home.folder, "state.db");
    assert.match((await home.run(["doctor"])).out, /^ok +state\.db /m);
    // From here on the gateway reads the file again instead of what it remembers of it.
    const other = new DatabaseSync(state);
    other.exec("create table stir (a); drop table stir; pragma wal_checkpoint(truncate)");
    other.close();
    damage(state);
    const agent = openPlane(home.agentSocket);
    try {
      const opened = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
      assert.deepEqual([opened.status, opened.body["code"]], [503, "gateway_stopped"], opened.text);
      assert.ok(!opened.text.includes(home.folder));
    } finally {
      agent.close();
    }
    const { out } = await home.run(["status"]);
    assert.match(out, /STOPPED .*state\.db is damaged.*gw restore FILE.*gw restore --as-found/);
    assert.doesNotMatch(out, /gw resume/);
    const examined = (await home.run(["doctor"])).out.replace(/\s+/g, " ");
    assert.match(examined, /MISSING gateway it has stopped sending mend: gw status/);
    assert.match(examined, /MISSING state\.db a page of it is damaged.* mend: .*gw restore FILE/);
    await gateway.end("SIGTERM");
    for (const end of ["", "-wal", "-shm"])
      if (existsSync(state + end)) renameSync(state + end, join(dirname(home.folder), `kept${end}`));
    await home.must(["restore", "--as-found"]);
    await (await home.up()).end("SIGTERM");
  });

  test("a state whose pages are damaged is named before anything is signed, and the way that is told leads on", async () => {
    const home = made.copy();
    const state = join(home.folder, "state.db");
    damage(state);
    const vault = readFileSync(join(home.folder, "vault.json"), "utf8");
    const refused = [await home.operator(["restore", "--as-found"]), await home.operator(["up"])];
    for (const { code, err } of refused) {
      assert.deepEqual(
        [code, /^[a-z_]+(?=: )/m.exec(err.replace(/^warning: .*\n/gm, ""))?.[0]],
        [1, "store_unreadable"],
        err,
      );
      assert.match(err, /move it and what lies beside it .* away .* gw restore --as-found/);
    }
    assert.equal(readFileSync(join(home.folder, "vault.json"), "utf8"), vault, "nothing was signed");
    renameSync(state, join(makeFolder(), "damaged.db"));
    await home.must(["restore", "--as-found"]);
    const gateway = await home.up();
    assert.equal((await home.status())["locked"], false);
    await gateway.end("SIGTERM");
    assert.equal((await home.verify()).code, 0);
  });
});

async function waitFor(gateway: ReturnType<Home["start"]>): Promise<void> {
  await until("the gateway is up", () => {
    if (gateway.child.exitCode !== null) assert.fail(`gw up ended: ${gateway.err()}`);
    return gateway.out().includes("Approve with");
  });
}
