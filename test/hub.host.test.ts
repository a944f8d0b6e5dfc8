import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readHubAddress } from "../src/hub/address.ts";
import { fleetFindings } from "../src/hub/findings.ts";
import { keepHubLogs } from "../src/surfaces/cli/hub/logs.ts";
import { connectHubClient } from "../src/surfaces/cli/hub/watch-client.ts";
import { parseVault } from "../src/vault/verify.ts";
import { type Exited, type Gateway, Home, type Json, type Members, makeFolder, until } from "./support/home.ts";
import { makePartition, type Partition } from "./support/partition.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

let cluster: Cluster;
let way: Partition;
let web1: Home;
let web2: Home;
const running = new Map<Home, Gateway>();

before(async () => {
  if (skip !== false) return;
  cluster = await makeCluster(programs, makeFolder());
  way = await makePartition(cluster);
  [web1, web2] = await Promise.all([new Home(makeFolder()).init(), new Home(makeFolder()).init()]);
  await Promise.all([begin(web1), begin(web2)]);
});
after(async () => {
  if (skip !== false) return;
  for (const gateway of running.values()) await gateway.end();
  way.close();
  await cluster.stop();
});

async function begin(home: Home): Promise<void> {
  running.set(home, await home.up());
}

async function stop(home: Home, signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
  const gateway = running.get(home);
  running.delete(home);
  if (gateway === undefined) return;
  process.kill(gateway.pid, signal);
  await gateway.exited;
}

async function hubOf(home: Home): Promise<Members> {
  return (await home.status())["hub"] as Members;
}

const codeOf = (trouble: Json | undefined): Json | undefined => (trouble as Members | null)?.["code"];

/** All that is in the log now is on the hub. */
function shipped(home: Home): Promise<Members> {
  return until("the log is on the hub", async () => {
    const hub = await hubOf(home);
    return hub["trouble"] === null && hub["behind"] === 0 && Number(hub["tick"]) > 0 && hub;
  });
}

function keyOf(home: Home): string {
  const { lineage } = JSON.parse(readFileSync(join(home.folder, "vault.json"), "utf8")) as {
    readonly lineage: readonly { readonly approver_key: string }[];
  };
  return Buffer.from(lineage[0]?.approver_key ?? "", "base64url").toString("hex");
}

/** As a power cut leaves it: the head of the next frame and a little of it, and behind that the space set aside, all zeros. */
function tearLastFrame(home: Home): void {
  const folder = join(home.folder, "audit");
  const name = readdirSync(folder).findLast((one) => one.endsWith(".gwlog")) ?? "";
  const bytes = Buffer.concat([readFileSync(join(folder, name)), Buffer.alloc(1_024)]);
  let [at, frame] = [40, 0n];
  for (; bytes[at + 4] !== 0; at += 48 + bytes.readUInt32LE(at)) frame = bytes.readBigUInt64LE(at + 8);
  bytes.fill(0xa5, at, at + 100);
  bytes.writeUInt32LE(400, at);
  bytes.writeUInt32LE(2, at + 4);
  bytes.writeBigUInt64LE(frame + 1n, at + 8);
  writeFileSync(join(folder, name), bytes);
}

/** From the hub alone, by somebody who pinned the operators of both homes and remembers what `reader` has seen before. */
async function verify(
  reader = new Home(makeFolder()),
): Promise<
  Exited & { readonly found: Readonly<Record<string, readonly string[]>>; readonly gateways: readonly Members[] }
> {
  const pins = ["--operator", keyOf(web1), "--operator", keyOf(web2)];
  const done = await reader.run(["audit", "verify", "--hub", cluster.url("auditor"), ...pins, "--json"]);
  const { gateways, trouble } = JSON.parse(done.out) as {
    readonly gateways: readonly Members[] | null;
    readonly trouble?: string;
  };
  assert.ok(gateways !== null, `${trouble} ${done.err}`);
  const codes = (one: Members) => (one["findings"] as readonly Members[]).map(({ code }) => String(code));
  return { ...done, gateways, found: Object.fromEntries(gateways.map((one) => [String(one["gateway"]), codes(one)])) };
}

real("an owner makes a hub once, and gateways can neither change its tables nor touch another's rows", async () => {
  const made = await web1.run(["hub", "init", cluster.url("owner"), "--json"]);
  assert.equal(made.code, 0, made.err);
  const again = await web1.run(["hub", "init", cluster.url("owner"), "--json"]);
  assert.deepEqual(JSON.parse(again.out), { ...(JSON.parse(made.out) as Members), made: false });
  await cluster.sql(
    "create role web1 login in role gw_gateway; create role web2 login in role gw_gateway; create role auditor login in role gw_operator",
  );
  await web1.must(["hub", "join", cluster.url("web1"), "--name", "web1"]);
  await web2.must(["hub", "join", cluster.url("web2", way.folder), "--name", "web2"]);
  await Promise.all([shipped(web1), shipped(web2)]);
  const refused = [
    "create table gw_hub.more (a int)",
    "delete from gw_hub.log_chunk",
    "update gw_hub.log_chunk set segment = 9",
    "select bytes from gw_hub.log_chunk",
    "truncate gw_hub.log_head",
    "insert into gw_hub.log_chunk values ('web2', 9, 0, '', '', '')",
    "insert into gw_hub.gateways values ('web3', 'web2', '', '')",
  ];
  for (const text of refused) await assert.rejects(cluster.sql(text, [], "web1"), { code: "42501" }, text);
  const { length } = await cluster.sql(
    "update gw_hub.log_head set tick = 0 where gateway = 'web2' returning 1",
    [],
    "web1",
  );
  assert.equal(length, 0, "another's head is not there to change");
  const taken = await web1.operator(["hub", "join", cluster.url("web1"), "--name", "web2"]);
  assert.match(taken.err, /hub_name_taken/);
  const another = await web1.operator(["hub", "join", cluster.url("web1"), "--name", "web9"]);
  assert.match(another.err, /hub_joined.*gw hub leave/);
});

real("a screen for which the database has room for one connection of two gives that one back", async () => {
  await cluster.sql("create role crowded login in role gw_operator connection limit 1");
  const login = { address: readHubAddress(cluster.url("crowded")), password: null, authority: null };
  for (let tries = 0; tries < 2; tries++)
    await assert.rejects(connectHubClient(login, {} as never, {} as never), { code: "hub_unreachable" });
  await until("none is left", async () => {
    return (await cluster.sql("select from pg_stat_activity where usename = 'crowded'")).length === 0;
  });
});

real("gw status tells how the hub is, and both logs verify from the hub alone", async () => {
  await until("both are seen, and neither is silent", async () => {
    const { gateways, silent, trouble } = await hubOf(web1);
    return gateways === 2 && (silent as readonly Json[]).length === 0 && trouble === null;
  });
  await until("a person is told so", async () =>
    /hub +\d+ ms, tick \d+, log \d+ behind; 2 gateways$/m.test((await web1.run(["status"])).out),
  );
  const looked = await verify();
  assert.deepEqual([looked.code, looked.found], [0, { web1: [], web2: [] }], looked.out);
});

real(
  "a gateway that joined and has said nothing yet is no forger to who reads the logs, who reads it later",
  async () => {
    const login = { address: readHubAddress(cluster.url("auditor")), password: null, authority: null };
    const vault = parseVault(readFileSync(join(web1.folder, "vault.json"), "utf8"));
    const logs = keepHubLogs(login, () => vault);
    await shipped(web1);
    await stop(web1);
    // As its row is between its first two statements, and where it was cut off there.
    await cluster.sql("create table public.said as select * from gw_hub.log_head where gateway = 'web1'");
    await cluster.sql("update gw_hub.log_head set tick = 0, statement = null, signature = null where gateway = 'web1'");
    const before = await logs.look();
    assert.deepEqual(before, { logs: [], wrong: [{ gateway: "web1", words: fleetFindings.head_missing }] });
    await cluster.sql(
      "update gw_hub.log_head h set tick = s.tick, statement = s.statement, signature = s.signature from public.said s where h.gateway = 'web1'",
    );
    const after = await logs.look();
    logs.close();
    assert.deepEqual([after.logs.map(({ gateway }) => gateway), after.wrong], [["web1"], []]);
    await cluster.sql("drop table public.said");
    await begin(web1);
  },
);

real("a server that crashes loses nothing that it acknowledged, and work goes on meanwhile", async () => {
  const before = await shipped(web1);
  await cluster.kill();
  await until("the gateway knows", async () => codeOf((await hubOf(web1))["trouble"]) === "hub_unreachable");
  // An operator's work: it is recorded here, and waits for the hub there.
  await web1.must(["policy", "set", "run_attempts", "77"]);
  assert.ok(Number((await hubOf(web1))["behind"]) > 0);
  assert.match((await web1.run(["status"])).out, /HUB +tick \d+, log \d+ behind; hub_unreachable/);
  await cluster.start();
  const now = await shipped(web1);
  assert.ok(Number(now["tick"]) > Number(before["tick"]));
  await shipped(web2);
  assert.equal((await verify()).code, 0);
});

real("a way to the hub that is cut holds up nobody, and what waited goes up when it heals", async () => {
  await shipped(web2);
  way.cut();
  await web2.must(["policy", "set", "run_attempts", "78"]);
  await until("frames wait", async () => Number((await hubOf(web2))["behind"]) > 0);
  way.heal();
  await shipped(web2);
});

real(
  "the last frames of a gateway that stops are on the hub, and so is the torn end of one whose host lost power",
  async () => {
    await stop(web1);
    await stop(web2, "SIGKILL");
    tearLastFrame(web2);
    await begin(web2);
    await shipped(web2);
    await stop(web2);
    const { gateways, code } = await verify();
    assert.equal(code, 0, JSON.stringify(gateways));
    for (const [home, name] of [
      [web1, "web1"],
      [web2, "web2"],
    ] as const) {
      const own = JSON.parse((await home.verify()).out) as { readonly head: Members };
      const there = gateways.find(({ gateway }) => gateway === name)?.["log"] as { readonly head: Members };
      assert.deepEqual(there.head, own.head, name);
    }
  },
);

/** What an administrator does to the rows, and what a look at the hub finds. Everything stands still meanwhile. */
const crimes: readonly (readonly [string, string, string])[] = [
  [
    "a part is dropped",
    "delete from gw_hub.log_chunk where (gateway, segment, at_offset) in (select gateway, segment, at_offset from own offset 2 limit 1)",
    "chunk_missing",
  ],
  [
    "a byte is edited",
    "update gw_hub.log_chunk set bytes = set_byte(bytes, 60, get_byte(bytes, 60) # 1) where (gateway, segment, at_offset) in (select gateway, segment, at_offset from own offset 2 limit 1)",
    "chunk_invalid",
  ],
  [
    "two parts change places",
    "with two as (select *, row_number() over (order by segment, at_offset) as n from own x offset 2 limit 2), swapped as (select a.segment, a.at_offset, b.bytes, b.statement, b.signature from two a, two b where a.n <> b.n) update gw_hub.log_chunk c set bytes = s.bytes, statement = s.statement, signature = s.signature from swapped s where c.gateway = 'web1' and (c.segment, c.at_offset) = (s.segment, s.at_offset)",
    "chunk_invalid",
  ],
  [
    "an old part is played again",
    "insert into gw_hub.log_chunk select gateway, segment + 50, 0, bytes, statement, signature from own limit 1",
    "chunk_invalid",
  ],
  [
    "another gateway's part is put in",
    "update gw_hub.log_chunk c set bytes = o.bytes, statement = o.statement, signature = o.signature from gw_hub.log_chunk o where o.gateway = 'web2' and c.gateway = 'web1' and (o.segment, o.at_offset) = (1, 0) and (c.segment, c.at_offset) = (1, 0)",
    "chunk_invalid",
  ],
  [
    "the same place is taken twice",
    "alter table gw_hub.log_chunk drop constraint log_chunk_pkey; insert into gw_hub.log_chunk select * from own limit 1",
    "chunk_forked",
  ],
  [
    "the newest part is withheld",
    "delete from gw_hub.log_chunk where (gateway, segment, at_offset) in (select gateway, segment, at_offset from own order by segment desc, at_offset desc limit 1)",
    "head_ahead",
  ],
  [
    "the head is put back alone",
    "update gw_hub.log_head h set statement = c.statement, signature = c.signature from own c where h.gateway = 'web1' and (c.segment, c.at_offset) = (1, 0)",
    "head_behind",
  ],
  [
    "the head is edited",
    "update gw_hub.log_head set statement = replace(statement, '\"tick\":', '\"tick\":1') where gateway = 'web1'",
    "head_invalid",
  ],
  ["the head is removed", "delete from gw_hub.log_head where gateway = 'web1'", "rolled_back"],
  [
    "head and parts are put back together",
    "delete from gw_hub.log_chunk where gateway = 'web1' and segment > 1; update gw_hub.log_head h set statement = c.statement, signature = c.signature from own c where h.gateway = 'web1' and c.at_offset = (select max(at_offset) from gw_hub.log_chunk where gateway = 'web1' and segment = 1) and c.segment = 1",
    "rolled_back",
  ],
  [
    "a gateway is made to vanish",
    "delete from gw_hub.log_chunk where gateway = 'web1'; delete from gw_hub.log_head where gateway = 'web1'; delete from gw_hub.documents where gateway = 'web1'; delete from gw_hub.blobs where gateway = 'web1'; delete from gw_hub.gateways where name = 'web1'",
    "gateway_gone",
  ],
  [
    "a gateway is said to have left",
    "update gw_hub.gateways set leave = enrolment, leave_signature = enrolment_signature where name = 'web1'",
    "leave_invalid",
  ],
];

real("whatever an administrator does to the rows is found by the next look", async () => {
  const reader = new Home(makeFolder());
  assert.equal((await verify(reader)).code, 0);
  // All that goes with a gateway: signed files that are gone when it starts again would be told of until somebody signs.
  const tables = ["gateways", "log_head", "log_chunk", "documents", "blobs"];
  for (const table of tables) await cluster.sql(`create table public.keep_${table} as table gw_hub.${table}`);
  await cluster.sql(
    "create view public.own as select * from gw_hub.log_chunk where gateway = 'web1' order by segment, at_offset",
  );
  for (const [name, text, code] of crimes) {
    await cluster.sql(text);
    const { found, code: exit } = await verify(reader);
    assert.ok(exit === 1 && found["web1"]?.includes(code), `${name}: ${JSON.stringify(found)}`);
    assert.deepEqual(found["web2"], [], name);
    await putBack(tables);
  }
  await forgeGateway();
  const { found } = await verify(reader);
  assert.deepEqual(found, { web1: ["enrolment_invalid"], web2: [] }, "a key that no operator named");
  await putBack(tables);
  assert.equal((await verify(reader)).code, 0);
});

async function putBack(tables: readonly string[]): Promise<void> {
  await cluster.sql("alter table gw_hub.log_chunk drop constraint if exists log_chunk_pkey");
  await cluster.sql("truncate gw_hub.gateways cascade");
  for (const table of tables) await cluster.sql(`insert into gw_hub.${table} table public.keep_${table}`);
  await cluster.sql("alter table gw_hub.log_chunk add primary key (gateway, segment, at_offset)");
}

/** An administrator with a key of their own enrols it as web1, in the very form of the real statement. */
async function forgeGateway(): Promise<void> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const [row] = await cluster.sql<{ enrolment: string }>("select enrolment from gw_hub.gateways where name = 'web1'");
  const own = publicKey.export({ format: "der", type: "spki" }).subarray(-32).toString("base64url");
  const text = (row?.enrolment ?? "").replace(/"identity_key":"[^"]+"/, `"identity_key":"${own}"`);
  const signature = sign(null, Buffer.from(`gw hub v1\0${text}`), privateKey);
  await cluster.sql("update gw_hub.gateways set enrolment = $1, enrolment_signature = $2 where name = 'web1'", [
    text,
    signature,
  ]);
}

real(
  "a gateway that finds less on the hub than it wrote sends nothing more there, until an operator signs",
  async () => {
    await begin(web1);
    await shipped(web1);
    await stop(web1);
    await cluster.sql(
      "delete from gw_hub.log_chunk where gateway = 'web1'; delete from gw_hub.log_head where gateway = 'web1'",
    );
    for (const table of ["log_head", "log_chunk"])
      await cluster.sql(`insert into gw_hub.${table} select * from public.keep_${table} where gateway = 'web1'`);
    const [old] = await cluster.sql<{ tick: string }>("select tick from gw_hub.log_head where gateway = 'web1'");
    await begin(web1);
    await until("it says so", async () => codeOf((await hubOf(web1))["trouble"]) === "hub_rolled_back");
    await web1.must(["policy", "set", "run_attempts", "79"]);
    const [now] = await cluster.sql<{ tick: string }>("select tick from gw_hub.log_head where gateway = 'web1'");
    assert.deepEqual(now, old, "nothing was built upon it");
    await web1.must(["hub", "join", cluster.url("web1"), "--name", "web1"]);
    await shipped(web1);
    const { code, out } = await verify();
    assert.equal(code, 0, out);
  },
);

real("a copy of a host and the host itself never both go on: the second is told of the fork", async () => {
  await stop(web1);
  const twin = web1.copy();
  await begin(twin);
  await shipped(twin);
  await stop(twin);
  const numbers = () => cluster.sql("select kind, generation, gateway from gw_hub.documents order by 1, 2, 3");
  const there = await numbers();
  await cluster.sql("insert into gw_hub.cards values ('web1', 'apr_1', '', '', '')");
  await begin(web1);
  await web1.must(["policy", "set", "run_attempts", "77"]);
  const hub = await until("it knows", async () => {
    const now = await hubOf(web1);
    return codeOf(now["trouble"]) === "hub_forked" && now;
  });
  assert.ok(Number(hub["behind"]) > 0);
  assert.equal((await web1.status())["stopped"], null, "local work goes on");
  // Longer than a look takes to come round by itself.
  await new Promise((resolve) => setTimeout(resolve, 6000));
  assert.deepEqual(await numbers(), there, "what is signed on it is put before nobody");
  const cards = await cluster.sql("delete from gw_hub.cards where gateway = 'web1' returning approval_id");
  assert.deepEqual(cards, [{ approval_id: "apr_1" }], "a question of whoever goes on is not taken away");
  await web1.must(["hub", "leave"]);
  assert.equal((await web1.status())["hub"], null);
  await web1.must(["hub", "join", cluster.url("web1"), "--name", "web1-after"]);
  await shipped(web1);
  const { gateways, code } = await verify();
  assert.equal(code, 0, JSON.stringify(gateways));
  assert.deepEqual(
    gateways.map(({ gateway, left }) => [gateway, left]),
    [
      ["web1", true],
      ["web1-after", false],
      ["web2", false],
    ],
  );
});

real(
  "segments that were archived too early are asked for, and what is missing goes up when they are back",
  async () => {
    await begin(web2);
    await shipped(web2);
    const folder = join(web2.folder, "audit");
    const segments = () => readdirSync(folder).filter((name) => name.endsWith(".gwlog"));
    const before = segments();
    way.cut();
    for (const attempts of ["80", "81"]) await web2.must(["policy", "set", "run_attempts", attempts]);
    const aside = makeFolder();
    const moved = [
      ...before,
      ...segments()
        .filter((name) => !before.includes(name))
        .slice(0, 1),
    ];
    for (const name of moved) renameSync(join(folder, name), join(aside, name));
    way.heal();
    await until("it asks for them", async () => codeOf((await hubOf(web2))["trouble"]) === "hub_log_gone");
    for (const name of moved) renameSync(join(aside, name), join(folder, name));
    await shipped(web2);
    assert.equal((await verify()).code, 0);
  },
);

real("a gateway that left sends nothing more, whatever was still to go", async () => {
  const { tick } = await shipped(web2);
  way.cut();
  await web2.must(["policy", "set", "run_attempts", "82"]);
  const left = await web2.must(["hub", "leave"]);
  assert.match(left.err, /hub was not told/);
  way.heal();
  await until("its connections are gone", async () => {
    return (await cluster.sql("select 1 from pg_stat_activity where usename = 'web2'")).length === 0;
  });
  const [row] = await cluster.sql<{ tick: string }>("select tick from gw_hub.log_head where gateway = 'web2'");
  assert.ok(Number(row?.tick) <= Number(tick) + 1, "at most the word that was on its way");
});

real("the way to a database on the network is TLS that was verified, whatever the environment says", async () => {
  await cluster.sql("alter role owner password 'of-the-owner'; alter role auditor password 'of-the-auditor'");
  const password = join(makeFolder(), "password");
  writeFileSync(password, "of-the-owner\n", { mode: 0o600 });
  const url = `postgres://owner@localhost:${cluster.port}/postgres`;
  const env = { ...web1.environment(), PGSSLMODE: "disable", PGHOST: "/nowhere", PGPASSWORD: "wrong" };
  const init = (...more: readonly string[]) =>
    web1.run(["hub", "init", url, "--hub-password-file", password, "--json", ...more], { env });
  const right = await init("--hub-ca", cluster.caFile);
  assert.equal(right.code, 0, right.err);
  const unknown = await init();
  assert.equal(unknown.code, 3);
  assert.match(unknown.err, /hub_unreachable.*(?:self-signed|unable to verify|issuer)/i);
  assert.match(unknown.err, /--hub-ca FILE/);
  assert.doesNotMatch(unknown.err, /use-system-ca/, "nobody can give our launcher an option for Node");
  const wrong = await web1.run([
    "hub",
    "init",
    url.replace("owner@", "auditor@"),
    "--hub-password-file",
    password,
    "--hub-ca",
    cluster.caFile,
  ]);
  assert.match(wrong.err, /hub_refused/);
  const told = await web1.run(["hub", "init", url.replace("owner@", "owner:secret@")]);
  assert.match(told.err, /value_not_allowed.*password/);
  assert.doesNotMatch(told.err, /secret@/);
});
