import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { bundleProgram } from "./support/bundle.ts";
import { asUser, Home, makeFolder, start, until } from "./support/home.ts";

const FLAGS = ["--disable-sigusr1", "--disable-warning=ExperimentalWarning"];

test(
  "while the log is full an operator is let in, a removed one's key is given up, and an unlock is told once there is room",
  asUser,
  async () => {
    const program = await bundleProgram(join(import.meta.dirname, "support", "crowded-gateway.ts"));
    const home = await new Home(makeFolder()).init();
    const theirs = join(dirname(home.folder), "bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", theirs]);
    const gateway = start([process.execPath, ...FLAGS, program, home.folder], { env: home.environment() });
    const crowded = `${home.folder}.crowded`;
    const isLocked = async (): Promise<unknown> => (await home.status())["locked"];
    try {
      await until("it serves", () => gateway.out().startsWith("ready "));
      await home.must(["unlock", "--first", "--operator", "ada"]);
      assert.equal(await isLocked(), false);

      writeFileSync(crowded, "");
      const removed = home.operator(["operator", "remove", "bob", "--operator", "ada"]);
      await until("it locks", async () => (await isLocked()) === true);
      rmSync(crowded);
      assert.equal((await removed).code, 0);
      const [replaced] = (await home.events("gateway_locked")).filter(
        ({ reason }) => reason === "service_key_replaced",
      );
      assert.ok(replaced !== undefined);

      writeFileSync(crowded, "");
      const unlocked = await home.operator(["unlock", "--operator", "ada"]);
      assert.deepEqual([unlocked.code, await isLocked()], [0, false], unlocked.err);
      rmSync(crowded);
      await until("it is told", async () => (await home.events("gateway_unlocked")).length === 2);
    } finally {
      await gateway.end();
    }
  },
);
