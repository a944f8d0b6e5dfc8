import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  demoPack,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

describe("a file that was edited behind our back grants nothing", { ...asUser, concurrency: 2 }, () => {
  let home: Home;
  let provider: TestProvider;
  /** Vault and policy as they were before the last change an operator signed. */
  const old: Record<string, Buffer> = {};

  before(async () => {
    provider = await startProvider();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    for (const name of ["vault.json", "policy.json"]) old[name] = readFileSync(join(home.folder, name));
    await home.addCredential("other-token", "https://other.example");
    await home.trustPack("demo", demoPack(provider.origin));
    // One whole day, so that there is a state, a log and a remembered vault to be at odds with.
    const gateway = await home.up();
    const agent = openPlane(home.agentSocket);
    const run = await openRun(home, agent, ["demo.thing.make"]);
    assert.equal((await call(agent, run, "demo.thing.make", { name: "first" })).body["outcome"], "success");
    agent.close();
    // Killed, so that the run is still open in the state.
    await gateway.end("SIGKILL");
  });

  after(async () => {
    await provider?.close();
  });

  test("an untouched copy of the home starts: what follows fails by the edit alone", async () => {
    const gateway = await home.copy().up();
    assert.equal((await gateway.end("SIGTERM")).code, 0);
  });

  test("an edited policy fails its signature: the gateway stays locked and says so", async () => {
    const twin = home.copy();
    edit(twin, "policy.json", (text) => text.replace(/("headless_unlock":\s*)false/, "$1true"));
    await staysLocked(twin, "policy_tampered");
  });

  test("an old policy, although an operator signed it, is refused", async () => {
    const twin = home.copy();
    writeFileSync(join(twin.folder, "policy.json"), old["policy.json"] ?? "");
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "policy_rolled_back"]);
  });

  test("a policy that is edited while the gateway runs ends its sessions and locks it", async () => {
    const twin = home.copy();
    const gateway = await twin.up();
    const agent = openPlane(twin.agentSocket);
    try {
      const run = await openRun(twin, agent, ["demo.thing.get"]);
      edit(twin, "policy.json", (text) => text.replace('"demo"', '"dem0"'));
      await until("the gateway has looked at its files", async () => (await twin.status())["locked"] === true);
      const tried = await call(agent, run, "demo.thing.get", { id: "1" });
      assert.ok(tried.status >= 400, tried.text);
      assert.ok(
        ["gateway_locked", "action_not_permitted", "run_ended"].includes(String(tried.body["code"])),
        tried.text,
      );
    } finally {
      agent.close();
      await gateway.end();
    }
    assert.ok(!provider.received.some(({ url }) => url === "/v1/things/1"), "nothing was sent");
  });

  test("configuration cannot lower a protection", async () => {
    const twin = home.copy();
    writeFileSync(join(twin.folder, "config.yaml"), "format: gw.config/v1\nsession_approval: false\n", { mode: 0o600 });
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code === 0, /config_invalid/.test(refused.err)], [false, true], refused.err);
  });

  test("a pipe, a folder or a link in the place of the configuration is refused at once, by every command", async () => {
    const pipe = (path: string): void => assert.equal(spawnSync("mkfifo", [path]).status, 0);
    for (const plant of [pipe, (path: string) => mkdirSync(path), (path: string) => symlinkSync("/dev/zero", path)]) {
      const twin = home.copy();
      plant(join(twin.folder, "config.yaml"));
      assert.match((await twin.run(["status"])).err, /config_invalid/);
      if (plant !== pipe) continue;
      assert.match((await twin.run(["actions"])).err, /config_invalid/);
      assert.match((await twin.operator(["up"])).err, /config_invalid/);
    }
  });

  test("a pipe, a device or a folder that is named to a command is refused at once", async () => {
    const pipe = join(makeFolder(), "pipe");
    assert.equal(spawnSync("mkfifo", [pipe]).status, 0);
    const log = join(home.folder, "audit");
    for (const named of [pipe, "/dev/zero", dirname(pipe)]) {
      for (const [command, code] of [
        [["caller", "enroll", named, "--as", "it"], "not_found"],
        [["caller", "trust", "it", "--ima-key", named], "caller_signer_invalid"],
      ] as const) {
        const done = await home.operator(command);
        assert.deepEqual([done.code === 0, codeOf(done)], [false, code], `${command.join(" ")}: ${done.err}`);
      }
      assert.equal(codeOf(await home.run(["pack", "add", named])), "pack_malformed");
      const verified = await home.run(["audit", "verify", "--log", log, "--checkpoint", named]);
      assert.equal(verified.code, 2, verified.err);
      const asked = ["conformance", "http://127.0.0.1:1", "--token-file", named];
      assert.notEqual((await home.run(asked)).code, 0);
    }
  });

  test("an edited pack is not in force: the trusted one serves, and with that edited too its actions are denied like any unknown one", async () => {
    const twin = home.copy();
    const edit = (file: string): void => {
      writeFileSync(file, readFileSync(file, "utf8").replace("/v1/things/{id}", "/v1/secrets/{id}"));
    };
    const looking = async (look: (agent: Plane, trouble: string) => Promise<void>): Promise<void> => {
      const gateway = await twin.up();
      const agent = openPlane(twin.agentSocket);
      try {
        const troubles = (await twin.status())["pack_troubles"] as readonly Members[];
        await look(agent, troubles.map(({ file, why }) => `${file}: ${why}`).join());
      } finally {
        agent.close();
        await gateway.end();
      }
    };
    edit(join(twin.folder, "packs", "demo.yaml"));
    await looking(async (agent, trouble) => {
      assert.match((await agent.ask("GET", "/v1/actions")).text, /demo\.thing\.get/);
      assert.match(trouble, /^demo\.yaml: the new version waits, the old one serves/);
    });
    edit(join(twin.folder, "packs", "trusted", "demo.yaml"));
    await looking(async (agent, trouble) => {
      assert.equal((await agent.ask("GET", "/v1/actions")).text, "[]");
      const asked = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
      const unknown = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["no.such"] });
      assert.deepEqual([asked.status, asked.body["code"]], [403, "action_not_permitted"]);
      assert.equal(asked.body["message"], unknown.body["message"], "nobody learns which it was");
      assert.match(trouble, /^demo\.yaml: not trusted as it is/);
    });
  });

  test("an old vault is refused, and so is one with entries swapped", async () => {
    const rolled = home.copy();
    writeFileSync(join(rolled.folder, "vault.json"), old["vault.json"] ?? "");
    const refused = await rolled.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "vault_rolled_back"]);

    const swapped = home.copy();
    const sealed = /"sealed": "([^"]+)"/g;
    edit(swapped, "vault.json", (text) => {
      const [first = "", second = ""] = [...text.matchAll(sealed)].map(([, box = ""]) => box);
      return text.replace(first, "\0").replace(second, first).replace("\0", second);
    });
    assert.match((await swapped.operator(["up"])).err, /vault_tampered/);
  });

  test("a credential cannot be bound to another origin by editing the vault", async () => {
    const twin = home.copy();
    edit(twin, "vault.json", (text) => text.replace(provider.origin, "http://127.0.0.1:1"));
    const refused = await twin.operator(["up"]);
    assert.notEqual(refused.code, 0);
    assert.match(refused.err, /vault_tampered/);
  });

  test("another vault with its own operator is not this home's", async () => {
    const foreign = await new Home(makeFolder()).init();
    const twin = home.copy().carryFrom(foreign);
    const refused = await twin.operator(["up"]);
    assert.equal(refused.code, 1);
    assert.ok(
      ["vault_forked", "vault_rolled_back", "state_tampered", "store_foreign"].includes(codeOf(refused)),
      refused.err,
    );
  });

  test("an edited row of the state is reported, is never used, and never gives budget back", async (t) => {
    const twin = home.copy();
    const database = new DatabaseSync(join(twin.folder, "state.db"));
    const changed = database.prepare("UPDATE runs SET state = 'pending' WHERE state = 'open'").run();
    assert.equal(changed.changes, 1);
    database.close();
    const gateway = await twin.up();
    await gateway.end("SIGTERM");
    if (!(await twin.knows("audit"))) return t.skip("gw audit is not there yet: the rest held");
    const tables = (await twin.events("state_tampered")).map(({ table }) => table);
    assert.deepEqual(tables, ["runs"]);
  });

  test("an edited note about the last vault keeps the gateway locked", async () => {
    const twin = home.copy();
    const database = new DatabaseSync(join(twin.folder, "state.db"));
    assert.equal(database.prepare("UPDATE notes SET id = 'trusd' WHERE id = 'trust'").run().changes, 1);
    database.close();
    const refused = await twin.operator(["up"]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "state_tampered"]);
  });

  test("a home or a file that others may read is refused", async () => {
    const twin = home.copy();
    chmodSync(join(twin.folder, "vault.json"), 0o644);
    const refused = await twin.operator(["up"]);
    assert.equal(refused.code === 0, false);
    assert.match(refused.err, /file_permissions_open/);
    chmodSync(join(twin.folder, "vault.json"), 0o600);
    chmodSync(twin.folder, 0o755);
    assert.match((await twin.operator(["up"])).err, /file_permissions_open/);
  });
});

/** Started without unlocking it says what is wrong, denies, and cannot be unlocked. */
async function staysLocked(twin: Home, code: string): Promise<void> {
  const gateway = await twin.up();
  const agent = openPlane(twin.agentSocket);
  try {
    const status = await twin.run(["status", "--json"]);
    assert.equal(status.code, 1, "a health check sees trouble");
    assert.equal((JSON.parse(status.out) as { trouble: { code: string } }).trouble.code, code);
    const unlocked = await twin.operator(["unlock", "--first"]);
    assert.deepEqual([unlocked.code, codeOf(unlocked)], [1, code]);
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] });
    assert.deepEqual([asked.status, asked.body["code"]], [503, "gateway_locked"]);
  } finally {
    agent.close();
    await gateway.end("SIGTERM");
  }
}

function edit(home: Home, name: string, change: (text: string) => string): void {
  const path = join(home.folder, name);
  const text = readFileSync(path, "utf8");
  const changed = change(text);
  assert.notEqual(changed, text, `${name} was really edited`);
  writeFileSync(path, changed);
}
