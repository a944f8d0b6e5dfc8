import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { bundleProgram } from "./support/bundle.ts";
import { asUser, Home, makeFolder, openPlane, start, until } from "./support/home.ts";
import { answerChallenge, operatorOf } from "./support/operator-key.ts";

const FLAGS = ["--disable-sigusr1", "--disable-warning=ExperimentalWarning"];
const mayLimit = spawnSync("prlimit", ["--version"]).error === undefined;

describe("while the log is full", asUser, () => {
  let home: Home;
  let gateway: ReturnType<typeof start>;

  before(async () => {
    const program = await bundleProgram(join(import.meta.dirname, "support", "crowded-gateway.ts"));
    home = await new Home(makeFolder()).init();
    const theirs = join(dirname(home.folder), "bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    await home.must(["operator", "add", "bob", "--operator", "ada", "--new-passphrase-file", theirs]);
    gateway = start([process.execPath, ...FLAGS, program, home.folder], { env: home.environment() });
    await until("it serves", () => gateway.out().startsWith("ready "));
    await home.must(["unlock", "--first", "--operator", "ada"]);
    assert.equal(await isLocked(), false);
  });
  after(() => gateway?.end());

  const crowd = (): void => writeFileSync(`${home.folder}.crowded`, "");
  const makeRoom = (): void => rmSync(`${home.folder}.crowded`);
  const isLocked = async (): Promise<unknown> => (await home.status())["locked"];
  const asksForRun = async (): Promise<unknown> => {
    const agent = openPlane(home.agentSocket);
    try {
      return (await agent.ask("POST", "/v1/runs", { purpose: "x", actions: ["demo.thing.get"] })).body["code"];
    } finally {
      agent.close();
    }
  };

  test("an operator is let in, a removed one's key is given up, and an unlock is told once there is room", async () => {
    crowd();
    const removed = home.operator(["operator", "remove", "bob", "--operator", "ada"]);
    await until("it locks", async () => (await isLocked()) === true);
    makeRoom();
    assert.equal((await removed).code, 0);
    const [replaced] = (await home.events("gateway_locked")).filter(({ reason }) => reason === "service_key_replaced");
    assert.ok(replaced !== undefined);

    crowd();
    const unlocked = await home.operator(["unlock", "--operator", "ada"]);
    assert.deepEqual([unlocked.code, await isLocked()], [0, false], unlocked.err);
    makeRoom();
    await until("it is told", async () => (await home.events("gateway_unlocked")).length === 2);
  });

  test("what an agent is refused is counted, and told once there is room", async () => {
    crowd();
    const codes = [await asksForRun(), await asksForRun()];
    makeRoom();
    assert.equal(codes[0], codes[1]);
    const counted = async () => (await home.events("denials_counted")).filter(({ code }) => code === codes[0]);
    await until("it is told", async () => (await counted()).length > 0);
    assert.deepEqual(
      (await counted()).map(({ count }) => count),
      [2],
    );
  });

  test("what is refused of an operator, a key, a passphrase or a file says why, and is told once there is room", async () => {
    await home.must(["lock", "--operator", "ada"]);
    const { operator } = await operatorOf(home, "ada");
    const plane = openPlane(home.operatorSocket);
    const file = join(home.folder, "vault.json");
    const vault = readFileSync(file);
    crowd();
    try {
      const stranger = await answerChallenge(plane, operator, "made up");
      const { body } = await plane.ask("POST", "/v1/login/challenge");
      const login = await answerChallenge(plane, operator, String(body["challenge"]));
      const authorization = `Bearer ${login.body["token"]}`;
      const key = { service_key: Buffer.alloc(32, 1).toString("base64") };
      const unlocked = await plane.ask("POST", "/v1/unlock", key, { authorization });
      const wrong = await plane.ask("POST", "/v1/unlock/failed", { operator: "ada", failed_attempts: 3 });
      assert.deepEqual(
        [stranger.body["code"], unlocked.body["code"], wrong.status],
        ["signature_invalid", "service_key_wrong", 204],
      );
      writeFileSync(file, "{}");
      await until("it looks", async () => (await home.status())["files_refused"] !== null);
      assert.equal((await home.status())["files_refused"], "vault_malformed");
    } finally {
      writeFileSync(file, vault);
      plane.close();
      makeRoom();
    }
    const refusals = async () => await home.events("operator_refused", "unlock_failed", "vault_refused");
    await until("all is told", async () => (await refusals()).length === 4);
    assert.deepEqual(
      (await refusals()).map(({ event_type, code, reason, count }) => [event_type, code ?? reason, count ?? 1]),
      [
        ["operator_refused", "signature_invalid", 1],
        ["unlock_failed", "service_key_wrong", 1],
        ["unlock_failed", "passphrase_wrong (ada)", 3],
        ["vault_refused", "vault_malformed", 1],
      ],
    );
    await home.must(["unlock", "--operator", "ada"]);
  });

  test("a gateway that had stopped resumes, and that is told once there is room", {
    skip: mayLimit ? false : "prlimit is not installed",
  }, async () => {
    const [, pid] = gateway.out().split(" ");
    const limit = (fsize: string) => {
      const limited = spawnSync("prlimit", [`--pid=${pid}`, `--fsize=${fsize}:unlimited`]);
      assert.equal(limited.status, 0, String(limited.stderr));
    };
    limit("512");
    await until("it has stopped", async () => {
      await asksForRun();
      return (await home.status())["stopped"] !== null;
    });
    // Locked, it has nothing to end before it resumes.
    await home.operator(["lock", "--operator", "ada"]);
    assert.equal(await isLocked(), true);
    limit("unlimited");
    crowd();
    await home.must(["resume", "--operator", "ada"]);
    assert.equal((await home.status())["stopped"], null);
    assert.deepEqual(await home.events("gateway_resumed"), []);
    makeRoom();
    await until("it is told", async () => (await home.events("gateway_resumed")).length === 1);
    assert.equal((await home.verify()).code, 0);
  });

  test("a gateway that is ended while the log is full ends once there is room, and that is told", async () => {
    await home.must(["lock", "--operator", "ada"]);
    crowd();
    gateway.child.kill("SIGTERM");
    await until("its door is shut", () =>
      asksForRun().then(
        () => false,
        () => true,
      ),
    );
    // It answers after that turn, in which it was to tell of its end, or has ended without.
    await home.status().catch(() => undefined);
    makeRoom();
    assert.equal((await gateway.exited).code, 0);
    assert.equal((await home.events("gateway_stopped")).length, 1);
    assert.equal((await home.verify()).code, 0);
  });
});
