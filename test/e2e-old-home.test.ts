import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { renameSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  codeOf,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
} from "./support/home.ts";

/**
 * A home as the program of version 0.1 left it, byte by byte, killed in the middle of a write: a run, a read that succeeded, a
 * write and a job whose answers were lost, a plan, and a write on its way. Its provider was at a port where nobody listens now.
 */
const OLD = {
  run: "run_01m7hekeyhp94jpwreze1szz44",
  read: "call_01m7hekfj1zgp0nbt2481m3w7a",
  write: "op_01m7hekfkmbvn3hrf0mr93hsmv",
  job: "op_01m7hekfky1nd29n5zy1jymzw7",
};
const ACTIONS = ["acme.thing.post", "acme.report.create"];

describe("a home that version 0.1 wrote", asUser, () => {
  let home: Home;
  let gateway: Gateway;
  let agent: Plane;
  let run: string;

  before(async () => {
    const folder = makeFolder();
    execFileSync("tar", ["-xmzf", join(import.meta.dirname, "fixtures", "home-0.1.tgz"), "-C", folder]);
    renameSync(join(folder, "home-0.1"), join(folder, "home"));
    home = new Home(folder);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
  });

  test("gw version knows it for what it is, and a gateway of that version that still runs", async () => {
    const said = async () => JSON.parse((await home.run(["version", "--json"])).out) as Members;
    assert.doesNotMatch((await home.run(["version"])).out, /nothing written/);
    assert.equal((await said())["running"], null);
    // What it answers to GET /v1/status, word by word: less than the program of today can work with.
    const status = {
      ...{ version: "0.1.0-old", pid: 1, uid: 1, home: "/h", mode: "guard-rail", locked: false, stopped: null },
      ...{ trouble: null, lowered: [], vault_id: "v", vault_generation: 1, policy_version: 1, packs: [] },
      ...{ pack_troubles: [], approvals_pending: 0, sessions_live: 0 },
      log: { log_id: "8005bc05", segment: 1, frame: 9, link: "5189191b" },
    };
    const older = createServer((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(status));
    });
    older.listen(home.operatorSocket);
    await once(older, "listening");
    try {
      assert.equal(codeOf(await home.run(["status"])), "answer_not_declared");
      assert.equal((await said())["running"], "0.1.0-old", "which its answer said to ask for");
    } finally {
      older.close();
    }
  });

  test("its log verifies as it is, and opens with the program of today", async () => {
    const verified = await home.verify(["--allow-unattested"]);
    assert.equal(verified.code, 0, verified.out + verified.err);
    gateway = await home.up();
    agent = openPlane(home.agentSocket);
    run = await openRun(home, agent, ACTIONS, { side_effects: 10, attempts: 60 });
  });

  test("what it left open is open, and the same calls are answered with it and not sent", async () => {
    const listed = JSON.parse((await home.must(["operation", "list", "--json"])).out) as readonly Members[];
    const open = new Map(listed.map((one) => [String(one["operation_id"]), one]));
    assert.deepEqual([open.get(OLD.write)?.["state"], open.get(OLD.job)?.["run_id"]], ["create_unknown", OLD.run]);
    const repeats: readonly (readonly [string, Members])[] = [
      ["acme.thing.post", { name: "lost" }],
      ["acme.report.create", { account: "lost" }],
      ["acme.thing.post", { name: "hangs" }],
    ];
    const answers = await Promise.all(repeats.map(([action, input]) => call(agent, run, action, input)));
    assert.deepEqual(
      answers.map(({ status, body }) => [status, body["code"]]),
      repeats.map(() => [409, "outcome_unsettled"]),
    );
    assert.deepEqual(
      answers.slice(0, 2).map(({ body }) => body["operation_id"]),
      [OLD.write, OLD.job],
    );
    const sent = await call(agent, run, "acme.thing.post", { name: "another" });
    assert.equal(sent.body["outcome"], "error", "another call goes out, and meets nobody there");
  });

  test("its journals tell what was done, and its operations can be settled", async () => {
    const told = JSON.parse((await home.must(["activity", "show", OLD.read, "--json"])).out) as Members;
    const [attempt] = told["attempts"] as readonly Members[];
    assert.deepEqual(
      [attempt?.["action"], attempt?.["outcome"], attempt?.["status"]],
      ["acme.thing.get", "succeeded", 200],
    );
    const calls = (await home.activity(OLD.run)).map(({ action, outcome }) => `${action} ${outcome}`);
    const lost = ["acme.thing.post unknown", "acme.report.create unknown", "acme.thing.post unknown"];
    assert.deepEqual(calls.slice(0, 4), ["acme.thing.get succeeded", ...lost]);
    const why = ["--reason", "asked the provider", "--although", "nobody is there"];
    await home.must(["operation", "settle", OLD.write, "--happened", "no", ...why]);
    const again = await call(agent, run, "acme.thing.post", { name: "lost" });
    assert.equal(again.body["outcome"], "error", "it is free again");
    assert.equal((await home.verify()).code, 0);
  });
});
