import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  call,
  codeOf,
  demoPack,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  until,
} from "./support/home.ts";
import { makePartition, type Partition } from "./support/partition.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

let cluster: Cluster;
let way: Partition;
let provider: TestProvider;
let home: Home;
let gateway: Gateway;
let agent: Plane;
let run: string;

before(async () => {
  if (skip !== false) return;
  [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
  way = await makePartition(cluster);
  home = await new Home(makeFolder()).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack("demo", demoPack(provider.origin));
  gateway = await home.up();
  agent = openPlane(home.agentSocket);
  run = await openRun(home, agent);
});
after(async () => {
  if (skip !== false) return;
  agent.close();
  await gateway.end();
  way.close();
  await provider.close();
  await cluster.stop();
});

const read = (): Promise<Reply> => call(agent, run, "demo.thing.get", { id: "7" });
const write = (name: string, wait = 30): Promise<Reply> => call(agent, run, "demo.thing.make", { name }, wait);
const outcomeOf = ({ body }: Reply): unknown => body["outcome"] ?? body["code"];

async function hubOf(): Promise<Members> {
  return (await home.status())["hub"] as Members;
}

/** The frames of the log that tell how a call ended. */
async function endsOfCalls(): Promise<readonly number[]> {
  const { out } = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
  const lines = out.split("\n").filter((line) => line.includes('"action_finished"'));
  return lines.map((line) => (JSON.parse(line) as { readonly frame: number }).frame);
}

function hubIs(code: string | null): Promise<unknown> {
  return until(`the hub is ${code ?? "well"}`, async () => {
    const { trouble, tick, reachable_ms: answered } = await hubOf();
    // After a restart the tick is the remembered one, and nothing is wrong before the first word.
    if (code === null && answered === null) return false;
    return ((trouble as Members | null)?.["code"] ?? null) === code && Number(tick) > 0;
  });
}

real("what a gateway does not do without its hub is signed, and for a gateway that has one", async () => {
  const alone = await home.operator(["hub", "set", "--log", "before_answer"]);
  assert.equal(codeOf(alone), "hub_not_joined", alone.err);
  assert.equal((await home.run(["hub", "init", cluster.url("owner")])).code, 0);
  await cluster.sql("create role web1 login in role gw_gateway");
  await home.must(["hub", "join", cluster.url("web1", way.folder), "--name", "web1"]);
  for (const odd of [[], ["--log", "sometimes"], ["--grace-s", "-1"], ["--grace-s", "86401"]])
    assert.equal(codeOf(await home.operator(["hub", "set", ...odd])), "value_not_allowed", odd.join(" "));
  const set = await home.must(["hub", "set", "--log", "before_answer", "--json"]);
  assert.deepEqual(JSON.parse(set.out), { log: "before_answer", grace_s: 0, operations: "own" });
  await home.must(["hub", "join", cluster.url("web1", way.folder), "--name", "web1"]);
  const kept = await home.must(["hub", "set", "--grace-s", "0", "--json"]);
  assert.deepEqual(
    JSON.parse(kept.out),
    { log: "before_answer", grace_s: 0, operations: "own" },
    "joining again keeps it",
  );
  await hubIs(null);
});

real(
  "an answer comes after the log that tells of it is on the hub, and a host lost right then loses nothing",
  async () => {
    provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
    assert.equal(outcomeOf(await write("kept")), "success");
    process.kill(gateway.pid, "SIGKILL");
    await gateway.exited;
    const [head] = await cluster.sql<{ statement: string }>("select statement from gw_hub.log_head");
    const there = Number((JSON.parse(head?.statement ?? "{}") as Members)["next_frame"]);
    const ends = await endsOfCalls();
    assert.ok(there > (ends.at(-1) ?? Infinity), `frame ${ends.at(-1)} is on the host alone, the hub is at ${there}`);
    gateway = await home.up();
    run = await openRun(home, agent);
    await hubIs(null);
  },
);

real("a side effect whose intent cannot be put on the hub does not leave", async () => {
  assert.equal(outcomeOf(await read()), "success");
  const before = provider.received.length;
  way.cut();
  const cut = await write("never");
  const seen = cut.body["code"] ?? cut.body["transport_observation"];
  assert.ok(
    seen === "hub_unreachable" || (seen as Members)["reason"] === "hub_unreachable",
    "before the gateway knows that the hub is away, or after",
  );
  assert.equal(provider.received.length, before);
  way.heal();
  await until("the hub is back", async () => outcomeOf(await write("again")) === "success");
});

real(
  "while the hub is away effects and new sessions are refused, and reads go on for the time that is signed",
  async () => {
    await cluster.kill();
    await hubIs("hub_unreachable");
    const before = provider.received.length;
    for (const refused of [await read(), await write("away")]) {
      assert.equal(refused.status, 503, refused.text);
      assert.equal(refused.body["code"], "hub_unreachable");
    }
    assert.equal(provider.received.length, before);
    // The operator's own socket needs no hub.
    await home.must(["hub", "set", "--grace-s", "3600"]);
    assert.equal(outcomeOf(await read()), "success");
    assert.equal((await write("still")).body["code"], "hub_unreachable");
    const other = await agent.ask("POST", "/v1/runs", { purpose: "new", actions: ["demo.thing.get"], budget: {} });
    const fresh = await call(agent, idIn(other, "run_id"), "demo.thing.get", { id: "1" });
    assert.equal(fresh.body["code"], "hub_unreachable", "a session that nobody approved yet");
    await home.must(["hub", "set", "--grace-s", "1"]);
    await until("the grace is over", async () => (await read()).body["code"] === "hub_unreachable");
    await cluster.start();
    await until("effects go on", async () => outcomeOf(await write("back")) === "success");
  },
);

real("the answer of an effect that is under way waits for the hub to come back, and is not lost", async () => {
  let release = (): void => undefined;
  const asked = new Promise<void>((arrived) => {
    provider.answer((_request, response) => {
      release = () => response.writeHead(200, { "content-type": "application/json" }).end("{}");
      arrived();
    });
  });
  const ended = (await endsOfCalls()).length;
  const begun = await write("slow", 0);
  assert.equal(begun.status, 202, begun.text);
  await asked;
  await cluster.kill();
  await hubIs("hub_unreachable");
  release();
  await until("its end is in the log", async () => (await endsOfCalls()).length > ended);
  const path = `/v1/calls/${idIn(begun, "call_id")}`;
  assert.equal((await agent.ask("GET", path)).body["state"], "sending");
  await cluster.start();
  const done = await until("it is told", async () => {
    const now = await agent.ask("GET", path);
    return now.body["outcome"] !== undefined && now;
  });
  assert.equal(outcomeOf(done), "success");
  assert.equal((await home.verify()).code, 0);
});
