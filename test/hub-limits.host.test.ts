import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { readHubAddress } from "../src/hub/address.ts";
import { connectHub } from "../src/hub/connect.ts";
import { type LimitKeeper, type RememberedLimit, startLimits } from "../src/hub/limits.ts";
import { limitSeal } from "../src/programs/daemon/hub/limits.ts";
import { untilFollowed } from "./support/fleet.ts";
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
  until,
} from "./support/home.ts";
import { QuickHome } from "./support/operator-key.ts";
import { makePartition, type Partition } from "./support/partition.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

const FLEET = ["g0", "g1", "g2", "g3", "g4", "g5", "g6", "g7"];
const MORE = `  thing.pay:
    effect: write
    max_cost_cents: 30
    request: { method: POST, path: /v1/paid, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
  thing.quote:
    effect: read
    max_cost_cents: 30
    actual_cost: { header: X-Price, unit: cents }
    request: { method: GET, path: "/v1/quotes/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
`;

interface Host {
  readonly home: Home;
  readonly gateway: Gateway;
  readonly agent: Plane;
  readonly run: string;
}

let cluster: Cluster;
let way: Partition;
let provider: TestProvider;
const hosts: Host[] = [];
const keepers: LimitKeeper[] = [];

before(async () => {
  if (skip !== false) return;
  [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
  way = await makePartition(cluster);
  const first = await new QuickHome(makeFolder()).init();
  await first.addCredential("demo-token", provider.origin);
  await first.trustPack("demo", demoPack(provider.origin, MORE));
  assert.equal((await first.run(["hub", "init", cluster.url("owner")])).code, 0);
  for (const name of ["web1", "web2", ...FLEET]) await cluster.sql(`create role ${name} login in role gw_gateway`);
  for (const name of FLEET) await cluster.sql("insert into gw_hub.gateways values ($1, $1, '', '')", [name]);
  hosts.push(await begin(first, "web1", cluster.folder));
  const second = new QuickHome(makeFolder()).carryFrom(first, "packs");
  hosts.push(await begin(second, "web2", way.folder));
  await untilFollowed(first, second);
});
async function begin(home: Home, name: string, socket: string): Promise<Host> {
  const gateway = await home.up();
  await home.must(["hub", "join", cluster.url(name, socket), "--name", name]);
  const agent = openPlane(home.agentSocket);
  const actions = ["demo.thing.get", "demo.thing.make", "demo.thing.pay", "demo.thing.quote"];
  return { home, gateway, agent, run: await openRun(home, agent, actions, { side_effects: 30, spend_cents: 900 }) };
}

/** Signed on the first host, and in force on both. */
async function sign(...limit: readonly string[]): Promise<void> {
  await hosts[0]?.home.must(["hub", "limit", ...limit]);
  await untilFollowed(...hosts.map(({ home }) => home));
}

after(async () => {
  if (skip !== false) return;
  for (const keeper of keepers) keeper.close();
  for (const { agent, gateway } of hosts) {
    agent.close();
    await gateway.end();
  }
  way.close();
  await provider.close();
  await cluster.stop();
});

const key = createSecretKey(randomBytes(32));
const random = { bytes: (length: number) => randomBytes(length) };
/** Nobody gives up waiting for a turn: a busy machine is no hub that is away. */
const clock = { wallMs: () => Date.now(), bootMs: () => 0, bootId: () => "boot" };
const sleep = {
  sleep: (ms: number, signal?: AbortSignal) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms < 1_000 ? ms : 150_000);
      signal?.addEventListener(
        "abort",
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    }),
};

/** What a gateway counts with, over a login of its own; `memory` is what its host remembers. */
async function keeperOf(
  gateway: string,
  memory = new Map<string, RememberedLimit>(),
  wall = clock.wallMs,
): Promise<LimitKeeper> {
  const login = { address: readHubAddress(cluster.url(gateway)), password: null, authority: null };
  const [hub] = await cluster.sql<{ hub_id: string }>("select hub_id from gw_hub.hub");
  const keeper = startLimits({
    ...{ hubId: hub?.hub_id ?? "", gateway, vaultId: "vault", seal: limitSeal(key, random), sleep, random },
    clock: { ...clock, wallMs: wall },
    connect: () => connectHub(login, hub?.hub_id ?? ""),
    recall: (name) => memory.get(name) ?? null,
    remember: async (name, seen) => void memory.set(name, seen),
  });
  keepers.push(keeper);
  return keeper;
}

const refusal = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    (day) => day,
    (error: { readonly code?: string }) => error.code ?? error,
  );

real("eight gateways that take at once are granted exactly as much as there is", async () => {
  const fleet = await Promise.all(FLEET.map((gateway) => keeperOf(gateway)));
  let granted = 0;
  await Promise.all(
    fleet.map(async (keeper) => {
      for (let round = 0; round < 6; round++) {
        // Several callers of one gateway, and all gateways, at one moment.
        const days = await Promise.all([1, 2, 3].map((amount) => keeper.take({ counter: "joint", most: 90, amount })));
        days.forEach((day, at) => {
          if (day !== null) granted += at + 1;
        });
        const [back] = days;
        if (back != null && round % 4 === 0) {
          await keeper.take({ counter: "joint", most: Infinity, amount: -1, day: back });
          granted -= 1;
        }
      }
    }),
  );
  // The last ones go one by one, so that nothing is left over.
  while ((await fleet[0]?.take({ counter: "joint", most: 90, amount: 1 })) !== null) granted++;
  assert.equal(granted, 90);
  assert.equal(fleet[0]?.known().find(({ counter }) => counter === "joint")?.used, 90);
  const rows = await cluster.sql<{ name: string; head: Buffer }>("select name, sealed as head from gw_hub.limit_head");
  assert.doesNotMatch(
    rows.map(({ name, head }) => `${name} ${head.toString("latin1")}`).join(" "),
    /joint|serial|used/,
  );
});

real("whatever an administrator does to the rows of a limit grants nothing", async () => {
  const memory = new Map<string, RememberedLimit>();
  const mine = await keeperOf("g0", memory);
  const other = await keeperOf("g1");
  const take = (keeper: LimitKeeper, most = 10) => refusal(keeper.take({ counter: "held", most, amount: 1 }));
  await take(mine);
  await take(other);
  await cluster.sql("create table public.old_head as table gw_hub.limit_head");
  await cluster.sql("create table public.old_share as table gw_hub.limit_share");
  const today = await take(mine);
  assert.match(String(today), /^\d{4}-\d\d-\d\d$/);
  await cluster.sql("create table public.new_head as table gw_hub.limit_head");
  await cluster.sql("create table public.new_share as table gw_hub.limit_share");
  const restore = async (of: string): Promise<void> => {
    await cluster.sql("delete from gw_hub.limit_head; delete from gw_hub.limit_share");
    await cluster.sql(
      `insert into gw_hub.limit_head table public.${of}_head; insert into gw_hub.limit_share table public.${of}_share`,
    );
  };
  const crimes: readonly (readonly [string, string, string])[] = [
    ["a share is dropped", "delete from gw_hub.limit_share where gateway = 'g1'", "hub_limit_tampered"],
    [
      "a share is put back",
      "update gw_hub.limit_share s set serial = o.serial, sealed = o.sealed from public.old_share o where (o.name, o.gateway) = (s.name, s.gateway) and s.gateway = 'g0'",
      "hub_limit_tampered",
    ],
    ["a serial is edited", "update gw_hub.limit_share set serial = serial + 1", "hub_limit_tampered"],
    [
      "a byte is edited",
      "update gw_hub.limit_share set sealed = set_byte(sealed, 70, get_byte(sealed, 70) # 1)",
      "hub_limit_tampered",
    ],
    [
      "a share is given to another",
      "update gw_hub.limit_share set gateway = 'web1' where gateway = 'g1'",
      "hub_limit_tampered",
    ],
    ["the head's version is edited", "update gw_hub.limit_head set version = version + 5", "hub_limit_tampered"],
    ["the head is dropped", "delete from gw_hub.limit_head", "hub_limit_tampered"],
    [
      "yesterday's rows become today's",
      "update gw_hub.limit_head set day = '2020-01-01'; update gw_hub.limit_share set day = '2020-01-01'",
      "hub_rolled_back",
    ],
    ["everything is dropped", "delete from gw_hub.limit_head; delete from gw_hub.limit_share", "hub_rolled_back"],
  ];
  // Whoever has a login can spoil a head, and leaves its name by that.
  await restore("new");
  const asWeb1 = (text: string) => cluster.sql(text, [], "web1");
  await assert.rejects(asWeb1("update gw_hub.limit_head set sealed = '\\x00'"), /row-level security/);
  await asWeb1("delete from gw_hub.limit_head");
  assert.equal(await take(await keeperOf("g0", new Map(memory))), today, "nothing was removed");
  await restore("new");
  await asWeb1("update gw_hub.limit_head set sealed = '\\x00', login = current_user");
  const spoilt = (await keeperOf("g0", new Map(memory))).take({ counter: "held", most: 10, amount: 1 });
  await assert.rejects(spoilt, /the database login web1\./);
  // And who puts a share beside it is named by that, not who wrote the head in good faith.
  await restore("new");
  await asWeb1(
    "insert into gw_hub.limit_share select vault, name, day, 'web1', 1, sealed from gw_hub.limit_share where gateway = 'g1'",
  );
  const beside = (await keeperOf("g0", new Map(memory))).take({ counter: "held", most: 10, amount: 1 });
  await assert.rejects(beside, /a share of web1 that its head does not name/);
  for (const [name, text, code] of crimes) {
    await restore("new");
    await cluster.sql(text);
    assert.equal(await take(await keeperOf("g0", memory)), code, name);
  }
  await restore("old");
  assert.equal(await take(await keeperOf("g0", memory)), "hub_rolled_back", "head and shares are put back together");
  assert.equal(await take(mine), "hub_rolled_back", "also with what was seen in mind");
  await restore("new");
  assert.equal(await take(await keeperOf("g0", memory)), today, "as they were");
  const looked = new Map<string, RememberedLimit>();
  assert.equal(await take(await keeperOf("g2", looked), 0), null, "refused, and seen by that");
  await cluster.sql("delete from gw_hub.limit_head; delete from gw_hub.limit_share");
  assert.equal(await take(await keeperOf("g2", looked)), "hub_rolled_back", "what was only looked at is remembered");
});

real("an answer that is larger than any of ours ends its connection, and nothing else", async () => {
  const login = { address: readHubAddress(cluster.url("g0")), password: null, authority: null };
  const connection = await connectHub(login, null);
  const lost = new Promise<void>((resolve) => connection.onLost(resolve));
  const asked = connection.ask("select repeat('x', 1048576) from generate_series(1, 100)");
  assert.equal(await refusal(asked), "hub_unreachable");
  await lost;
  await connection.close();
});

real("a clock that neither host nor database shares begins no day", async () => {
  const memory = new Map<string, RememberedLimit>();
  const tomorrow = await keeperOf("g0", memory, () => Date.now() + 86_400_000);
  assert.equal(await refusal(tomorrow.take({ counter: "days", most: 1, amount: 1 })), "hub_clock_off");
  const day = String(await (await keeperOf("g0", memory)).take({ counter: "days", most: 1, amount: 1 }));
  const keeper = await keeperOf("g0", memory);
  assert.equal(
    await keeper.take({ counter: "days", most: 1, amount: -1, day: "2020-01-01" }),
    day,
    "over, and gives nothing back",
  );
  assert.equal(await keeper.take({ counter: "days", most: 1, amount: 1 }), null);
});

real("a gateway reaches no share of another's, and operators sign what a limit can be", async () => {
  for (const text of [
    "update gw_hub.limit_share set serial = 0 where gateway = 'g1' returning 1",
    "delete from gw_hub.limit_share where gateway = 'g1' returning 1",
  ])
    assert.equal((await cluster.sql(text, [], "g0")).length, 0, text);
  await assert.rejects(cluster.sql("insert into gw_hub.limit_share values ('v', 'n', 'd', 'g1', 1, '')", [], "g0"), {
    code: "42501",
  });
  const home = hosts[0]?.home as Home;
  const about = ["--pack", "demo"];
  for (const odd of [
    [],
    ["--counts", "all", ...about],
    ["--counts", "attempts"],
    ["--counts", "attempts", ...about, "--grant", "x"],
    ["--counts", "attempts", ...about, "--a-day", "-1"],
  ])
    assert.equal(
      codeOf(await home.operator(["hub", "limit", "odd", "--a-day", "1", ...odd])),
      "value_not_allowed",
      odd.join(" "),
    );
  assert.equal(codeOf(await home.operator(["hub", "limit", "none", "--remove"])), "not_found");
});

const make = (at: number, name: string): Promise<Reply> =>
  call(hosts[at]?.agent as Plane, hosts[at]?.run ?? "", "demo.thing.make", { name });
const said = ({ body }: Reply): unknown => body["outcome"] ?? body["code"];

real("two gateways of one vault together send as many side effects as a limit has, and reads go on", async () => {
  await sign("things", "--counts", "side_effects", "--pack", "demo", "--a-day", "5");
  const before = provider.received.length;
  const replies = await Promise.all([0, 1, 0, 1, 0, 1, 0, 1].map((at, one) => make(at, `thing ${one}`)));
  const told = replies.map(said).sort();
  assert.deepEqual(told, [...Array(3).fill("fleet_limit_reached"), ...Array(5).fill("success")]);
  assert.equal(provider.received.length - before, 5);
  for (const { agent, run } of hosts)
    assert.equal(said(await call(agent, run, "demo.thing.get", { id: "1" })), "success", "no side effect, not counted");
  const [host] = hosts;
  assert.match(
    (await host?.home.run(["status"]))?.out ?? "",
    /limit +things: 5 side effects a day with the pack demo; \d taken/,
  );
  const denied = await Promise.all(hosts.map(({ home }) => home.events("call_denied")));
  assert.ok(JSON.stringify(denied).includes("fleet_limit_reached"), "the refusal is in the log");
});

real("what is counted is refused while the hub is away, and its crash forgets nothing that was taken", async () => {
  await sign("things", "--counts", "side_effects", "--pack", "demo", "--a-day", "7");
  assert.equal(said(await make(0, "before")), "success");
  await cluster.kill();
  const before = provider.received.length;
  assert.equal((await make(0, "away")).body["code"], "hub_unreachable");
  assert.equal(provider.received.length, before);
  await cluster.start();
  const after = [await make(0, "after"), await make(0, "too many"), await make(1, "too many here")].map(said);
  assert.deepEqual(after, ["success", "fleet_limit_reached", "fleet_limit_reached"]);
  // Cut off in the middle of it, and then restarted: what the hub has is what counts.
  await sign("things", "--counts", "side_effects", "--pack", "demo", "--a-day", "8");
  way.cut();
  assert.equal((await make(1, "cut")).body["code"], "hub_unreachable");
  way.heal();
  assert.equal(said(await make(1, "healed")), "success");
  assert.equal(said(await make(0, "one too many")), "fleet_limit_reached");
});

real(
  "a limit that is signed to count something else begins to count that, and goes on where it was once it is signed back",
  async () => {
    await sign("things", "--remove");
    const get = async (at: number): Promise<unknown> =>
      said(await call(hosts[at]?.agent as Plane, hosts[at]?.run ?? "", "demo.thing.get", { id: "1" }));
    const [ok, reached] = ["success", "fleet_limit_reached"];
    const attempts = ["turned", "--counts", "attempts", "--a-day", "2", "--pack", "demo"];
    await sign(...attempts);
    assert.deepEqual([await get(0), await get(1), await get(0)], [ok, ok, reached]);
    // Two attempts are neither two side effects, nor were they made with this credential as far as anybody counted.
    await sign("turned", "--counts", "side_effects", "--a-day", "1", "--pack", "demo");
    assert.deepEqual([said(await make(1, "one")), said(await make(0, "two"))], [ok, reached]);
    await sign("turned", "--counts", "attempts", "--a-day", "1", "--credential", "demo-token");
    assert.deepEqual([await get(0), await get(1)], [ok, reached]);
    await sign(...attempts);
    assert.deepEqual([await get(1), await get(0)], [reached, reached]);
    await sign("turned", "--counts", "attempts", "--a-day", "3", "--pack", "demo");
    assert.deepEqual([await get(0), await get(1)], [ok, reached], "more of the same goes on from where it was");
    await sign("turned", "--remove");
  },
);

real("money is counted at its most before it is spent, and what was not spent comes back", async () => {
  await sign("money", "--counts", "spend_cents", "--credential", "demo-token", "--a-day", "65");
  const pay = (at: number, name: string): Promise<Reply> =>
    call(hosts[at]?.agent as Plane, hosts[at]?.run ?? "", "demo.thing.pay", { name });
  provider.answer((_request, response) => response.writeHead(409, { "content-type": "application/json" }).end("{}"));
  assert.equal(said(await pay(0, "refused by the provider")), "error");
  provider.answer((_request, response) => response.writeHead(200, { "content-type": "application/json" }).end("{}"));
  assert.deepEqual(
    [said(await pay(1, "one")), said(await pay(0, "two")), said(await pay(1, "three"))],
    ["success", "success", "fleet_limit_reached"],
  );
});

real("a call that is redirected counts once, with what it cost beyond its reserve or short of it", async () => {
  await sign("money", "--remove");
  await sign("quotes", "--counts", "spend_cents", "--pack", "demo", "--a-day", "100");
  const taken = async (at: number): Promise<unknown> => {
    const { hub } = (await hosts[at]?.home.status()) ?? {};
    const { limits } = hub as { readonly limits: readonly Members[] };
    return limits.find(({ name }) => name === "quotes")?.["used"];
  };
  const quote = (at: number, cents: number): Promise<Reply> => {
    provider.answer(({ url }, response) =>
      url === "/v1/quotes/1"
        ? response.writeHead(307, { location: "/v1/quotes/2" }).end()
        : response.writeHead(200, { "content-type": "application/json", "x-price": String(cents) }).end("{}"),
    );
    return call(hosts[at]?.agent as Plane, hosts[at]?.run ?? "", "demo.thing.quote", { id: "1" });
  };
  assert.equal(said(await quote(0, 45)), "success");
  await until("more than the reserve is counted", async () => (await taken(0)) === 45);
  assert.equal(said(await quote(1, 10)), "success");
  await until("what it did not cost is given back", async () => (await taken(1)) === 55);
});
