import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  SECRET,
  until,
} from "./support/home.ts";
import { listenForNotices, type Notified } from "./support/notified.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const HOSTILE = "x\n<0>forged\u001b[2J\u202e";

describe("machines are told how the gateway fares, and nothing of what was called", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let manager: Notified;

  before(async () => {
    provider = await startProvider();
    manager = listenForNotices();
    home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up([], ["env", `NOTIFY_SOCKET=${manager.name}`, "WATCHDOG_USEC=900000"]);
    agent = openPlane(home.agentSocket);
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
    manager?.close();
  });

  test("the service manager hears that it is ready, and goes on hearing from it", async () => {
    await until("it is ready", () => manager.lines().includes("READY=1"));
    // What `systemctl status` shows: a gateway that runs and refuses every call has to look different from one that serves.
    await until("it is unlocked", () => standings().at(-1) === "unlocked");
    assert.deepEqual(standings()[0], "locked since its start: waits for gw unlock --first");
    await until("three signs of life", () => manager.lines().filter((line) => line === "WATCHDOG=1").length >= 3);
  });

  test("the numbers follow calls by outcome, refusals by code, questions and their age", async () => {
    assert.deepEqual(
      [numberOf(await metrics(), 'gw_calls_total{outcome="succeeded"}'), numberOf(await metrics(), "gw_cards_waiting")],
      [0, 0],
    );
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "p", actions: ["demo.thing.get"], budget: {} });
    await until("one waits", async () => numberOf(await metrics(), "gw_cards_waiting") === 1);
    await until("it ages", async () => numberOf(await metrics(), "gw_card_oldest_seconds") > 0);
    await home.must(["deny", idIn(asked, "approval_id"), "--reason", "no"]);
    const run = await openRun(home, agent, ["demo.thing.get", "demo.thing.make"]);
    assert.equal((await call(agent, run, "demo.thing.make", { name: "one" })).body["outcome"], "success");
    const refused = await call(agent, run, "demo.thing.gone", { name: HOSTILE });
    const code = String(refused.body["code"]);
    const text = await until("both are counted", async () => {
      const now = await metrics();
      return numberOf(now, 'gw_calls_total{outcome="succeeded"}') === 1 && now.includes(`{code="${code}"} 1`) && now;
    });
    for (const name of ["gw_log_write_seconds_count", "gw_log_bytes", "gw_disk_free_bytes", "gw_sessions_live"]) {
      assert.ok(numberOf(text, name) > 0, name);
    }
    for (const name of ["gw_operations_open", "gw_log_queue_events", "gw_locked", "gw_stopped"]) {
      assert.equal(numberOf(text, name), 0, name);
    }
    // Every line is a comment or a name, labels and a number: what a scraper takes.
    const line = /^(# (HELP|TYPE) gw_[a-z_]+ .+|gw_[a-z_]+(\{[a-z]+="[a-z0-9_.+A-Z]+"\})? [0-9.e+-]+)$/;
    for (const each of text.trim().split("\n")) assert.match(each, line);
    assert.ok(!text.includes("demo"), "no action is named");
    const samples = JSON.parse((await home.run(["metrics", "--json"])).out) as Readonly<Record<string, number>>;
    assert.equal(samples['gw_calls_total{outcome="succeeded"}'], 1);
    assert.equal(Object.keys(samples).length, (await metrics()).match(/^gw_/gm)?.length);
    provider.answer((_request, response) => response.writeHead(202).end());
    await call(agent, run, "demo.thing.make", { name: "later" });
    provider.answer((_request, response) => response.destroy());
    await call(agent, run, "demo.thing.make", { name: "lost" });
    await until("what goes on and what got lost are told apart", async () => {
      const now = await metrics();
      return ["accepted", "unknown"].every((outcome) => numberOf(now, `gw_calls_total{outcome="${outcome}"}`) === 1);
    });
  });

  test("the command of docs/metrics.md hands them to a collector: whole families with their types, a histogram that adds up", async () => {
    const folder = makeFolder();
    const page = readFileSync(join(import.meta.dirname, "..", "docs", "metrics.md"), "utf8");
    const [command = ""] = page.split("\n").filter((line) => line.startsWith("gw metrics > "));
    const here = command.replaceAll("/var/lib/node_exporter", folder).replace("gw metrics", `"${GW}" metrics`);
    const env = { ...home.environment(), GW_HOME: home.folder };
    assert.equal(spawnSync("sh", ["-ec", here], { env }).status, 0);
    assert.deepEqual(readdirSync(folder), ["gw.prom"], "nothing half written is left to be read");
    const text = readFileSync(join(folder, "gw.prom"), "utf8");
    assert.ok(text.endsWith("\n"), "the last line is whole");
    const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const names = samples.map((line) => line.slice(0, line.lastIndexOf(" ")));
    assert.equal(new Set(names).size, names.length, "no sample twice");
    for (const name of names) {
      const family = (name.split("{")[0] ?? "").replace(/_(bucket|sum|count)$/, "");
      const type = text.indexOf(`\n# TYPE ${family} `);
      assert.ok(type >= 0 && type < text.indexOf(`\n${name} `), `${name} stands behind its type`);
    }
    const buckets = samples.filter((line) => line.startsWith("gw_log_write_seconds_bucket"));
    const counts = buckets.map((line) => Number(line.slice(line.lastIndexOf(" "))));
    assert.deepEqual(
      counts,
      counts.toSorted((one, other) => one - other),
    );
    assert.match(buckets.at(-1) ?? "", /le="\+Inf"/);
    assert.equal(counts.at(-1), numberOf(text, "gw_log_write_seconds_count"));
    for (const [, name = ""] of page.matchAll(/`(gw_[a-z_]+)/g)) assert.ok(text.includes(`# TYPE ${name} `), name);
  });

  test("the operational log is one JSON object a line, in plain ASCII, without secrets, people or actions", async () => {
    const stranger = join(makeFolder(), "wrong");
    writeFileSync(stranger, "not the passphrase at all\n", { mode: 0o600 });
    await home.run(["lock", "--passphrase-file", stranger]);
    await until("the failure is told", () => gateway.err().includes("unlock_failed"));
    // The launcher speaks to a person on the same stream; the gateway's own lines are objects.
    const lines = gateway
      .err()
      .trim()
      .split("\n")
      .filter((line) => line.startsWith("{"));
    const facts = lines.map((line) => JSON.parse(line) as Members);
    for (const fact of facts) {
      assert.match(String(fact["time"]), /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      assert.ok(["info", "warning", "error"].includes(String(fact["level"])));
    }
    const names = facts.map((fact) => fact["event"]);
    for (const name of ["gateway_started", "gateway_unlocked", "gateway_ready", "unlock_failed"])
      assert.ok(names.includes(name), name);
    assert.match(gateway.err(), /^[\x20-\x7e\n]*$/);
    for (const word of [SECRET, "ada", "demo.thing", "forged"]) assert.ok(!gateway.err().includes(word), word);
  });

  test("what was locked while the log could not be written is not said to be locked since its start", async () => {
    const limited = spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=512:unlimited"]);
    if (limited.status !== 0) return;
    await agent.ask("POST", "/v1/runs", { purpose: "p", actions: ["demo.thing.get"], budget: {} });
    await until("it has stopped", async () => (await home.run(["status", "--json"])).code === 1);
    await home.operator(["lock"]);
    spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=unlimited:unlimited"]);
    await home.must(["resume"]);
    assert.equal((await home.run(["status", "--json"])).code, 4);
    await until("the manager knows", () => standings().at(-1) === "locked: waits for gw unlock");
    await home.must(["unlock"]);
    await until("it knows that too", () => standings().at(-1) === "unlocked");
  });

  test("gw status is a health check: 0 well, 4 locked, 1 when it sends nothing any more", async () => {
    assert.equal((await home.run(["status", "--json"])).code, 0);
    await home.must(["lock", "--reason", HOSTILE]);
    assert.equal((await home.run(["status", "--json"])).code, 4);
    await until("the manager knows", () => standings().at(-1) === "locked by an operator: waits for gw unlock");
    await home.must(["unlock"]);
    await until("it knows that too", () => standings().at(-1) === "unlocked");
    if (spawnSync("prlimit", [`--pid=${gateway.pid}`, "--fsize=512"]).status !== 0) return;
    await agent.ask("POST", "/v1/runs", { purpose: "p", actions: ["demo.thing.get"], budget: {} });
    await until("it has stopped", async () => (await home.run(["status", "--json"])).code === 1);
    assert.equal(numberOf(await metrics(), "gw_stopped"), 1);
    await until("the manager knows", () => /^sends nothing: .* gw resume$/.test(standings().at(-1) ?? ""));
  });

  test("it says that it is stopping", async () => {
    // What was not read yet would leave no room for it.
    manager.lines();
    await gateway.end("SIGTERM");
    assert.ok(manager.lines().includes("STOPPING=1"));
    assert.equal(standings().at(-1), "", "its last words are not taken for how it is");
  });

  test("it says why it does not start", async () => {
    const format = join(home.folder, "format");
    writeFileSync(format, "gw.home/v9 state 99\n");
    const refused = await home.run(["up", "--locked"], { env: { ...home.environment(), NOTIFY_SOCKET: manager.name } });
    assert.equal(refused.code, 1);
    assert.match(standings().at(-1) ?? "", /^store_newer: /);
  });

  /** The words that the service manager was told, one after another. */
  function standings(): readonly string[] {
    const lines = manager.lines().filter((line) => line.startsWith("STATUS="));
    return lines.map((line) => line.slice("STATUS=".length));
  }

  async function metrics(): Promise<string> {
    const done = await home.run(["metrics"]);
    assert.equal(done.code, 0, done.err);
    return done.out;
  }
});

function numberOf(text: string, name: string): number {
  const line = text.split("\n").find((each) => each.startsWith(`${name} `));
  assert.ok(line !== undefined, `${name} in:\n${text}`);
  return Number(line.slice(name.length + 1));
}
