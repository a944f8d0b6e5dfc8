import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { asUser, codeOf, demoPack, Home, makeFolder, openPlane } from "./support/home.ts";
import { killedAt } from "./support/kill.ts";
import { startProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";
import { whole } from "./support/whole.ts";

test(
  "a removed operator decides nothing on the running gateway, which locks until it has the new service key",
  asUser,
  async () => {
    const provider = await startProvider();
    const home = await new Home(makeFolder()).init();
    const theirs = join(dirname(home.folder), "bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", theirs]);
    await home.addCredential("demo-token", provider.origin, ["--operator", "ada"]);
    const file = join(dirname(home.folder), "demo.yaml");
    writeFileSync(file, demoPack(provider.origin));
    assert.equal((await home.run(["pack", "add", file])).code, 0);
    await home.must(["pack", "trust", "demo", "--operator", "ada"]);
    const gateway = await home.upByHand(["--operator", "ada"]);
    const agent = openPlane(home.agentSocket);
    try {
      const bob = (args: readonly string[]) => home.run([...args, "--operator", "bob", "--passphrase-file", theirs]);
      assert.equal((await bob(["approvals"])).code, 0, "he is an operator");
      await home.must(["operator", "remove", "bob", "--operator", "ada"]);
      assert.equal((await home.status())["locked"], true);
      const unlocked = await bob(["unlock"]);
      assert.deepEqual([unlocked.code === 0, codeOf(unlocked)], [false, "operator_unknown"]);
      await home.must(["unlock", "--operator", "ada"]);
      assert.equal((await home.status())["locked"], false);
      const asked = await agent.ask("POST", "/v1/runs", { purpose: "to see", actions: ["demo.thing.get"], budget: {} });
      const id = idIn(asked, "approval_id");
      assert.notEqual((await bob(["approve", id])).code, 0);
      assert.equal(Number((await home.status())["approvals_pending"]), 1);
      await home.approve(id, ["--operator", "ada"]);
      const [locked] = (await home.events("gateway_locked")).filter(
        (event) => event["reason"] === "service_key_replaced",
      );
      assert.ok(locked !== undefined, "the log says why");
    } finally {
      agent.close();
      await gateway.end();
      await provider.close();
    }
  },
);

test(
  "an admission that is killed before any of its changes leaves no reader of the log who is nobody",
  asUser,
  async () => {
    const made = await new Home(makeFolder()).init();
    const theirs = join(dirname(made.folder), "bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    const readers = (home: Home): number =>
      JSON.parse(readFileSync(join(home.folder, "policy.json"), "utf8")).audit_recipients.length;
    const words = ["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", theirs];
    let halves = 0;
    for (let at = whole ? 1 : 6, code: number | null = null; code !== 0; at++) {
      const home = made.copy();
      ({ code } = await killedAt(at, home.folder, home, words));
      if (!readFileSync(join(home.folder, "vault.json"), "utf8").includes('"bob"')) {
        if (readers(home) === 2) halves++;
        await home.must(words);
      }
      assert.equal(readers(home), 2, `killed at ${at}`);
      await home.must(["operator", "remove", "bob", "--operator", "ada"]);
      assert.equal(readers(home), 1, `killed at ${at}`);
    }
    assert.ok(halves > 0, "one was cut short between policy and vault");
  },
);
