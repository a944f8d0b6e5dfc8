import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createClock, systemRandom as random, systemSleep } from "../src/adapters/platform/system.ts";
import { readHubAddress } from "../src/hub/address.ts";
import { connectHub } from "../src/hub/connect.ts";
import { type SeenTurn, startTurns } from "../src/hub/turns.ts";
import { rawPublicOf } from "../src/vault/keys.ts";
import { type AuthorizationServer, startAuthorizationServer } from "./support/authorization-server.ts";
import { untilFollowed } from "./support/fleet.ts";
import { codeOf, type Gateway, type Home, type Members, makeFolder, openPlane, until } from "./support/home.ts";
import { QuickHome } from "./support/operator-key.ts";
import { makePartition, type Partition } from "./support/partition.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 240_000 }, run);

const SCOPE = "openid offline_access api:read";
const PACK = (origin: string): string => `format: gw.pack/v1
pack: acme
provider:
  origin: ${origin}
  credential: person
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/things/{id}" }
    input: { id: { in: path, type: string, maxLength: 64 } }
`;

/** One vault on two hosts, a real database, a real authorization server that takes everything back when a refresh token comes twice. */
let cluster: Cluster;
let way: Partition;
let server: AuthorizationServer;
let api: TestProvider;
let web1: QuickHome;
let web2: QuickHome;
const running = new Map<Home, Gateway>();
const tokens = new Set<string>();

before(async () => {
  if (skip !== false) return;
  const ca = join(makeFolder(), "authority.pem");
  [cluster, api, server] = await Promise.all([
    makeCluster(programs, makeFolder()),
    startProvider(),
    startAuthorizationServer(ca),
  ]);
  way = await makePartition(cluster);
  api.answer(async (request, response) => {
    const token = request.headers.authorization?.slice("Bearer ".length) ?? "";
    tokens.add(token);
    response.writeHead((await server.knows(token)) ? 200 : 401, { "content-type": "application/json" }).end("{}");
  });
  web1 = await new QuickHome(makeFolder()).init();
  await bring(web1);
  assert.equal((await web1.run(["hub", "init", cluster.url("owner")])).code, 0);
  await cluster.sql("create role web1 login in role gw_gateway; create role web2 login in role gw_gateway");
  await web1.must(["hub", "join", cluster.url("web1"), "--name", "web1"]);
  web2 = new QuickHome(makeFolder()).carryFrom(web1);
  await bring(web2);
  await web2.must(["hub", "join", cluster.url("web2", way.folder), "--name", "web2"]);
  await untilFollowed(web1, web2);
  const client = ["--grant", "refresh_token", "--client-id", "person-client", "--client-auth", "none"];
  const about = ["--kind", "oauth2", "--issuer", server.issuer, "--ca", ca, "--origin", api.origin, ...client];
  const scopes = SCOPE.split(" ").flatMap((one) => ["--scope", one]);
  const { refreshToken: input } = await server.agree("person-client", SCOPE);
  await web1.must(["credential", "add", "person", ...about, ...scopes], { input });
  await web1.trustPack("acme", PACK(api.origin));
  await until("the pack is on the other host", () => existsSync(join(web2.folder, "packs", "acme.yaml")));
});
after(async () => {
  if (skip !== false) return;
  for (const gateway of running.values()) await gateway.end();
  way.close();
  await api.close();
  await server.close();
  await cluster.stop();
});

async function bring(home: Home): Promise<void> {
  running.set(home, await home.upWith(join(import.meta.dirname, "support", "hurry.ts")));
}

/** What is waited for in vain is given up soon: only while nothing else is waited for. */
function hurry(home: Home, name: "hubWaitMs" | "hubTurnMs"): () => void {
  writeFileSync(`${home.folder}.waits`, JSON.stringify({ [name]: 300 }));
  return () => rmSync(`${home.folder}.waits`);
}

/** A busy machine is no hub that is away. */
const PATIENT = {
  sleep: (ms: number, signal?: AbortSignal): Promise<void> =>
    ms < 1_000 ? systemSleep.sleep(ms, signal) : new Promise<void>(() => undefined),
};

const asked = (): number => server.asked.get("/token") ?? 0;
const tryOn = (home: QuickHome) => home.testCredential("person");
const codeOn = async (home: QuickHome): Promise<string> => {
  const done = await tryOn(home);
  return done.code === 0 ? "got" : codeOf(done);
};
const gets = (home: QuickHome): Promise<boolean> =>
  until("it gets a token", async () => (await codeOn(home)) === "got", 120_000);
const wordOf = async (): Promise<Members> => {
  const [row] = await cluster.sql<{ statement: string }>("select statement from gw_hub.turns");
  return JSON.parse(row?.statement ?? "{}") as Members;
};

async function read(home: Home): Promise<Members> {
  const agent = openPlane(home.agentSocket);
  try {
    const run = await agent.ask("POST", "/v1/runs", { purpose: "a test", actions: ["acme.thing.get"], budget: {} });
    assert.equal(run.status, 202, run.text);
    await home.approve(idIn(run, "approval_id"));
    const path = `/v1/runs/${idIn(run, "run_id")}/calls`;
    return (await agent.ask("POST", path, { action: "acme.thing.get", input: { id: "1" } }, { prefer: "wait=40" }))
      .body;
  } finally {
    agent.close();
  }
}

/** An operator gives a new refresh token, and begins with it on a host. */
async function agreeAnew(): Promise<void> {
  const { refreshToken: input } = await server.agree("person-client", SCOPE);
  const { version = 0 } = await wordOf();
  await web1.must(["credential", "rotate", "person"], { input });
  await gets(web1);
  await until("the other follows", async () => (await codeOn(web2)) === "got", 120_000);
  assert.ok(Number((await wordOf())["version"]) > Number(version));
}

real("nobody uses a refresh token that gateways share before an operator began with it", async () => {
  for (const home of [web1, web2]) assert.equal((await read(home))["code"], "credential_shared");
  assert.equal(asked(), 0);
  await web1.must(["credential", "test", "person"]);
  await until("the other has seen it", async () => (await read(web2))["outcome"] === "success", 120_000);
  assert.equal((await read(web1))["outcome"], "success");
  const [row] = await cluster.sql<{ sealed: Buffer; statement: string }>("select sealed, statement from gw_hub.turns");
  const stored = `${row?.sealed.toString("latin1")}${row?.statement}`;
  for (const secret of [...server.refreshTokens, "person"]) assert.ok(!stored.includes(secret));
});

real("two gateways that refresh at once take turns: the provider sees no refresh token twice", async () => {
  const before = asked();
  for (let round = 0; round < 4; round++)
    assert.deepEqual(await Promise.all([codeOn(web1), codeOn(web2)]), ["got", "got"]);
  assert.equal(asked(), before + 8);
  for (const token of tokens) await server.takeBack(token);
  const both = await Promise.all([read(web1), read(web2)]);
  assert.deepEqual(
    both.map(({ outcome }) => outcome),
    ["success", "success"],
  );
  assert.equal(server.revoked, 0);
});

real("while the hub is away a token that is still good goes on, and no other is got", async () => {
  await gets(web2);
  way.cut();
  const unhurried = hurry(web2, "hubWaitMs");
  const before = asked();
  assert.equal((await read(web2))["outcome"], "success");
  assert.equal(await codeOn(web2), "hub_unreachable");
  assert.equal((await read(web2))["outcome"], "success", "the one at hand was not given up");
  assert.equal(asked(), before);
  unhurried();
  way.heal();
  await gets(web2);
  assert.equal(server.revoked, 0);
});

real("a refresh token that came while the hub went away is not lost, not even with its gateway", async () => {
  for (const dies of [false, true]) {
    const { reached, release } = server.hold();
    const trying = tryOn(web2);
    await reached;
    way.cut();
    const unhurried = hurry(web2, "hubWaitMs");
    release();
    assert.equal(codeOf(await trying), "hub_unreachable");
    unhurried();
    assert.equal((await wordOf())["state"], "taken");
    if (dies) {
      await running.get(web2)?.end("SIGKILL");
      way.heal();
      await bring(web2);
    } else way.heal();
    await gets(web1);
    await gets(web2);
  }
  assert.equal(server.revoked, 0);
});

real("a gateway that dies before it got the answer leaves a token that is tried once, by one of them", async () => {
  const { reached, release } = server.hold();
  const trying = tryOn(web2);
  await reached;
  await running.get(web2)?.end("SIGKILL");
  release();
  await trying;
  const before = asked();
  const unhurried = hurry(web1, "hubTurnMs");
  const waiting = await tryOn(web1);
  unhurried();
  assert.equal(codeOf(waiting), "token_unavailable", "it is web2's turn, whatever the clocks say");
  assert.match(waiting.err, /web2 has begun to use the refresh token of person/);
  assert.equal(asked(), before);
  await bring(web2);
  await until("web2 says so", async () => (await wordOf())["state"] === "free" && (await wordOf())["cut"] === true);
  assert.equal(codeOf(await tryOn(web1)), "token_grant_ended");
  assert.equal(asked(), before + 1);
  // The provider called it reuse, as it has to; the other gateway does not ask it once more.
  assert.equal(server.revoked, 1);
  assert.equal(codeOf(await tryOn(web2)), "token_grant_ended");
  assert.equal(asked(), before + 1);
  await agreeAnew();
});

real(
  "a new secret that comes during a turn is begun with at once; what the turn brings then is no sign of a copy",
  async () => {
    const { refreshToken: input } = await server.agree("person-client", SCOPE);
    const { reached, release } = server.hold();
    const trying = tryOn(web2);
    await reached;
    await web1.must(["credential", "rotate", "person"], { input });
    await gets(web1);
    release();
    // On a slow machine the exchange may have been given up before: that is no copy either.
    assert.doesNotMatch((await trying).err, /hub_forked/);
    await until("the other follows", async () => (await codeOn(web2)) === "got", 120_000);
    assert.equal(server.revoked, 1);
  },
);

real(
  "a gateway that sees its own word before it has written it down does not take it for one that was left",
  async () => {
    const [hub] = await cluster.sql<{ hub_id: string }>("select hub_id from gw_hub.hub");
    const hubId = hub?.hub_id ?? "";
    const { privateKey } = generateKeyPairSync("ed25519");
    const login = { address: readHubAddress(cluster.url("web1")), password: null, authority: null };
    const of = { addedAt: "2026-01-01T00:00:00.000Z", version: 1 };
    let seen: SeenTurn | null = null;
    let looks = 0;
    const keeper = startTurns({
      ...{ hubId, gateway: "web1", vaultId: "another", identity: privateKey, taken: new Set<string>() },
      ...{ clock: createClock(), random, sleep: PATIENT },
      connect: () => connectHub(login, hubId),
      hide: (label) => label,
      seal: (_label, _about, plain) => Buffer.from(plain),
      open: (_label, _about, sealed) => Buffer.from(sealed),
      speakerOf: () => rawPublicOf(privateKey),
      recall: () => seen,
      async remember(label, next) {
        seen = next;
        if (looks++ === 0) await keeper.follow([{ label, of }]);
      },
      left: () => ({ refreshToken: null, maybeUsed: false }),
    });
    try {
      const turn = await keeper.take("own", { of, begins: true, own: "the first one" });
      const stateNow = async () =>
        (
          await cluster.sql<{ state: string }>(
            "select statement::json->>'state' as state from gw_hub.turns where vault = 'another'",
          )
        )[0]?.state;
      assert.equal(await stateNow(), "taken");
      await turn.end("the next one");
      assert.equal(await stateNow(), "free");
    } finally {
      keeper.close();
      await cluster.sql("delete from gw_hub.turns where vault = 'another'");
    }
  },
);

real("a gateway whose word the database does not take asks no further after a while, and says so", async () => {
  await gets(web1);
  await cluster.sql(
    "create function public.swallow() returns trigger language plpgsql as $$ begin return null; end $$; create trigger swallow before insert or update on gw_hub.turns for each row execute function public.swallow()",
  );
  const before = asked();
  const unhurried = hurry(web1, "hubTurnMs");
  const refused = await tryOn(web1);
  assert.equal(codeOf(refused), "hub_refused", refused.err);
  // A turn that an earlier life left open cannot be ended either.
  await cluster.sql("alter table gw_hub.turns disable trigger swallow");
  const { reached, release } = server.hold();
  const trying = tryOn(web1);
  await reached;
  await running.get(web1)?.end("SIGKILL");
  release();
  await trying;
  await cluster.sql("alter table gw_hub.turns enable trigger swallow");
  await bring(web1);
  await until("it says so", async () => {
    const { trouble } = (await web1.status())["hub"] as { readonly trouble: Members | null };
    return trouble?.["code"] === "hub_refused";
  });
  assert.equal(asked(), before + 1);
  unhurried();
  await cluster.sql("drop trigger swallow on gw_hub.turns");
  await until("web1 says what became of it", async () => (await wordOf())["state"] === "free");
  await agreeAnew();
});

real("whatever an administrator does to the row, no spent refresh token is sent", async () => {
  await cluster.sql("create table public.kept as select * from gw_hub.turns");
  await Promise.all([gets(web1), gets(web2)]);
  const back =
    "update gw_hub.turns t set (generation, gateway, statement, signature, sealed) = (select generation, gateway, statement, signature, sealed from public.";
  const crimes: readonly (readonly [string, string])[] = [
    [`${back}kept k where k.place = t.place)`, "hub_rolled_back"],
    ["delete from gw_hub.turns", "hub_rolled_back"],
    ["update gw_hub.turns set sealed = set_byte(sealed, 100, get_byte(sealed, 100) # 1)", "hub_turn_tampered"],
    ["update gw_hub.turns set generation = generation + 1", "hub_turn_tampered"],
    ["update gw_hub.turns set statement = replace(statement, '\"cut\":false', '\"cut\":true')", "hub_turn_tampered"],
  ];
  for (const [text, code] of crimes) {
    await cluster.sql("drop table if exists public.now; create table public.now as select * from gw_hub.turns");
    const before = asked();
    await cluster.sql(text);
    for (const home of [web1, web2]) assert.equal(await codeOn(home), code, text);
    assert.equal(asked(), before, text);
    await cluster.sql("delete from gw_hub.turns; insert into gw_hub.turns select * from public.now");
  }
  await Promise.all([gets(web1), gets(web2)]);
  await cluster.sql("delete from gw_hub.turns");
  assert.equal(await codeOn(web1), "hub_rolled_back");
  // What the message says mends it.
  await agreeAnew();
  assert.equal(server.revoked, 1);
});

real("no number that a login of the hub gives to the row keeps a new secret from being begun with", async () => {
  await cluster.sql("create role other login in role gw_gateway");
  await cluster.sql("insert into gw_hub.gateways values ('other', 'other', '', '')", [], "other");
  for (const most of ["9007199254740991", "9223372036854775807", "-9223372036854775808"]) {
    await Promise.all([gets(web1), gets(web2)]);
    // Rows of turns are nobody's own.
    await cluster.sql(
      "update gw_hub.turns set generation = $1, gateway = 'other', statement = '{}', signature = '', sealed = ''",
      [most],
      "other",
    );
    for (const home of [web1, web2]) assert.equal(await codeOn(home), "hub_turn_tampered", most);
    await agreeAnew();
    for (const home of [web1, web2, web1]) await gets(home);
  }
  assert.equal(server.revoked, 1);
});
