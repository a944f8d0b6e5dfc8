import assert from "node:assert/strict";
import { createSecretKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import { after, before, test } from "node:test";
import { rawPublicOf } from "../src/audit/keys/raw.ts";
import { readHubAddress } from "../src/hub/address.ts";
import { connectDatabase, connectHub } from "../src/hub/connect.ts";
import { type Adopted, adoptTerm } from "../src/hub/state/adopt.ts";
import { type SharedRow, takingProof } from "../src/hub/state/rows.ts";
import { startState } from "../src/hub/state/state.ts";
import { type EnrolmentStatement, signHubWith } from "../src/hub/statement.ts";
import { Denied } from "../src/kernel/failure.ts";
import { limitSeal } from "../src/programs/daemon/hub/limits.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import { untilFollowed } from "./support/fleet.ts";
import {
  call,
  codeOf,
  type Exited,
  type Gateway,
  type Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  until,
} from "./support/home.ts";
import { QuickHome } from "./support/operator-key.ts";
import { makePartition, type Partition } from "./support/partition.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

const ACTIONS = [
  ...["acme.report.create", "acme.thing.change", "acme.thing.get"],
  ...["acme.deployment.promote", "acme.deployment.rollback", "brew.token.create"],
];
const MINTED = "minted-token-0123456789-abcdefghij";
const CAPABILITY = "capability-0123456789-abcdefghij";
/** Goes elsewhere, with a credential that one gateway alone may lend. */
const brewPack = (origin: string): string => `format: gw.pack/v1
pack: brew
provider: { origin: "${origin}", credential: brew-token, auth: { scheme: bearer } }
actions:
  token.create:
    effect: create
    retry: non_idempotent_write
    max_cost_cents: 0
    request: { method: POST, path: /v1/tokens, body: application/json }
    input: { name: { in: body, type: string } }
    mints: [/secret]
`;

interface Host {
  readonly name: string;
  readonly home: Home;
  gateway: Gateway;
  agent: Plane;
  run: string;
}

let cluster: Cluster;
let way: Partition;
let provider: TestProvider;
let brewer: TestProvider;
let web1: Host;
let web2: Host;
/** What the provider has: each thing's name, and how its job stands. */
const things = new Map<string, string>();
let jobState = "running";
/** The write that the provider has taken and not answered. */
let held: ServerResponse | null = null;
let holds = false;

before(async () => {
  if (skip !== false) return;
  [cluster, provider, brewer] = await Promise.all([
    makeCluster(programs, makeFolder()),
    startProvider(),
    startProvider(),
  ]);
  brewer.answer((_request, response) => answerJson(response, 201, { secret: MINTED }));
  way = await makePartition(cluster);
  provider.answer(({ method, url, body }, response) => {
    if (method === "POST" && url === "/v1/reports")
      return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/v1/jobs/job-1" });
    if (url === "/v1/jobs/job-1") {
      const progress = { completed: 1, total: 2 };
      return answerJson(response, 200, { job_id: "job-1", state: jobState, updated_at: "x", progress });
    }
    if (url === "/v1/jobs/job-1/resume") {
      jobState = "running";
      return answerJson(response, 202, { job_id: "job-1", state: jobState });
    }
    if (method === "DELETE" && url === "/jobs/job-1") {
      return answerJson(response, 202, { job_id: "job-1", state: "cancelling" });
    }
    if (url === "/v1/jobs/job-1/result") return answerJson(response, 200, { rows: 42 });
    if (url.startsWith("/v1/deployments/"))
      return answerJson(response, 201, {
        ...{ deployment_id: "dep-5", environment: "production", release_id: "sha256:r1", actor_id: "bot" },
        ...{ prior_release_id: "sha256:r0", created_target_generation: 5 },
        ...{ reversibility: "reversible_at_application_level", capability: { capability_id: CAPABILITY } },
      });
    if (url === "/v1/environments/production/rollbacks")
      return answerJson(response, 200, {
        ...{ rollback_deployment_id: "dep-6", reverted_deployment_id: "dep-5", previous_release_id: "sha256:r1" },
        ...{ current_release_id: "sha256:r0", target_generation: 6, status: "running" },
      });
    const id = url.slice("/v1/things/".length);
    if (method === "POST") things.set(id, String((JSON.parse(body) as Members)["name"]));
    if (method === "POST" && holds) {
      held = response;
      return;
    }
    answerJson(response, 200, { id, name: things.get(id) ?? null });
  });
  const first = await new QuickHome(makeFolder()).init();
  await first.addCredential("acme-token", provider.origin);
  await first.trustPack("acme", consequentialPack(provider.origin));
  await first.addCredential("brew-token", brewer.origin);
  await first.trustPack("brew", brewPack(brewer.origin));
  assert.equal((await first.run(["hub", "init", cluster.url("owner")])).code, 0);
  for (const name of ["web1", "web2"]) await cluster.sql(`create role ${name} login in role gw_gateway`);
  web1 = await begin("web1", first, way.folder);
  const second = new QuickHome(makeFolder()).carryFrom(first, "packs");
  web2 = await begin("web2", second, cluster.folder);
  await untilFollowed(first, second);
});
after(async () => {
  if (skip !== false) return;
  held?.destroy();
  for (const { agent, gateway } of [web1, web2]) {
    agent.close();
    await gateway.end();
  }
  way.close();
  await provider.close();
  await brewer.close();
  await cluster.stop();
});

async function begin(name: string, home: Home, socket: string): Promise<Host> {
  const gateway = await home.up();
  await home.must(["hub", "join", cluster.url(name, socket), "--name", name]);
  const agent = openPlane(home.agentSocket);
  return { name, home, gateway, agent, run: await openRun(home, agent, ACTIONS, { side_effects: 30 }) };
}

async function restart(host: Host): Promise<void> {
  host.gateway = await host.home.up();
  host.agent.close();
  host.agent = openPlane(host.home.agentSocket);
  host.run = await openRun(host.home, host.agent, ACTIONS, { side_effects: 30 });
}

const change = ({ agent, run }: Host, id: string, wait = 30): Promise<Reply> =>
  call(agent, run, "acme.thing.change", { id, name: `named ${id}` }, wait);
const outcomeOf = ({ body }: Reply): unknown => body["outcome"] ?? body["code"];
const sentTo = (url: string, method = "POST"): number =>
  provider.received.filter((one) => one.method === method && one.url === url).length;

async function operationsOf({ home }: Host): Promise<readonly Members[]> {
  return JSON.parse((await home.must(["operation", "list", "--all", "--json"])).out) as Members[];
}

/** Its gateway has nothing under way any more. A count is cheaper to ask for again and again than the list. */
async function isThrough({ home }: Host): Promise<boolean> {
  const plane = openPlane(home.operatorSocket);
  try {
    return /^gw_operations_open 0$/m.test((await plane.ask("GET", "/v1/metrics")).text);
  } finally {
    plane.close();
  }
}

async function sharedBy({ name }: Host): Promise<number | undefined> {
  const found = await cluster.sql<{ count: number }>(
    `select count(s.place)::int as count from gw_hub.state_head h left join gw_hub.state s using (gateway, term)
      where h.gateway = $1 and h.term = (select max(term) from gw_hub.state_head where gateway = $1) group by h.gateway`,
    [name],
  );
  return found[0]?.count;
}

/** False where all is well. */
async function troubleOf({ home }: Host): Promise<Members | false> {
  const { trouble } = (await home.status())["hub"] as { readonly trouble: Members | null };
  return trouble ?? false;
}

const shares = (host: Host, rows: number): Promise<unknown> =>
  until(`${host.name} has ${rows} rows on the hub`, async () => (await sharedBy(host)) === rows);

/** As if nobody had heard of it for an hour. */
const silence = ({ name }: Host): Promise<unknown> =>
  cluster.sql("update gw_hub.log_head set seen_at = clock_timestamp() - interval '1 hour' where gateway = $1", [name]);

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    const timer = setTimeout(end, ms);
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}

async function killHard(host: Host): Promise<void> {
  process.kill(host.gateway.pid, "SIGKILL");
  await host.gateway.exited;
}

/** One more read of a job of web1's, asked for on another machine; the administrator asks for it once more. */
async function askFromElsewhere(id: string): Promise<void> {
  const hub = ["--hub", cluster.url("owner")];
  await until(
    "it is shown on the hub",
    async () => (await web2.home.operator(["operation", "show", id, ...hub])).code === 0,
  );
  const refused = await web2.home.operator(["operation", "resume", id, "--reason", "why not", ...hub]);
  assert.equal(codeOf(refused), "operation_not_resumable", refused.err);
  const reads = sentTo("/v1/jobs/job-1", "GET");
  const asked = await web2.home.must(["operation", "reconcile", id, "--json", ...hub]);
  assert.equal((JSON.parse(asked.out) as Members)["gateway"], "web1", asked.out);
  await until("it was read", async () => sentTo("/v1/jobs/job-1", "GET") > reads);
  const asking = await web1.home.events("operation_asked");
  assert.deepEqual(
    asking.map(({ errand }) => errand),
    ["resume", "reconcile"],
  );
  for (const [gateway, code] of [["web1", "errand_over"] as const, ["web2", "card_mismatch"] as const]) {
    await cluster.sql(
      `insert into gw_hub.statements (id, gateway, body, kind) select 'hst_again_${gateway}', '${gateway}', body, kind
         from gw_hub.statements where body like '%"errand":"reconcile"%' and gateway = 'web1' limit 1`,
    );
    await cluster.sql("notify gw_hub");
    const answer = await until(`the word that was played again to ${gateway} is answered`, async () => {
      const [row] = await cluster.sql<{ answer: string | null }>(
        `select answer from gw_hub.statements where id = 'hst_again_${gateway}'`,
      );
      return row?.answer ?? false;
    });
    assert.equal((JSON.parse(answer) as Members)["code"], code);
  }
  assert.equal((await web1.home.events("operation_asked")).length, 2);
}

real("what is under way is on the hub once that is signed, and nothing of it can be read there", async () => {
  const alone = await web2.home.operator(["operation", "adopt", "web1"]);
  assert.equal(codeOf(alone), "hub_not_joined", alone.err);
  assert.equal(codeOf(await web1.home.operator(["hub", "set", "--operations", "all"])), "value_not_allowed");
  await web1.home.must(["credential", "lend", "brew-token", "--gateway", "web1"]);
  await web1.home.must(["hub", "set", "--operations", "shared"]);
  for (const host of [web1, web2]) await shares(host, 0);
  assert.equal(outcomeOf(await change(web1, "plain")), "success");
  await shares(web1, 0);
  const promoted = await call(web1.agent, web1.run, "acme.deployment.promote", {
    ...{ environment: "production", release: "sha256:r1" },
  });
  assert.equal(outcomeOf(promoted), "success", promoted.text);
  const brewed = await call(web1.agent, web1.run, "brew.token.create", { name: "ci" });
  assert.equal(outcomeOf(brewed), "success", brewed.text);
  await shares(web1, 2);
  const started = await call(web1.agent, web1.run, "acme.report.create", { account: "a1" });
  assert.ok(started.body["operation_id"], started.text);
  await until("its job was looked at", async () => sentTo("/v1/jobs/job-1", "GET") > 0);
  await askFromElsewhere(idIn(started, "operation_id"));
  holds = true;
  await change(web1, "lost", 0);
  await until("the provider has it", async () => held !== null);
  const rows = await cluster.sql<{ text: string }>(
    "select encode(sealed, 'escape') || place as text from gw_hub.state",
  );
  assert.ok(rows.length >= 3, `${rows.length}`);
  for (const { text } of rows) assert.doesNotMatch(text, /acme|lost|job-1|claim|operations|minted|capability/);
});

real(
  "a gateway that speaks is not taken over, and one that died is: a job, and a write that nobody saw the end of",
  async () => {
    const early = await web2.home.operator(["operation", "adopt", "web1"]);
    assert.equal(codeOf(early), "hub_gateway_alive", early.err);
    await killHard(web1);
    holds = false;
    held?.destroy();
    await silence(web1);
    const adopted = await web2.home.must(["operation", "adopt", "web1", "--json"]);
    assert.deepEqual(JSON.parse(adopted.out), { gateway: "web1", operations: 2, deployments: 1, minted: 1 });
    jobState = "succeeded";
    await until("both are settled", () => isThrough(web2));
    const ended = await operationsOf(web2);
    assert.ok(ended.every(({ settled }) => settled === true));
    assert.deepEqual(ended.map(({ state, action }) => [action, state]).sort(), [
      ["acme.report.create", "succeeded"],
      ["acme.thing.change", "succeeded"],
    ]);
    assert.deepEqual([sentTo("/v1/reports"), sentTo("/v1/things/lost")], [1, 1], "and nothing was sent again");
    const again = await web2.home.operator(["operation", "adopt", "web1"]);
    assert.equal(codeOf(again), "operation_taken_over", again.err);
    const told = await web2.home.events("operations_adopted");
    assert.deepEqual(
      told.map(({ gateway, operations }) => [gateway, operations]),
      [["web1", 2]],
    );
  },
);

const undo = ({ agent, run }: Host): Promise<Reply> =>
  call(agent, run, "acme.deployment.rollback", { origin_deployment_id: "dep-5", reason: "it burns" });

real(
  "what the dead one deployed is undone where it was taken over, once; what it minted is lost to nobody",
  async () => {
    const asked = undo(web2);
    const [question] = await web2.home.approvals();
    await web2.home.approve(idOf(question, "approval_id"));
    const undone = await asked;
    assert.equal(outcomeOf(undone), "success", undone.text);
    const [sent] = provider.received.filter(({ url }) => url === "/v1/environments/production/rollbacks");
    const said = JSON.parse(sent?.body ?? "{}") as Members;
    assert.deepEqual([said["restore_release_id"], said["expected_target_generation"]], ["sha256:r0", 5]);
    assert.equal(outcomeOf(await undo(web2)), "stale_rollback");
    // web2 may not lend what it was minted with, and does not have it; its operator may and has.
    const minted = JSON.parse((await web2.home.must(["credential", "minted", "--json"])).out) as Members[];
    const id = idOf(minted[0], "minted_id");
    assert.equal(minted.length, 1);
    const before = (await sharedBy(web2)) ?? 0;
    await web2.home.must(["credential", "adopt", id, "brewed", "--origin", brewer.origin]);
    assert.deepEqual(JSON.parse((await web2.home.must(["credential", "minted", "--json"])).out), []);
    await until("the hub has it no more", async () => ((await sharedBy(web2)) ?? 0) < before);
  },
);

real(
  "the one that was taken over comes back, finds its term gone, and neither reads nor settles any of it",
  async () => {
    const before = provider.received.length;
    await restart(web1);
    // What holds the same calls back here.
    await shares(web1, 2);
    await until("it let them go", async () => (await web1.home.events("operations_released")).length === 1);
    const open = await until("it learned how they ended", async () => {
      const all = await operationsOf(web1);
      return all.length === 2 && all.every(({ state }) => state === "succeeded") && all;
    });
    for (const { operation_id, lease } of open) {
      const id = String(operation_id);
      assert.equal((lease as Members)["owner"], "gateway web2");
      const shown = await web1.home.must(["operation", "show", id]);
      assert.match(shown.out, /taken over by +web2, where it ended succeeded at 20/);
      const asked = await web1.home.operator(["operation", "reconcile", id]);
      assert.equal(codeOf(asked), "operation_taken_over", asked.err);
    }
    const late = await undo(web1);
    assert.equal(outcomeOf(late), "operation_taken_over", late.text);
    const listed = JSON.parse((await web1.home.must(["credential", "minted", "--json"])).out) as Members[];
    assert.deepEqual(
      listed.map(({ also_on }) => also_on),
      ["web2"],
    );
    assert.equal(provider.received.length, before);
    // Whoever looks at all hosts is sent to the one that has them: nothing signed for them goes here any more.
    await until("it shows them on the hub no longer", async () => {
      const rows = await cluster.sql("select 1 from gw_hub.cards where gateway = 'web1' and approval_id = 'board'");
      return rows.length === 0;
    });
    const settled = [
      ...(await web1.home.events("operation_transition")),
      ...(await web2.home.events("operation_transition")),
    ];
    const by = settled.filter(({ to }) => to === "succeeded").map(({ actor }) => actor === "gateway web2");
    assert.deepEqual(by.sort(), [false, false, true, true], "exactly once each, and told to whoever had it");
    assert.equal(outcomeOf(await change(web1, "after")), "success", "and it goes on with a term of its own");
  },
);

real("no side effect leaves while the hub is away, reads go on, and nothing stops for good", async () => {
  way.cut();
  const before = provider.received.length;
  const cut = await change(web1, "never");
  // It was on its way when the cut came, so that it has a record: of nothing that left.
  assert.equal(outcomeOf(cut), "error", cut.text);
  assert.match(cut.text, /never_sent.*hub_unreachable/s);
  assert.equal(provider.received.length, before);
  // What the first one waited for in vain, the next ones do not wait for.
  const known = await until("gw status says so", async () => troubleOf(web1));
  assert.match(String(known["message"]), /no word .* for \d+ seconds/);
  assert.equal(outcomeOf(await change(web1, "never")), "hub_unreachable");
  assert.equal(outcomeOf(await call(web1.agent, web1.run, "acme.thing.get", { id: "after" })), "success");
  way.heal();
  await until("effects go on", async () => outcomeOf(await change(web1, "again")) === "success");
  await shares(web1, 2);
});

real("a database that takes no word of a gateway is asked at a pace of ours, and gw status says so", async () => {
  await cluster.sql(
    "create sequence public.words; create function public.keep_out() returns trigger language plpgsql security definer as $$ begin perform nextval('public.words'); return null; end $$; create trigger keep_out before insert or update on gw_hub.state_head for each row when (new.gateway = 'web1') execute function public.keep_out()",
  );
  const words = async (): Promise<number> => {
    const [row] = await cluster.sql<{ last_value: string }>("select last_value from public.words");
    return Number(row?.last_value);
  };
  const before = provider.received.length;
  // What moves a term that stands, and what begins one after a restart.
  for (const isKilled of [false, true]) {
    if (isKilled) {
      await killHard(web1);
      await restart(web1);
    }
    const kept = await change(web1, "kept out");
    assert.match(kept.text, /hub_unreachable/);
    await until("it says so", async () => {
      const trouble = await troubleOf(web1);
      return trouble !== false && trouble["code"] === "hub_refused";
    });
    const said = await words();
    await sleep(2_000);
    const more = (await words()) - said;
    assert.ok(more < 20, `${more} words in two seconds`);
  }
  assert.equal(provider.received.length, before);
  await cluster.sql("drop function public.keep_out() cascade; drop sequence public.words");
  await until("it is let in", async () => (await troubleOf(web1)) === false);
  assert.equal(outcomeOf(await change(web1, "let in")), "success");
});

real("whatever an administrator does to the rows of a dead gateway, nothing is taken over by them", async () => {
  holds = true;
  held = null;
  await change(web1, "mine", 0);
  await until("the provider has it", async () => held !== null);
  await killHard(web1);
  holds = false;
  (held as ServerResponse | null)?.destroy();
  await silence(web1);
  const ours = "gateway = 'web1' and term = (select max(term) from gw_hub.state_head where gateway = 'web1')";
  await cluster.sql(`create table kept as select * from gw_hub.state where ${ours}`);
  const tampering = [
    `delete from gw_hub.state where place = (select min(place) from gw_hub.state where ${ours})`,
    `update gw_hub.state set sealed = sealed || '\\x00' where ${ours}`,
    `update gw_hub.state set tick = tick + 1 where ${ours}`,
    `insert into gw_hub.state select gateway, term, place || '0', tick, sealed from kept limit 1`,
    // Twice adds nothing to the sum of all rows: an old row would come home beside the newest.
    `alter table gw_hub.state drop constraint state_pkey;
     insert into gw_hub.state select k.* from (select * from kept limit 1) k, generate_series(1, 2)`,
    `update gw_hub.state_head set tick = tick - 1 where ${ours}`,
  ];
  for (const one of tampering) {
    await cluster.sql(one);
    const refused = await web2.home.operator(["operation", "adopt", "web1"]);
    assert.equal(codeOf(refused), "hub_state_tampered", one);
    await cluster.sql(`delete from gw_hub.state where ${ours}`);
    await cluster.sql(`alter table gw_hub.state drop constraint if exists state_pkey, add primary key (gateway, term, place);
      insert into gw_hub.state select * from kept`);
  }
  await cluster.sql(`update gw_hub.state_head set tick = tick + 1 where ${ours}`);
  const adopted = await web2.home.must(["operation", "adopt", "web1", "--json"]);
  assert.deepEqual(JSON.parse(adopted.out), { gateway: "web1", operations: 1, deployments: 0, minted: 0 });
  await until("it is settled", () => isThrough(web2));
  assert.ok((await operationsOf(web2)).every(({ settled }) => settled === true));
  assert.equal(sentTo("/v1/things/mine"), 1);
});

/** Kills `by` after the hub has its word that it takes `from` over, and before it has anything of it. */
async function dieTakingOver(by: Host, from: Host): Promise<void> {
  await cluster.sql(`create or replace function wait() returns trigger language plpgsql as
    'begin perform pg_advisory_xact_lock(7); return null; end'`);
  await cluster.sql("create trigger wait after insert on gw_hub.adoptions for each row execute function wait()");
  const login = { address: readHubAddress(cluster.url("owner")), password: null, authority: null };
  const door = await connectDatabase(login);
  await door.ask("select pg_advisory_lock(7)");
  let refused: Exited | undefined;
  const asked = by.home.operator(["operation", "adopt", from.name]);
  void asked.then((exited) => (refused = exited));
  await until("it is about to take over", async () => {
    assert.equal(refused, undefined, "it does not take over");
    const waiting = await cluster.sql("select from pg_locks where locktype = 'advisory' and not granted");
    return waiting.length === 1;
  });
  await killHard(by);
  await door.close();
  assert.notEqual((await asked).code, 0);
  await until("the hub has its word", async () => {
    const rows = await cluster.sql("select from gw_hub.adoptions where gateway = $1 and by = $2 and term = $3", [
      ...[from.name, by.name],
      ...(
        await cluster.sql<{ term: string }>("select max(term) as term from gw_hub.state_head where gateway = $1", [
          from.name,
        ])
      ).map(({ term }) => term),
    ]);
    return rows.length === 1;
  });
  await cluster.sql("drop trigger wait on gw_hub.adoptions");
}

/** A write of `host` that the provider has, and whose end nobody sees: the host dies. */
async function dieSending(host: Host, id: string): Promise<void> {
  holds = true;
  held = null;
  await until("effects go on", async () => {
    await change(host, id, 0);
    return held !== null;
  });
  await killHard(host);
  holds = false;
  (held as ServerResponse | null)?.destroy();
  await silence(host);
}

real("a login of another vault takes the place of nobody, alive or dead", async () => {
  await restart(web1);
  assert.equal(outcomeOf(await change(web1, "before")), "success");
  await cluster.sql("create role other login in role gw_gateway");
  const asOther = (text: string) => cluster.sql(text, [], "other");
  await asOther("insert into gw_hub.gateways values ('other', 'other', '{}', '\\x00')");
  const newest = "from gw_hub.state_head where gateway = 'web1' order by term desc limit 1";
  const tries = async (): Promise<void> => {
    for (const proof of ["null", "'\\x00'", "proof_digest"])
      await assert.rejects(
        asOther(`insert into gw_hub.adoptions select gateway, term, tick, 'other', '{}', '\\x00', ${proof} ${newest}`),
        { code: "42501" },
        proof,
      );
  };
  const termOf = async () => (await cluster.sql<{ term: string }>(`select term ${newest}`))[0]?.term;
  const term = await termOf();
  await tries();
  assert.equal(outcomeOf(await change(web1, "after")), "success");
  assert.equal(await termOf(), term, "its term goes on");
  await dieSending(web1, "wanted");
  await tries();
  // Whoever has the database changes what is asked for: nothing is taken over either, and it is said why.
  const changeDigest = (to: string) =>
    cluster.sql(`update gw_hub.state_head set proof_digest = ${to} where gateway = 'web1' and term = $1`, [term]);
  await cluster.sql(`create table asked as select proof_digest ${newest}`);
  await changeDigest("'\\x00'");
  assert.equal(codeOf(await web2.home.operator(["operation", "adopt", "web1"])), "hub_state_tampered");
  await changeDigest("(select proof_digest from asked)");
  const adopted = await web2.home.must(["operation", "adopt", "web1", "--json"]);
  assert.equal((JSON.parse(adopted.out) as Members)["operations"], 1);
  await until("it is settled", () => isThrough(web2));
  assert.equal(sentTo("/v1/things/wanted"), 1);
  await cluster.sql("delete from gw_hub.gateways where name = 'other'");
});

real("a word by which a gateway was once taken over, played again, hides nothing of what it has open now", async () => {
  await restart(web1);
  jobState = "running";
  const started = await call(web1.agent, web1.run, "acme.report.create", { account: "a7" });
  assert.ok(started.body["operation_id"], started.text);
  const shown = async (): Promise<readonly Members[]> => {
    const listed = await web2.home.must(["operation", "list", "--json", "--hub", cluster.url("owner")]);
    return (JSON.parse(listed.out) as Members[]).filter(({ gateway }) => gateway === "web1");
  };
  await until("it is shown on the hub", async () => (await shown()).length === 1);
  await killHard(web1);
  await silence(web1);
  await cluster.sql(
    `insert into gw_hub.adoptions (gateway, term, tick, by, statement, signature)
       select h.gateway, h.term, h.tick, a.by, a.statement, a.signature
         from (select * from gw_hub.state_head where gateway = 'web1' order by term desc limit 1) h,
              (select * from gw_hub.adoptions where gateway = 'web1' and by = 'web2' order by term desc limit 1) a`,
  );
  assert.equal((await shown()).length, 1);
  await cluster.sql(
    "delete from gw_hub.adoptions where gateway = 'web1' and term = (select max(term) from gw_hub.adoptions where gateway = 'web1')",
  );
  await web2.home.must(["operation", "adopt", "web1"]);
  assert.equal((await shown()).length, 0);
  jobState = "succeeded";
  await until("it is settled", () => isThrough(web2));
});

real("who dies before it has what it took over is followed by the next, and brings none of it home", async () => {
  await restart(web1);
  await dieSending(web1, "chain");
  await dieTakingOver(web2, web1);
  const before = (await web1.home.events("operations_released")).length;
  await restart(web1);
  await until("it let it go", async () => (await web1.home.events("operations_released")).length > before);
  await silence(web2);
  const refused = await web1.home.operator(["operation", "adopt", "web7"]);
  assert.equal(codeOf(refused), "not_found", refused.err);
  const adopted = await web1.home.must(["operation", "adopt", "web2", "--json"]);
  assert.deepEqual(JSON.parse(adopted.out), { gateway: "web2", operations: 1, deployments: 0, minted: 0 });
  await until("it is settled", () => isThrough(web1));
  assert.ok((await operationsOf(web1)).some(({ state }) => state === "succeeded"));
  assert.equal(sentTo("/v1/things/chain"), 1);
  // A row that the administrator put there in web2's name.
  await cluster.sql(
    "insert into gw_hub.adoptions select gateway, term, tick, 'web2', '{}', '\\x00' from gw_hub.state_head where gateway = 'web1' order by term desc limit 1",
  );
  const told = (await web2.home.events("operations_adopted")).length;
  await restart(web2);
  await until("it let that go", async () => (await web2.home.events("operations_released")).length === 1);
  await until("effects go on", async () => outcomeOf(await change(web2, "own")) === "success");
  assert.equal((await web2.home.events("operations_adopted")).length, told, "and takes nothing over by itself");
});

real("what was taken over comes home after a kill, and a person ends what it holds back where it was", async () => {
  await dieSending(web1, "home");
  await dieTakingOver(web2, web1);
  const theirs =
    "gateway = 'web1' and term = (select max(term) from gw_hub.adoptions where gateway = 'web1' and by = 'web2')";
  await cluster.sql(`update gw_hub.state set sealed = sealed || '\\x00' where ${theirs}`);
  const before = (await web2.home.events("operations_adopted")).length;
  await restart(web2);
  await until("its own work goes on", async () => outcomeOf(await change(web2, "mine too")) === "success");
  await until("it says what it cannot bring home", async () =>
    (await web2.home.run(["status"])).out.includes("hub_state_tampered"),
  );
  // Nobody can tell web1 how it ended: a person can.
  const letGo = (await web1.home.events("operations_released")).length;
  await restart(web1);
  await until("it let it go", async () => (await web1.home.events("operations_released")).length > letGo);
  const again = await change(web1, "home");
  assert.equal(outcomeOf(again), "outcome_unsettled", again.text);
  const id = idIn(again, "operation_id");
  await web1.home.must(["operation", "settle", id, "--happened", "yes", "--reason", "seen there"]);
  assert.equal(outcomeOf(await change(web1, "home")), "success");
  await cluster.sql(`update gw_hub.state set sealed = substring(sealed for length(sealed) - 1) where ${theirs}`);
  await until("it came home", async () => (await web2.home.events("operations_adopted")).length > before);
  await until("it is settled", () => isThrough(web2));
  assert.ok((await operationsOf(web2)).every(({ settled }) => settled === true));
  assert.equal(sentTo("/v1/things/home"), 2, "once before, and once more at a person's word");
  const status = await web1.home.run(["status"]);
  assert.match(status.out, /^ {2}shared {4}term \d+, \d+ rows on the hub/m);
});

real(
  "a hub that was put back is noticed at once, and sends nothing with an effect before a person looked",
  async () => {
    assert.equal(outcomeOf(await change(web1, "kept")), "success");
    await killHard(web1);
    const newest = "select max(term) as term from gw_hub.state_head where gateway = 'web1'";
    const [last] = await cluster.sql<{ term: string }>(newest);
    // As it was in the life before, which web2 took over.
    await cluster.sql(`delete from gw_hub.state_head where gateway = 'web1' and term = (${newest})`);
    await restart(web1);
    const before = provider.received.length;
    await until("it knows", async () => outcomeOf(await change(web1, "no")) === "hub_rolled_back");
    assert.equal(provider.received.length, before);
    await web1.home.must(["hub", "join", cluster.url("web1", way.folder), "--name", "web1"]);
    await until("effects go on", async () => outcomeOf(await change(web1, "yes")) === "success");
    const [next] = await cluster.sql<{ term: string }>(newest);
    assert.ok(Number(next?.term) > Number(last?.term), "no word is ever said a second time in another way");
  },
);

real(
  "cut before or after the commit, or with the server gone: what was acknowledged is there, and nothing else",
  async () => {
    const [operator, one, other] = [0, 1, 2].map(() => generateKeyPairSync("ed25519").privateKey) as [
      KeyObject,
      KeyObject,
      KeyObject,
    ];
    const [hub] = await cluster.sql<{ hub_id: string }>("select hub_id from gw_hub.hub");
    const hubId = hub?.hub_id ?? "";
    const vaultId = "vault";
    for (const [gateway, key] of [["g0", one] as const, ["g1", other] as const]) {
      const identity_key = rawPublicOf("ed25519", key).toString("base64url");
      const enrolment: EnrolmentStatement = {
        ...{ format: "gw.hub-gateway/v1", hub_id: hubId, gateway, identity_key, log_id: "log", vault_id: vaultId },
        ...{ operator: "ada", operator_key_id: "key", signed_at: "2026-01-01T00:00:00.000Z" },
      };
      const { text, signature } = signHubWith(enrolment, operator);
      await cluster.sql(`create role ${gateway} login in role gw_gateway`);
      await cluster.sql("insert into gw_hub.gateways values ($1, $1, $2, $3)", [gateway, text, signature]);
    }
    const seal = limitSeal(createSecretKey(randomBytes(32)), { bytes: (length) => randomBytes(length) });
    const operators = () => [rawPublicOf("ed25519", operator)];
    const connect = (user: string) =>
      connectHub({ address: readHubAddress(cluster.url(user)), password: null, authority: null }, hubId);
    const here = new Map<string, SharedRow>();
    let fault: "before" | "after" | null = null;
    let takenBy = "";
    let awaited: readonly string[] = [];
    const cut = (): never => {
      fault = null;
      throw new Denied("hub_unreachable", "cut");
    };
    const keeper = startState({
      ...{ hubId, gateway: "g0", vaultId, identity: one, seal, operators },
      clock: { wallMs: () => Date.now(), bootMs: () => 0, bootId: () => "boot" },
      sleep: { sleep },
      async connect() {
        const made = await connect("g0");
        return {
          ...made,
          async ask<Row extends object>(text: string, values?: readonly unknown[]): Promise<readonly Row[]> {
            const writes = text.startsWith("with");
            if (writes && fault === "before") cut();
            const rows = await made.ask<Row>(text, values);
            return writes && fault === "after" ? cut() : rows;
          },
        };
      },
      recall: () => null,
      lastTerm: () => 0,
      remember: () => Promise.resolve(),
      isOpen: () => true,
      all: () => [...here.values()],
      find: ({ id }) => here.get(id) ?? null,
      onTaken(by) {
        takenBy = by;
        here.clear();
        return Promise.resolve();
      },
      has: () => true,
      isHome: () => true,
      requireReadable: () => undefined,
      isEndedElsewhere: () => false,
      awaited: () => awaited,
      onTold: () => Promise.resolve(),
      onAdopted: () => Promise.resolve({ operations: 0, deployments: 0, minted: 0 }),
      onTrouble: () => undefined,
    });
    try {
      const faults = [null, "before", "after", null, "after", "before", "after"] as const;
      let acknowledged = 0;
      for (let round = 0; round < 56; round++) {
        if (round % 20 === 19) {
          await cluster.kill();
          await cluster.start();
        }
        fault = faults[round % faults.length] ?? null;
        const row = { table: "operations", id: `op_${round % 9}`, runId: "run", state: "observing", body: { round } };
        try {
          await keeper.put([row]);
          here.set(row.id, row);
          acknowledged++;
        } catch (error) {
          assert.ok(error instanceof Denied && error.code === "hub_unreachable", String(error));
          await until("it is back", async () => keeper.status().trouble === null);
        }
        if (round % 5 === 4 && here.delete(row.id)) keeper.touch([row]);
      }
      assert.ok(acknowledged > 0, `${acknowledged} of 56`);
      fault = null;
      await until("all of it is there", async () => keeper.status().waiting === 0 && keeper.status().trouble === null);
      const by = await connect("g1");
      const adopting = {
        hubId,
        gateway: "g1",
        vaultId,
        identity: other,
        seal,
        operators,
        isHome: () => true,
        requireReadable: () => undefined,
      };
      const there = await until("no word is on its way", () =>
        adoptTerm(by, adopting, "g0").catch((error: unknown) => {
          assert.ok(error instanceof Denied && error.code === "hub_gateway_alive", String(error));
          return false as const;
        }),
      );
      await by.close();
      const sorted = (rows: readonly SharedRow[]) => [...rows].sort((x, y) => (x.id < y.id ? -1 : 1));
      assert.deepEqual(sorted((there as Adopted | null)?.rows ?? []), sorted([...here.values()]));
      const late = { table: "operations", id: "op_late", runId: "run", state: "observing", body: {} };
      await assert.rejects(keeper.put([late]), (error) => error instanceof Denied);
      await until("it knows by whom", async () => takenBy === "g1");
      // Whoever owns g1 signs whatever they like, and puts there as much as they like: g0 goes on.
      const goesOn = () =>
        until("it goes on", () =>
          keeper.put([late]).then(
            () => true,
            () => false,
          ),
        );
      await goesOn();
      const [last] = await cluster.sql<{ term: string; tick: string }>(
        "select term, tick from gw_hub.state_head where gateway = 'g0' order by term desc limit 1",
      );
      const [term, tick] = [Number(last?.term), Number(last?.tick)];
      const taking = signHubWith(
        {
          ...{ format: "gw.hub-adoption/v1", hub_id: hubId, vault_id: vaultId, gateway: "g0", term, tick, by: "g1" },
          along: null as unknown as [],
        },
        other,
      );
      const proof = takingProof(seal, { hubId, vaultId, gateway: "g0", term });
      await cluster.sql(
        "insert into gw_hub.adoptions values ('g0', $1, $2, 'g1', $3, $4, $5)",
        [term, tick, taking.text, taking.signature, proof],
        "g1",
      );
      await goesOn();
      const word = signHubWith(
        {
          ...{ format: "gw.hub-state/v1", hub_id: hubId, gateway: "g1", vault_id: vaultId, term: 1, tick: 1, sum: "" },
          written_at: "2026-01-01T00:00:00.000Z",
        },
        other,
      );
      await cluster.sql(
        "insert into gw_hub.state_head (gateway, term, tick, statement, signature) values ('g1', 1, 1, $1, $2)",
        [word.text, word.signature],
        "g1",
      );
      await cluster.sql(
        "insert into gw_hub.state select 'g1', 1, 'row ' || n, 1, decode(repeat('00', 8388608), 'hex') from generate_series(1, 7) n",
        [],
        "g1",
      );
      awaited = ["g1"];
      fault = "before";
      await assert.rejects(keeper.put([late]), (error) => error instanceof Denied);
      await until("it is told", async () => keeper.status().trouble?.code === "hub_state_tampered");
      await goesOn();
    } finally {
      keeper.close();
    }
  },
);

real("failed work is resumed and running work called off from another machine, each once", async () => {
  const hub = ["--hub", cluster.url("owner")];
  // The server was killed in the test before: a gateway that has not found it again refuses to begin work.
  await until("effects go on", async () => outcomeOf(await change(web1, "before the job")) === "success");
  jobState = "failed";
  const started = await call(web1.agent, web1.run, "acme.report.create", { account: "a9" });
  const id = idIn(started, "operation_id");
  const isNow = (state: string): Promise<unknown> =>
    until(`the hub shows that it is ${state}`, async () => {
      const shown = await web2.home.operator(["operation", "show", id, "--json", ...hub]);
      return shown.code === 0 && (JSON.parse(shown.out) as Members)["state"] === state;
    });
  const ask = (errand: string): Promise<unknown> =>
    web2.home.must(["operation", errand, id, "--reason", "by hand", ...hub]);
  await isNow("failed");
  await ask("resume");
  assert.equal(sentTo("/v1/jobs/job-1/resume"), 1);
  await isNow("observing");
  await ask("cancel");
  assert.equal(sentTo("/jobs/job-1", "DELETE"), 1);
  jobState = "cancelled";
  await until("it has ended where it ran", async () => {
    return (await operationsOf(web1)).some(({ operation_id, state }) => operation_id === id && state === "cancelled");
  });
});

real("what is no longer shared is on the hub no longer, the host goes on alone, and shares again", async () => {
  await web1.home.must(["hub", "set", "--operations", "own"]);
  await until("nobody has a term", async () => {
    const left = await cluster.sql(
      "select 1 from gw_hub.state_head h where gateway like 'web%' and not exists (select from gw_hub.adoptions a where a.gateway = h.gateway and a.term = h.term)",
    );
    return left.length === 0;
  });
  way.cut();
  assert.equal(outcomeOf(await change(web1, "alone")), "success");
  way.heal();
  // Nobody took the hub back: this host had removed what was there.
  await web1.home.must(["hub", "set", "--operations", "shared"]);
  await until("web1 has a term", async () => (await sharedBy(web1)) !== undefined);
  await until("it is well", async () => (await troubleOf(web1)) === false);
  // Its other connections may still be on their way back.
  await until("effects go on", async () => outcomeOf(await change(web1, "together")) === "success");
});

real("a hub of another format is refused by name, and its owner brings an older one up to date", async () => {
  const status = () => web2.home.run(["status", "--hub", cluster.url("owner")]);
  const withoutLogins =
    "drop policy look on gw_hub.limit_head; drop policy old_end on gw_hub.limit_head; alter table gw_hub.limit_head drop column login cascade";
  await cluster.sql("update gw_hub.hub set version = version + 1");
  const newer = await status();
  assert.equal(codeOf(newer), "hub_unknown", newer.err);
  assert.equal(codeOf(await web2.home.run(["hub", "init", cluster.url("owner")])), "hub_unknown");
  // Gateways are at work in these tables: of two that wait for each other, the database may choose this one.
  const alter = (text: string) =>
    until("the tables are changed", () =>
      cluster.sql(text).then(
        () => true,
        (error: { readonly code?: string }) => (error.code === "40P01" ? false : Promise.reject(error)),
      ),
    );
  await alter(
    "drop table gw_hub.turns, gw_hub.adoptions, gw_hub.state, gw_hub.state_head, gw_hub.waiting; alter table gw_hub.statements drop column kind",
  );
  await alter(withoutLogins);
  await cluster.sql("update gw_hub.hub set version = 1");
  assert.equal(codeOf(await status()), "hub_unknown");
  // Whatever stops it half-way leaves the older one as it was.
  await cluster.sql("create table gw_hub.adoptions ()");
  assert.equal(codeOf(await web2.home.run(["hub", "init", cluster.url("owner")])), "hub_refused");
  assert.deepEqual(await cluster.sql("select to_regclass('gw_hub.state_head') as made, version from gw_hub.hub"), [
    { made: null, version: 1 },
  ]);
  await cluster.sql("drop table gw_hub.adoptions");
  assert.equal((await web2.home.run(["hub", "init", cluster.url("owner")])).code, 0);
  assert.equal((await status()).code, 0);
  const withoutProofs =
    "alter table gw_hub.state_head drop column proof_digest cascade; alter table gw_hub.adoptions drop column proof cascade; create policy own on gw_hub.adoptions for insert to gw_gateway with check (true)";
  await alter(`${withoutProofs}; ${withoutLogins}; drop table gw_hub.turns; update gw_hub.hub set version = 2`);
  assert.equal(codeOf(await status()), "hub_unknown");
  assert.equal((await web2.home.run(["hub", "init", cluster.url("owner")])).code, 0);
  assert.equal((await status()).code, 0);
});
