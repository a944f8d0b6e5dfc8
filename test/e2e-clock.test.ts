import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  call,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  start,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const HOUR = 3_600;
const DAY = 24 * HOUR;
const compiler =
  spawnSync("cc", ["--version"]).error === undefined ? asUser : { skip: "no C compiler to build an agent with" };

/** The gateway goes by a date that is set beside its home. */
const SET_CLOCK = join(import.meta.dirname, "support", "set-clock.ts");

/** The real gateway under a date that really goes back. */
describe("a clock that is set back while the gateway runs", compiler, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  let nightly: string;
  let run: string;
  const ends = new Date(Date.now() + DAY * 1_000).toISOString().slice(0, 10);

  const setClock = (seconds: number): void => writeFileSync(`${home.folder}.clock`, String(seconds));

  async function startHere(): Promise<void> {
    gateway = await home.upWith(SET_CLOCK);
    agent = openPlane(home.agentSocket);
  }

  before(async () => {
    const folder = makeFolder();
    provider = await startProvider();
    home = await new Home(folder).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    nightly = join(folder, "agent");
    execFileSync("cc", ["-O1", "-o", nightly, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
    const caller = ["--caller", `image:${nightly}`];
    await home.must(["grant", "add", "nightly", ...caller, "--actions", "demo.thing.get", "--until", ends]);
    setClock(0);
    await startHere();
  });

  after(async () => {
    agent?.close();
    await gateway?.end("SIGTERM");
    await provider?.close();
  });

  async function actAtNight(): Promise<Members> {
    const { out, err } = await start([nightly, home.agentSocket, "demo.thing.get", '{"id":"1"}', "60"]).exited;
    assert.notEqual(out, "", err);
    return JSON.parse(out) as Members;
  }

  /** A person is asked, and the agent gives up. */
  async function asksAtNight(why: string): Promise<void> {
    const asking = start([nightly, home.agentSocket, "demo.thing.get", '{"id":"1"}', "60"]);
    const waiting = async (): Promise<number> => Number((await home.status())["approvals_pending"]);
    await until(`a card waits: ${why}`, async () => {
      if (asking.child.exitCode !== null) assert.fail(`${why}: ${asking.out()}`);
      return (await waiting()) === 1;
    });
    await asking.end();
    await until("its card is taken back", async () => (await waiting()) === 0);
  }

  const facts = (): readonly Members[] =>
    gateway
      .err()
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Members);

  test("runs and cards do not notice: what was open stays open, and a person still decides", async () => {
    run = await openRun(home, agent);
    assert.equal((await call(agent, run, "demo.thing.get", { id: "before" })).body["outcome"], "success");
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "waits", actions: ["demo.thing.make"] });
    const [card] = await home.approvals();
    setClock(-6 * HOUR);
    assert.equal((await call(agent, run, "demo.thing.get", { id: "back" })).body["outcome"], "success");
    const metrics = (await home.run(["metrics"])).out;
    assert.ok(
      Number(/^gw_card_oldest_seconds (\S+)$/m.exec(metrics)?.[1]) > 0,
      "its age counts from when it was asked",
    );
    const [still] = await home.approvals();
    assert.equal(still?.["approval_id"], card?.["approval_id"]);
    const left = Number(still?.["expires_in_ms"]);
    assert.ok(left > 0 && left <= Number(card?.["expires_in_ms"]), `${left} ms, neither over nor hours longer`);
    await home.approve(idIn(asked, "approval_id"));
    const made = await call(agent, idIn(asked, "run_id"), "demo.thing.make", { name: "made" });
    assert.equal(made.body["outcome"], "success");
  });

  test("it is told once in the operational log, with what it means", async () => {
    const told = await until("it was seen", () => facts().find(({ event }) => event === "clock_set_back"));
    assert.equal(told["level"], "warning");
    assert.ok(Math.abs(Number(told["seconds"]) - 6 * HOUR) < HOUR, String(told["seconds"]));
  });

  test("a grant whose last day was seen does not come back with an earlier date", async () => {
    setClock(0);
    assert.equal((await actAtNight())["outcome"], "success");
    const sent = provider.received.length;
    setClock(3 * DAY);
    await asksAtNight("its last day is over");
    setClock(0);
    await asksAtNight("and stays over");
    assert.equal(provider.received.length, sent);
  });

  test("the log is whole and in order, its dates go back where the clock did, and verify says so", async () => {
    await gateway.end("SIGTERM");
    agent.close();
    const events = await home.events("intent_accepted");
    const dates = events.map(({ occurred_at }) => Date.parse(String(occurred_at)));
    assert.ok(
      dates.some((date, at) => date < (dates[at - 1] ?? 0) - HOUR * 1_000),
      "dates go back",
    );
    const order = events.map(({ sequence }) => Number(sequence));
    assert.deepEqual(
      order,
      order.toSorted((one, other) => one - other),
    );
    const verified = await home.verify();
    assert.equal(verified.code, 0, verified.out);
    assert.match(verified.out, /clock_stepped_back/);
  });

  test("a start behind the log's last date says so, and goes on; the dates that a grant has count anew", async () => {
    setClock(-2 * HOUR);
    await startHere();
    assert.ok(facts().some(({ event, level }) => event === "clock_set_back" && level === "warning"));
    assert.equal((await home.status())["stopped"], null);
    setClock(0);
    assert.equal((await actAtNight())["outcome"], "success");
    await gateway.end("SIGTERM");
    assert.equal((await home.verify()).code, 0);
  });
});
