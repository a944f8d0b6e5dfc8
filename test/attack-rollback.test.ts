import assert from "node:assert/strict";
import { chmodSync, cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import { systemRandom } from "../src/adapters/platform/system.ts";
import { writeKeyFile } from "../src/vault/files/key-file.ts";
import { asUser, call, codeOf, demoPack, Home, makeFolder, openPlane, openRun, until } from "./support/home.ts";
import { answerChallenge, operatorOf } from "./support/operator-key.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

describe("what was once in force does not come back behind our back", { ...asUser, concurrency: 2 }, () => {
  let home: Home;
  let provider: TestProvider;
  /** A copy in which a run has spent, killed; its state before the run, and the row of the run before its last call. */
  let spent: Home;
  let row: { readonly run: string; readonly state: string; readonly sealed: Uint8Array };
  const old: Record<string, Buffer> = {};

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    await home.must(["policy", "set", "headless_unlock", "on"]);
    await home.must(["policy", "set", "callbacks", "loopback"]);
    for (const name of ["vault.json", "policy.json"]) old[name] = readFileSync(join(home.folder, name));
    await home.must(["policy", "set", "callbacks", "off"]);
    await home.must(["credential", "disable", "demo-token"]);
    await home.must(["credential", "enable", "demo-token"]);
    await (await home.up()).end("SIGTERM");
    spent = home.copy();
    cpSync(join(spent.folder, "state.db"), join(spent.folder, "state.old"));
    const gateway = await spent.up();
    const agent = openPlane(spent.agentSocket);
    const run = await openRun(spent, agent, ["demo.thing.make"], { attempts: 5 });
    assert.equal((await call(agent, run, "demo.thing.make", { name: "one" })).body["outcome"], "success");
    const file = new DatabaseSync(join(spent.folder, "state.db"));
    const { state, sealed } = file.prepare("select state, sealed from runs where id = ?").get(run) ?? {};
    row = { run, state: String(state), sealed: sealed as Uint8Array };
    assert.equal((await call(agent, run, "demo.thing.make", { name: "two" })).body["outcome"], "success");
    agent.close();
    await gateway.end("SIGKILL");
    file.close();
  });

  after(async () => {
    await provider?.close();
  });

  /** A copy with what the operator's client remembers, outside the home, of having seen it. */
  function remembered(): Home {
    const twin = home.copy();
    cpSync(`${home.folder}-state`, `${twin.folder}-state`, { recursive: true });
    return twin;
  }

  function putBack(twin: Home, ...names: readonly string[]): void {
    for (const name of names) writeFileSync(join(twin.folder, name), old[name] ?? "");
  }

  test("an old signed policy does not return behind a damaged one", async () => {
    const twin = home.copy();
    const gateway = await twin.up();
    try {
      putBack(twin, "policy.json");
      assert.equal((await reload(twin)).body["code"], "policy_rolled_back");
      writeFileSync(join(twin.folder, "policy.json"), "{}");
      await reload(twin);
      assert.equal((await twin.status())["locked"], true);
      putBack(twin, "policy.json");
      await reload(twin);
      const unlocked = await twin.operator(["unlock"]);
      assert.deepEqual([unlocked.code, codeOf(unlocked)], [1, "policy_rolled_back"]);
      const { locked, lowered } = await twin.status();
      assert.equal(locked, true);
      assert.deepEqual(lowered, [], "what was lowered long ago is not in force");
    } finally {
      await gateway.end("SIGTERM");
    }
  });

  test("with a key file, old files stay out although the note about newer ones was deleted", async () => {
    for (const names of [["policy.json"], ["policy.json", "vault.json"]]) {
      const twin = home.copy();
      const key = await keyFileOf(twin);
      putBack(twin, ...names);
      edit(twin, "delete from notes where id = 'trust'");
      const gateway = twin.start(["up", "--key-file", key]);
      try {
        await staysLocked(twin, gateway);
      } finally {
        await gateway.end("SIGTERM");
      }
    }
  });

  test("a log without the note of the state that it saw refuses, with nothing else put back", async () => {
    const twin = home.copy();
    const key = await keyFileOf(twin);
    for (const name of ["state.db", "state.db-wal", "state.db-shm"]) rmSync(join(twin.folder, name), { force: true });
    const gateway = twin.start(["up", "--key-file", key]);
    try {
      await staysLocked(twin, gateway);
      assert.match(gateway.err(), /state_rolled_back/);
    } finally {
      await gateway.end("SIGTERM");
    }
  });

  test("a key file opens a gateway that nobody ever unlocked, however often it was started, while its log shows that", async () => {
    const fresh = await new Home(makeFolder()).init();
    await fresh.must(["policy", "set", "headless_unlock", "on"]);
    for (const signal of ["SIGTERM", "SIGKILL", "SIGTERM"] as const) await (await fresh.up(["--locked"])).end(signal);
    const cut = fresh.copy();
    const gateway = await fresh.up(["--key-file", await keyFileOf(fresh)]);
    assert.equal((await fresh.status())["locked"], false, gateway.err());
    await gateway.end("SIGTERM");
    // Where its beginning is gone it shows nothing, and a person has to look.
    rmSync(join(cut.folder, "audit", segments(cut)[0] ?? ""));
    const held = cut.start(["up", "--key-file", await keyFileOf(cut)]);
    try {
      await staysLocked(cut, held);
      assert.match(held.err(), /state_rolled_back: [^.]*state\.db holds no note .*: gw unlock --first/);
      await cut.must(["unlock", "--first"]);
      assert.equal((await cut.status())["locked"], false);
    } finally {
      await held.end("SIGTERM");
    }
  });

  test("an operator's next change does not sign an older policy anew", async () => {
    const twin = home.copy();
    const before = readFileSync(join(twin.folder, "policy.json"));
    const pack = readFileSync(join(twin.folder, "packs", "demo.yaml"));
    const gateway = await twin.up();
    try {
      await twin.must(["pack", "remove", "demo"]);
      writeFileSync(join(twin.folder, "policy.json"), before);
      writeFileSync(join(twin.folder, "packs", "demo.yaml"), pack);
      for (const word of ["off", "on"]) {
        const changed = await twin.operator(["policy", "set", "headless_unlock", word]);
        assert.deepEqual([changed.code, codeOf(changed)], [1, "policy_rolled_back"]);
      }
      assert.deepEqual(readFileSync(join(twin.folder, "policy.json")), before, "nothing was signed");
      assert.deepEqual((await twin.status())["packs"], []);
    } finally {
      await gateway.end("SIGTERM");
    }
  });

  test("a state that was put back is found at the next start: no budget is given back", async () => {
    const twin = spent.copy();
    for (const name of ["state.db-wal", "state.db-shm"]) rmSync(join(twin.folder, name), { force: true });
    cpSync(join(twin.folder, "state.old"), join(twin.folder, "state.db"));
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "state_rolled_back"], refused.err);
  });

  test("one row that was put back is found at the next start", async () => {
    const twin = spent.copy();
    const file = new DatabaseSync(join(twin.folder, "state.db"));
    const put = file.prepare("update runs set state = ?, sealed = ? where id = ?");
    assert.equal(put.run(row.state, row.sealed, row.run).changes, 1);
    file.close();
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "state_tampered"], refused.err);
  });

  test("a whole home that was put back gets no key from an operator who saw it newer, and can still be locked", async () => {
    const twin = remembered();
    const yesterday = join(makeFolder(), "yesterday");
    cpSync(twin.folder, yesterday, { recursive: true, filter: (from) => !from.endsWith(".sock") });
    const today = await twin.up();
    await twin.must(["policy", "set", "callbacks", "loopback"]);
    await today.end("SIGTERM");
    rmSync(twin.folder, { recursive: true });
    cpSync(yesterday, twin.folder, { recursive: true });
    chmodSync(twin.folder, 0o700);
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "policy_rolled_back"], refused.err);
    const locked = await twin.up(["--locked"]);
    try {
      const unlocked = await twin.operator(["unlock"]);
      assert.deepEqual([unlocked.code, codeOf(unlocked)], [1, "policy_rolled_back"]);
      assert.equal((await twin.operator(["lock"])).code, 0);
    } finally {
      await locked.end("SIGTERM");
    }
  });

  test("a log that ends before the head that an operator saw gets no key either", async () => {
    const twin = remembered();
    const earlier = join(makeFolder(), "earlier");
    for (const name of ["audit", "state.db"]) cpSync(join(twin.folder, name), join(earlier, name), { recursive: true });
    await (await twin.up()).end("SIGTERM");
    for (const name of ["audit", "state.db"]) {
      rmSync(join(twin.folder, name), { recursive: true });
      cpSync(join(earlier, name), join(twin.folder, name), { recursive: true });
    }
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "log_rolled_back"], refused.err);
  });

  test("a command checks what is new in the log, and all of it once a day", async () => {
    const twin = remembered();
    const gateway = await twin.up();
    try {
      const first = join(twin.folder, "audit", segments(twin)[0] ?? "");
      const last = join(twin.folder, "audit", segments(twin).at(-1) ?? "");
      const whole = readFileSync(first);
      const changed = Buffer.from(whole);
      changed[whole.length - 1] = (changed[whole.length - 1] ?? 0) ^ 1;
      writeFileSync(first, changed);
      assert.equal((await twin.run(["audit", "verify"])).code, 1);
      assert.doesNotMatch(
        (await twin.must(["approvals"])).err,
        /does not hold/,
        "what was checked before is not checked again",
      );
      const [memory = ""] = readdirSync(`${twin.folder}-state/gw`).filter((name) => name.endsWith(".seen.json"));
      const path = join(`${twin.folder}-state/gw`, memory);
      const seen = readFileSync(path, "utf8");
      assert.match(seen, /"wholeAtMs":\d+/);
      writeFileSync(path, seen.replace(/"wholeAtMs":\d+/, `"wholeAtMs":${Date.now() - 25 * 3_600_000}`));
      assert.match((await twin.must(["approvals"])).err, /the log does not hold \(frame_link/);
      writeFileSync(first, whole);
      const sealed = /"sealed":\{"frame":\d+,"link":"[0-9a-f]{64}"\}/;
      assert.match(seen, sealed);
      writeFileSync(path, seen.replace(sealed, `"sealed":{"frame":1,"link":"${"0".repeat(64)}"}`));
      assert.equal(codeOf(await twin.operator(["approvals"])), "log_rolled_back", "a seal that was seen is held to");
      writeFileSync(path, seen);
      const newest = readFileSync(last);
      const at = newest.lastIndexOf(0xff);
      writeFileSync(last, Buffer.concat([newest.subarray(0, at), Buffer.of(0xfe), newest.subarray(at + 1)]));
      assert.match((await twin.must(["approvals"])).err, /the log does not hold/);
    } finally {
      await gateway.end("SIGKILL");
    }
  });
});

function segments(home: Home): string[] {
  return readdirSync(join(home.folder, "audit"))
    .filter((name) => name.endsWith(".gwlog"))
    .sort();
}

/** Neither up and unlocked, nor up at all: what a key file alone starts must not work with old files. */
async function staysLocked(twin: Home, gateway: ReturnType<Home["start"]>): Promise<void> {
  const locked = await until(
    "it has said what it makes of the files",
    async () => {
      if (gateway.child.exitCode !== null) return gateway.child.exitCode === 0 ? "ended well" : "refused";
      if (!gateway.out().includes("Approve with")) return undefined;
      return (await twin.status())["locked"] === true ? "locked" : "unlocked";
    },
    120_000,
  );
  assert.ok(["locked", "refused"].includes(locked), `${locked}: ${gateway.out()}${gateway.err()}`);
}

function edit(twin: Home, statement: string): void {
  const file = new DatabaseSync(join(twin.folder, "state.db"));
  assert.equal(file.prepare(statement).run().changes, 1);
  file.close();
}

async function keyFileOf(twin: Home): Promise<string> {
  const { vault, operator } = await operatorOf(twin);
  const path = `${twin.folder}.key`;
  writeKeyFile(path, vault.vaultId, operator.serviceKey, systemRandom);
  return path;
}

/** As an operator, by hand: the files carry their own proof, or do not. */
async function reload(twin: Home) {
  const { operator } = await operatorOf(twin);
  const plane = openPlane(twin.operatorSocket);
  try {
    const { body } = await plane.ask("POST", "/v1/login/challenge");
    const login = await answerChallenge(plane, operator, String(body["challenge"]));
    return await plane.ask("POST", "/v1/reload", undefined, { authorization: `Bearer ${String(login.body["token"])}` });
  } finally {
    plane.close();
  }
}
