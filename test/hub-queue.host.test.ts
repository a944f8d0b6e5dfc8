import assert from "node:assert/strict";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { chownSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import {
  call,
  codeOf,
  demoPack,
  type Gateway,
  type Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  startAgent,
  until,
} from "./support/home.ts";
import { QuickHome } from "./support/operator-key.ts";
import { makePartition, type Partition } from "./support/partition.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

/** Each asks a person, and its card holds all of the text. */
const LONG = `  thing.note:
    effect: purchase
    max_cost_cents: 1
    request: { method: POST, path: /v1/notes, body: application/json }
    input:
      text: { in: body, type: string, maxLength: 200000 }
`;

let cluster: Cluster;
let way: Partition;
let provider: TestProvider;
let home: Home;
let gateway: Gateway;
let agent: Plane;
/** Another machine: an operator's keys and signed files, and no gateway. */
let desk: Home;

before(async () => {
  if (skip !== false) return;
  [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
  way = await makePartition(cluster);
  home = await new QuickHome(makeFolder()).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack("demo", demoPack(provider.origin, LONG));
  gateway = await home.up();
  agent = openPlane(home.agentSocket);
  assert.equal((await home.run(["hub", "init", cluster.url("owner")])).code, 0);
  await cluster.sql("create role web1 login in role gw_gateway; create role ada login in role gw_operator");
  await home.must(["hub", "join", cluster.url("web1", way.folder), "--name", "web1"]);
  desk = new QuickHome(makeFolder()).carryFrom(home);
});
after(async () => {
  if (skip !== false) return;
  agent.close();
  await gateway.end();
  way.close();
  await provider.close();
  await cluster.stop();
});

async function ask(purpose: string, action = "demo.thing.get"): Promise<{ readonly run: string; readonly id: string }> {
  const asked = await agent.ask("POST", "/v1/runs", { purpose, actions: [action], budget: {} });
  assert.equal(asked.status, 202, asked.text);
  return { run: idIn(asked, "run_id"), id: idIn(asked, "approval_id") };
}

const hub = () => ["--hub", cluster.url("ada")];

/** What waits on the hub for the operator at the desk, once this question is among it. */
function waitingWith(id: string): Promise<Members> {
  return until("the card is on the hub", async () => {
    const [there] = await cluster.sql("select 1 from gw_hub.cards where approval_id = $1", [id]);
    if (there === undefined) return false;
    const { out } = await desk.must(["approvals", ...hub(), "--json"]);
    return (JSON.parse(out) as readonly Members[]).find(({ approval_id }) => approval_id === id) ?? false;
  });
}

async function stateOf(run: string): Promise<string> {
  return String((await agent.ask("GET", `/v1/runs/${run}`)).body["state"]);
}

interface StatementRow {
  readonly id: string;
  readonly body: string;
  readonly answer: string;
}

/** What the gateway says to a statement that the administrator put there. */
async function answerTo(body: string, kind = "order"): Promise<string> {
  const id = `hst_${generateKeyPairSync("ed25519").publicKey.export({ format: "der", type: "spki" }).toString("hex")}`;
  const row = [id, body, kind];
  await cluster.sql("insert into gw_hub.statements (id, gateway, body, kind) values ($1, 'web1', $2, $3)", row);
  await cluster.sql("notify gw_hub");
  const answer = await until("it is answered", async () => {
    const [row] = await cluster.sql<StatementRow>("select answer from gw_hub.statements where id = $1", [id]);
    return row?.answer ?? false;
  });
  return String((JSON.parse(answer) as Members)["code"]);
}

real(
  "a question is shown, decided and its session revoked from another machine, and the database reads nothing of it",
  async () => {
    const { run, id } = await ask("a purpose that nobody else reads");
    const shown = await waitingWith(id);
    assert.equal(shown["gateway"], "web1");
    assert.match(JSON.stringify(shown["card"]), /a purpose that nobody else reads/);
    const [row] = await cluster.sql<{ sealed: Buffer; statement: string }>(
      "select sealed, statement from gw_hub.cards where approval_id = $1",
      [id],
    );
    assert.doesNotMatch(`${row?.sealed.toString("latin1")} ${row?.statement}`, /purpose|demo\.thing/);
    const approved = await desk.must(["approve", id, ...hub(), "--json"]);
    assert.deepEqual(JSON.parse(approved.out), { approval_id: id, gateway: "web1", state: "approved" });
    assert.notEqual(await stateOf(run), "pending");
    await until(
      "the card is gone",
      async () => (await cluster.sql("select 1 from gw_hub.cards where approval_id = $1", [id])).length === 0,
    );
    const [event] = await home.events("approval_approved");
    assert.equal(event?.["approval_id"], id);
    const session = JSON.parse((await home.must(["sessions", "--json"])).out) as readonly Members[];
    const revoked = await desk.must(["revoke", idOf(session[0], "session_id"), ...hub(), "--json"]);
    assert.equal((JSON.parse(revoked.out) as Members)["state"], "ended");
    assert.equal((await home.status())["sessions_live"], 0);
  },
);

real(
  "gw watch --hub tells of questions and operations of all gateways, and an outcome that nobody saw is settled from there",
  async () => {
    const watching = desk.start(["watch", ...hub(), "--json", "--passphrase-file", desk.passphraseFile]);
    const told = (what: string): Promise<Members> =>
      until(`it is told of ${what}`, () => {
        const whole = watching.out().split("\n").slice(0, -1);
        const line = whole.find((one) => one.includes(what));
        return line !== undefined && (JSON.parse(line) as Members);
      });
    const { run, id } = await ask("to be watched", "demo.thing.make");
    assert.deepEqual([(await told(id))["gateway"], (await told(id))["state"]], ["web1", "pending"]);
    await desk.must(["approve", id, ...hub()]);
    provider.answer((_request, response) => void response.destroy());
    const body = { action: "demo.thing.make", input: { name: "once" } };
    const lost = await agent.ask("POST", `/v1/runs/${run}/calls`, body, { prefer: "wait=20" });
    provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
    assert.equal(lost.body["outcome"], "unknown", lost.text);
    const operation = await until("it is on the hub", async () => {
      const listed = JSON.parse((await desk.must(["operation", "list", ...hub(), "--json"])).out) as readonly Members[];
      return listed[0] ?? false;
    });
    const name = idOf(operation, "operation_id");
    assert.equal(operation["gateway"], "web1");
    await told(name);
    await watching.end("SIGTERM");
    const [board] = await cluster.sql<{ sealed: Buffer }>(
      "select sealed from gw_hub.cards where approval_id = 'board'",
    );
    assert.doesNotMatch(board?.sealed.toString("latin1") ?? "", /op_|demo/, "the database reads nothing of it");
    assert.match((await desk.must(["operation", "show", name, ...hub()])).out, /^on web1\n/);
    const words = ["--happened", "no", "--reason", "not in the list of noon"];
    const settled = await desk.must(["operation", "settle", name, ...hub(), ...words, "--json"]);
    assert.notEqual((JSON.parse(settled.out) as Members)["state"], null);
    const [event] = await home.events("operation_settled");
    assert.equal(event?.["operation_id"], name);
    const again = await desk.operator(["operation", "settle", name, ...hub(), ...words]);
    assert.notEqual(again.code, 0, "it is open no more");
    await until("nothing is open", async () => {
      const listed = await desk.must(["operation", "list", ...hub(), "--json"]);
      return (JSON.parse(listed.out) as readonly Members[]).length === 0;
    });
  },
);

real("after gw login at the desk what only reads on the hub asks nothing, and what decides still asks", async () => {
  const { id } = await ask("to be read after a login");
  await waitingWith(id);
  const show = ["operation", "show", "op_00000000000000000000000000", ...hub()];
  const reading = [["approvals", ...hub(), "--json"], ["operation", "list", ...hub()], show];
  for (const words of reading) assert.equal(codeOf(await desk.run(words)), "terminal_needed", words.join(" "));
  await desk.must(["login", "--for", "10m"]);
  try {
    const [listed, board, one] = [
      await desk.run(reading[0] ?? []),
      await desk.run(reading[1] ?? []),
      await desk.run(show),
    ];
    const waiting = JSON.parse(listed.out) as readonly Members[];
    assert.ok(
      waiting.some(({ approval_id }) => approval_id === id),
      listed.err,
    );
    assert.equal(board.code, 0, board.err);
    assert.equal(codeOf(one), "not_found", "no gateway shows it");
    assert.equal(codeOf(await desk.run(["deny", id, ...hub()])), "terminal_needed");
  } finally {
    await desk.run(["logout"]);
  }
  await desk.must(["approve", id, ...hub()]);
});

real("a no from another machine is as good as one from here, and comes once", async () => {
  const { id } = await ask("to be denied", "demo.thing.make");
  await waitingWith(id);
  await desk.must(["deny", id, ...hub(), "--reason", "not today"]);
  const [event] = await home.events("approval_denied");
  assert.deepEqual([event?.["approval_id"], event?.["reason"]], [id, "not today"]);
  // Its gateway takes the card off the hub with its next look.
  await until("the card is gone", async () => {
    const left = await cluster.sql("select 1 from gw_hub.cards where approval_id = $1", [id]);
    return left.length === 0;
  });
  const again = await desk.operator(["approve", id, ...hub()]);
  assert.equal(codeOf(again), "not_found", again.err);
});

real("a grant is signed and removed from a machine without a gateway, and every gateway has it by then", async () => {
  const lastDay = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  const add = (name: string) => {
    const words = ["--caller", "uid:40404", "--actions", "demo.thing.get", "--until", lastDay];
    return desk.operator(["grant", "add", name, ...words, ...hub(), "--json"]);
  };
  const grantsOn = async (where: readonly string[], by = home): Promise<readonly string[]> =>
    (JSON.parse((await by.must(["grant", "list", ...where, "--json"])).out) as readonly Members[]).map(({ name }) =>
      String(name),
    );
  const added = await add("from-afar");
  assert.equal(added.code, 0, added.err);
  const { gateways, name } = JSON.parse(added.out) as Members;
  assert.deepEqual([name, gateways], ["from-afar", [{ gateway: "web1", state: "taken", code: null }]]);
  assert.deepEqual(await grantsOn([]), ["from-afar"], "signed policy of the host by then");
  const [said] = await cluster.sql<StatementRow>("select body from gw_hub.statements where kind = 'policy'");
  const bodies = [said?.body ?? "", Buffer.from(said?.body ?? "", "base64").toString("latin1")].join(" ");
  assert.doesNotMatch(bodies, /from-afar|demo/, "the database reads nothing of it");
  // The files at the desk are as they were copied; the next change is made from what the gateways follow.
  assert.deepEqual(await grantsOn(hub(), desk), ["from-afar"]);
  const stray = new QuickHome(makeFolder()).carryFrom(home);
  const second = await add("and-another");
  assert.equal(second.code, 0, second.err);
  // Two policies of one number, each signed: what is made from one of them would undo the other.
  await stray.must(["grant", "remove", "from-afar"]);
  for (const words of [["list"], ["remove", "and-another"]])
    assert.equal(codeOf(await stray.operator(["grant", ...words, ...hub()])), "hub_document_forked");
  assert.equal((await stray.operator(["grant", "list", ...hub(), "--despite", "web1"])).code, 0);
  assert.equal(codeOf(await add("and-another")), "grant_exists");
  assert.deepEqual([...(await grantsOn([]))].sort(), ["and-another", "from-afar"]);
  assert.equal(await answerTo(said?.body ?? "", "policy"), "policy_moved_on", "played again");
  for (const nonsense of ["", "{}", Buffer.from("nonsense").toString("base64")])
    assert.equal(await answerTo(nonsense, "policy"), "value_not_allowed");
  assert.equal(await answerTo(said?.body ?? ""), "json_malformed", "a policy is no order");
  for (const gone of ["from-afar", "and-another"]) await desk.must(["grant", "remove", gone, ...hub()]);
  assert.deepEqual(await grantsOn(hub(), desk), []);
  assert.deepEqual(await grantsOn([]), []);
  assert.equal(codeOf(await desk.operator(["grant", "remove", "from-afar", ...hub()])), "not_found");
  const another = await new QuickHome(makeFolder()).init();
  assert.equal(codeOf(await another.operator(["grant", "list", ...hub()])), "not_found", "no gateway of its vault");
});

real("what an administrator plays again, moves or makes up decides nothing", async () => {
  const [old] = await cluster.sql<StatementRow>(
    "select body from gw_hub.statements where body like '%\"approve\"%' order by at limit 1",
  );
  assert.equal(await answerTo(old?.body ?? ""), "approval_not_pending", "played again");
  const { run, id } = await ask("to be fought over");
  const open = await waitingWith(id);
  const moved = JSON.parse(old?.body ?? "") as { readonly statement: Members };
  const about = { approval_id: id, card_digest: idOf(open, "card_digest") };
  const body = JSON.stringify({ ...moved, statement: { ...moved.statement, ...about } });
  assert.equal(await answerTo(body), "signature_invalid", "an old signature under a new card");
  for (const nonsense of ["", "[]", '{"statement":{},"signature":"x"}', '"\\u0000"', "9".repeat(70_000)])
    assert.notEqual(await answerTo(nonsense), "null", nonsense.slice(0, 20));
  assert.equal(await stateOf(run), "pending");
  // A milder card under the real name, sealed as it should be and signed by somebody.
  const [row] = await cluster.sql<{ statement: string }>("select statement from gw_hub.cards where approval_id = $1", [
    id,
  ]);
  const { privateKey } = generateKeyPairSync("ed25519");
  const signature = sign(null, Buffer.from(`gw hub v1\0${row?.statement}`), privateKey);
  await cluster.sql("update gw_hub.cards set signature = $2 where approval_id = $1", [id, signature]);
  const listed = await desk.must(["approvals", ...hub(), "--json"]);
  assert.deepEqual(JSON.parse(listed.out), []);
  assert.match(listed.err, /is not from web1 for you/);
  await home.approve(id);
});

real("whatever a gateway refuses of what stands for it on the hub is in its own log", async () => {
  const [old] = await cluster.sql<StatementRow>(
    "select body from gw_hub.statements where body like '%gw.revocation/v1%' order by at limit 1",
  );
  const { statement, ...rest } = JSON.parse(old?.body ?? "") as { readonly statement: Members };
  const forged = (about: Members) => JSON.stringify({ ...rest, statement: { ...statement, ...about } });
  const errand = { format: "gw.errand/v1", gateway: "web2" };
  const bodies = [
    [forged({ session_id: "ses_of_somebody" }), "order", "signature_invalid"],
    [forged({ operator_key_id: "0".repeat(32) }), "order", "signature_invalid"],
    [forged(errand), "order", "value_not_allowed"],
    ["no order", "order", "json_malformed"],
    ["no policy", "policy", "value_not_allowed"],
  ] as const;
  for (const [body, kind, code] of bodies) assert.equal(await answerTo(body, kind), code, body);
  const told = (await home.events("request_refused")).filter(({ plane }) => plane === "hub");
  for (const [body, kind, code] of bodies) {
    const digest = `sha256:${createHash("sha256").update(body).digest("hex")}`;
    const event = told.find(({ body_digest }) => body_digest === digest);
    assert.deepEqual([event?.["endpoint"], event?.["code"]], [kind, code], body);
  }
});

real("neither a card of nobody nor a row that says a gateway left keeps its questions from an operator", async () => {
  const { id } = await ask("to be seen in spite of it");
  await waitingWith(id);
  const { privateKey } = generateKeyPairSync("ed25519");
  await cluster.sql(
    "insert into gw_hub.cards select gateway, 'apr_broken', sealed, statement, $1 from gw_hub.cards where approval_id = $2",
    [sign(null, Buffer.from("x"), privateKey), id],
  );
  await cluster.sql("update gw_hub.gateways set leave = enrolment, leave_signature = enrolment_signature");
  const listed = await desk.must(["approvals", ...hub(), "--json"]);
  assert.deepEqual(
    (JSON.parse(listed.out) as readonly Members[]).map(({ approval_id }) => approval_id),
    [id],
  );
  await cluster.sql("update gw_hub.gateways set leave = null, leave_signature = null");
  await home.approve(id);
});

real("a statement with its answer goes after a day, while the gateway stays connected", async () => {
  const answered = "select id from gw_hub.statements where answer is not null";
  assert.ok((await cluster.sql(answered)).length > 0);
  await cluster.sql("update gw_hub.statements set at = at - interval '25 hours'");
  await until("they are gone", async () => (await cluster.sql(answered)).length === 0);
});

real("while the hub is away decisions are made here as ever, and the queue comes back with it", async () => {
  await cluster.kill();
  const { id } = await ask("to be decided here");
  await home.must(["approve", id]);
  const { id: next } = await ask("to be decided there");
  await cluster.start();
  await waitingWith(next);
  await desk.must(["approve", next, ...hub()]);
});

/** One that is approved: what follows is about what is sent in it while the hub is away. */
let run: string;
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

real("questions that the database does not take are told of by gw status, though the log goes there", async () => {
  await cluster.sql("revoke insert on gw_hub.cards from gw_gateway");
  const { id } = await ask("a question that nobody elsewhere is shown");
  await hubIs("hub_refused");
  await until("the log is there", async () => (await hubOf())["behind"] === 0);
  await cluster.sql("grant insert on gw_hub.cards to gw_gateway");
  await waitingWith(id);
  await hubIs(null);
  await desk.must(["deny", id, "--reason", "seen", ...hub()]);
});

real("what a gateway does not do without its hub is signed, and for a gateway that has one", async () => {
  const alone = await new QuickHome(makeFolder()).init();
  const unjoined = await alone.operator(["hub", "set", "--log", "before_answer"]);
  assert.equal(codeOf(unjoined), "hub_not_joined", unjoined.err);
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
  run = await openRun(home, agent);
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

real("cards that are too large together are told of, and each is read and decided by its name", async () => {
  // A user has three cards at a time.
  for (const left of JSON.parse((await home.must(["approvals", "--json"])).out) as readonly Members[])
    await home.must(["deny", idOf(left, "approval_id")]);
  const agents = await Promise.all([1, 2, 3].map(() => startAgent(home)));
  const runs: string[] = [];
  for (const one of agents) {
    const body = { purpose: "notes", actions: ["demo.thing.note"], budget: { spend_cents: 1 } };
    const asked = await one.ask("POST", "/v1/runs", body);
    await home.approve(idIn(asked, "approval_id"));
    runs.push(idIn(asked, "run_id"));
  }
  // Each card is sealed for each of them.
  for (const name of ["bob", "cleo", "dan", "eve", "fay"]) {
    const file = join(makeFolder(), name);
    writeFileSync(file, `the passphrase of ${name}\n`, { mode: 0o600 });
    if (home.owner !== undefined) chownSync(file, home.owner.uid, home.owner.gid);
    await home.must(["operator", "add", name, "--operator", "ada", "--new-passphrase-file", file]);
  }
  const watching = desk.start(["watch", ...hub(), "--json", "--passphrase-file", desk.passphraseFile]);
  try {
    for (const [at, one] of agents.entries()) {
      const text = `${at} `.padEnd(190_000, "a long note that nobody shortens ");
      await one.ask("POST", `/v1/runs/${runs[at]}/calls`, { action: "demo.thing.note", input: { text } });
    }
    const ids = await until("all are on the hub", async () => {
      const rows = await cluster.sql<{ id: string }>(
        "select approval_id as id from gw_hub.cards where approval_id like 'apr_%'",
      );
      return rows.length >= agents.length && rows.map(({ id }) => id);
    });
    const list = () => desk.must(["approvals", ...hub(), "--json"]);
    const shownIn = (out: string): readonly string[] =>
      (JSON.parse(out) as readonly Members[]).map((one) => idOf(one, "approval_id"));
    const listed = await list();
    const shown = shownIn(listed.out);
    assert.equal(shown.length, agents.length - 1);
    assert.match(listed.err, /warning: web1 shows 1 more than is read at a time \(4 MiB of each gateway\)/);
    await until("gw watch --hub tells of it too", () => watching.err().includes("web1 shows 1 more"));
    const [unread = ""] = ids.filter((id) => !shown.includes(id));
    const denied = await desk.must(["deny", unread, ...hub(), "--json"]);
    assert.equal((JSON.parse(denied.out) as Members)["state"], "denied");
    await until("there is room for the others", async () => {
      const { out, err } = await list();
      return shownIn(out).length === agents.length - 1 && !err.includes("more than");
    });
  } finally {
    await watching.end("SIGTERM");
    for (const one of agents) one.close();
  }
});
