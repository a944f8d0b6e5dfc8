import assert from "node:assert/strict";
import { createHash, type KeyObject } from "node:crypto";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { systemRandom } from "../src/adapters/platform/system.ts";
import { type HeadStatement, signHubWith } from "../src/hub/statement.ts";
import { canonicalJson } from "../src/kernel/canonical-json.ts";
import { readTrust } from "../src/programs/daemon/trust.ts";
import { openCompartment } from "../src/programs/daemon/unlocked.ts";
import { openHome } from "../src/vault/files/home.ts";
import {
  codeOf,
  demoPack,
  type Gateway,
  type Home,
  type Members,
  makeFolder,
  openPlane,
  until,
} from "./support/home.ts";
import { operatorOf, QuickHome } from "./support/operator-key.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const { programs, skip } = needPostgres(import.meta.filename);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

let cluster: Cluster;
let provider: TestProvider;
/** One vault on two hosts. */
let web1: QuickHome;
let web2: QuickHome;
const running: Gateway[] = [];

before(async () => {
  if (skip !== false) return;
  [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
  web1 = await new QuickHome(makeFolder()).init();
  running.push(await web1.up());
  assert.equal((await web1.run(["hub", "init", cluster.url("owner")])).code, 0);
  await cluster.sql(
    "create role web1 login in role gw_gateway; create role web2 login password 'of-web2' in role gw_gateway; create role ada login in role gw_operator",
  );
  await web1.must(["hub", "join", cluster.url("web1"), "--name", "web1", "--group", "prod"]);
  web2 = new QuickHome(makeFolder()).carryFrom(web1);
  running.push(await web2.up());
  // Over the network, with a password, which the gateway has from signed policy alone.
  const password = join(makeFolder(), "password");
  writeFileSync(password, "of-web2\n", { mode: 0o600 });
  const way = ["--hub-ca", cluster.caFile, "--hub-password-file", password];
  const joining = ["hub", "join", `postgres://web2@localhost:${cluster.port}/postgres`, ...way, "--name", "web2"];
  // Meanwhile somebody signs on the first host: what the second would sign from its old copy would undo that.
  await web1.must(["policy", "set", "run_attempts", "41"]);
  const newest = (JSON.parse(readFileSync(join(web1.folder, "policy.json"), "utf8")) as Members)["version"];
  await until("the first says so on the hub", async () => {
    const [row] = await cluster.sql<{ statement: string }>(
      "select statement from gw_hub.log_head where gateway = 'web1'",
    );
    return ((JSON.parse(row?.statement ?? "{}") as Members)["knows"] as Members | undefined)?.["policy"] === newest;
  });
  assert.equal(codeOf(await web2.operator([...joining, "--json"])), "gateway_behind");
  assert.deepEqual(await cluster.sql("select name from gw_hub.gateways where name = 'web2'"), [], "nothing was signed");
  web2.carryFrom(web1);
  await web2.must(joining);
  rmSync(password);
});
after(async () => {
  if (skip !== false) return;
  for (const gateway of running) await gateway.end();
  await provider.close();
  await cluster.stop();
});

const fileOf = (home: Home, name: string): string => readFileSync(join(home.folder, name), "utf8");
const policyOf = (home: Home): Members => JSON.parse(fileOf(home, "policy.json")) as Members;

async function troubleOf(home: Home): Promise<string | null> {
  const { trouble } = ((await home.status())["hub"] ?? {}) as { readonly trouble?: Members | null };
  return trouble == null ? null : String(trouble["code"]);
}

function same(): Promise<boolean> {
  return until("both have the same files", () =>
    Promise.resolve(["vault.json", "policy.json"].every((name) => fileOf(web1, name) === fileOf(web2, name))),
  );
}

async function call(home: Home, action: string, input: Members): Promise<Members> {
  const agent = openPlane(home.agentSocket);
  try {
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "a test", actions: [action], budget: {} });
    assert.equal(asked.status, 202, asked.text);
    await home.approve(idIn(asked, "approval_id"));
    const path = `/v1/runs/${idIn(asked, "run_id")}/calls`;
    return (await agent.ask("POST", path, { action, input }, { prefer: "wait=20" })).body;
  } finally {
    agent.close();
  }
}

real("a second host of the vault joins, and what is signed on one is in force on both, packs too", async () => {
  await same();
  assert.deepEqual(
    ((policyOf(web1)["hub"] as Members)["gateways"] as readonly Members[]).map(({ gateway }) => gateway),
    ["web1", "web2"],
  );
  await web1.trustPack("demo", demoPack(provider.origin));
  await until("the pack is on the other host", () =>
    Promise.resolve(existsSync(join(web2.folder, "packs", "demo.yaml"))),
  );
  await web2.addCredential("demo-token", provider.origin);
  await same();
  const [event] = await web2.events("pack_trusted");
  assert.equal(event?.["pack"], "demo");
  for (const home of [web1, web2]) {
    const answer = await call(home, "demo.thing.get", { id: "1" });
    assert.equal(answer["outcome"], "success", JSON.stringify(answer));
  }
});

real(
  "what two hosts sign one right after the other is in force on both: whoever signs goes on from what the hub has",
  async () => {
    for (let round = 0; round < 4; round++)
      for (const home of [web1, web2]) await home.must(["policy", "set", "run_attempts", String(50 + round)]);
    await same();
    assert.deepEqual([await troubleOf(web1), await troubleOf(web2)], [null, null]);
  },
);

real(
  "a credential of one gateway is sealed to it: another host of the vault is refused before anybody is asked",
  async () => {
    await web1.addCredential("web1-token", provider.origin, ["--gateway", "group:prod"]);
    await web1.trustBeside(
      "own",
      demoPack(provider.origin).replace("pack: demo", "pack: own").replace("demo-token", "web1-token"),
    );
    await same();
    const entries = (JSON.parse(fileOf(web2, "vault.json")) as { readonly credentials: readonly Members[] })
      .credentials;
    assert.deepEqual(
      entries.map(({ label, lenders }) => [
        label,
        (lenders as readonly Members[] | undefined)?.map((one) => one["gateway"]),
      ]),
      [
        ["demo-token", undefined],
        ["web1-token", ["web1"]],
      ],
    );
    await until("the pack is there too", () => Promise.resolve(existsSync(join(web2.folder, "packs", "own.yaml"))));
    const done = await call(web1, "own.thing.get", { id: "1" });
    assert.equal(done["outcome"], "success", JSON.stringify(done));
    const refused = await call(web2, "own.thing.get", { id: "1" });
    assert.equal(refused["code"], "credential_elsewhere", JSON.stringify(refused));
    // An operator may sign it for another host, from any of them.
    await web2.must(["credential", "lend", "web1-token", "--gateway", "web1", "--gateway", "web2"]);
    const now = await call(web2, "own.thing.get", { id: "1" });
    assert.equal(now["outcome"], "success", JSON.stringify(now));
    // What is signed next is signed on the other host: after this, not beside it.
    await same();
    // A refresh token, which its provider may replace with every use, waits until an operator began with it.
    const app = ["--kind", "oauth2", "--grant", "refresh_token", "--client-id", "acme", "--client-auth", "none"];
    const places = ["--token-endpoint", `${provider.origin}/token`, "--origin", provider.origin];
    await web1.must(["credential", "add", "person", ...app, ...places], { input: "refresh-token-0123456789" });
    await same();
    // It is asked, and gives no token here; the turn is over all the same, and the other may try.
    // The last of them knows what the one before said.
    for (const home of [web1, web2, web1])
      assert.equal(codeOf(await home.testCredential("person")), "token_unavailable");
    // Of one gateway alone it is sealed to that one, and goes on from where it is.
    await web1.must(["credential", "lend", "person", "--gateway", "web1"]);
    await same();
    assert.equal(codeOf(await web1.testCredential("person")), "token_unavailable");
    assert.equal(codeOf(await web2.testCredential("person")), "credential_elsewhere");
    assert.equal(provider.received.filter(({ url }) => url === "/token").length, 4);
    // A gateway that may not lend it says nothing about it that counts.
    await cluster.sql(
      'update gw_hub.turns set gateway = \'web2\', statement = replace(statement, \'"gateway":"web1"\', \'"gateway":"web2"\')',
    );
    assert.equal(codeOf(await web1.testCredential("person")), "hub_turn_tampered");
    assert.equal(provider.received.filter(({ url }) => url === "/token").length, 4);
    await web1.must(["credential", "remove", "person"]);
    await same();
  },
);

real(
  "documents that an administrator drops, edits or plays again are found, and what was dropped is put back",
  async () => {
    await until("nothing is wrong", async () => (await troubleOf(web1)) === null && (await troubleOf(web2)) === null);
    /** What is done, what is told of it, and how it is undone where the gateways do not put it right by themselves. */
    const crimes: readonly (readonly [string, string, string?])[] = [
      ["delete from gw_hub.documents where kind = 'policy'", "hub_document_gone"],
      [
        "update gw_hub.documents set sealed = set_byte(sealed, 100, get_byte(sealed, 100) # 1) where kind = 'policy'",
        "hub_document_invalid",
      ],
      [
        "insert into gw_hub.documents select vault_id, kind, generation + 500, gateway, sealed from gw_hub.documents where kind = 'policy' limit 1",
        "hub_document_invalid",
        "delete from gw_hub.documents where generation > 500",
      ],
      [
        "insert into gw_hub.documents select vault_id, 'vault', 99, gateway, sealed from gw_hub.documents where kind = 'policy' limit 1",
        "hub_document_invalid",
        "delete from gw_hub.documents where kind = 'vault' and generation = 99",
      ],
    ];
    for (const [index, [text, code, undo]] of crimes.entries()) {
      const before = Number(policyOf(web1)["version"]);
      await cluster.sql(text);
      await cluster.sql("notify gw_hub");
      await until(`${code}: ${text}`, async () => {
        if ([await troubleOf(web1), await troubleOf(web2)].includes(code)) return true;
        // A gateway that has only just followed puts it back before it knows that it was there, and knows it from then on.
        if (undo === undefined && index === 0) await cluster.sql(`${text}; notify gw_hub`);
        return false;
      });
      await until(
        "what was there is there",
        async () =>
          (await cluster.sql("select 1 from gw_hub.documents where kind = 'policy' and generation = $1", [before]))
            .length > 0,
      );
      if (undo !== undefined) await cluster.sql(undo);
      // Told until somebody signs something newer.
      await web1.must(["policy", "set", "run_attempts", String(60 + index)]);
      await until("all is well", async () => (await troubleOf(web1)) === null && (await troubleOf(web2)) === null);
    }
    await same();
    const [row] = await cluster.sql<{ sealed: Buffer }>("select sealed from gw_hub.documents where kind = 'policy'");
    assert.doesNotMatch(row?.sealed.toString("latin1") ?? "", /vault_id|demo/, "and reads nothing of them");
  },
);

real("a gateway that is shown less than another follows says so, and acts on no yes that rests on more", async () => {
  await same();
  const version = Number(policyOf(web2)["version"]);
  await cluster.sql(
    `create policy hide on gw_hub.documents as restrictive for select to web2 using (kind = 'vault' or generation <= ${version})`,
  );
  await web1.must(["policy", "set", "run_attempts", "55"]);
  await until("it says so", async () => (await troubleOf(web2)) === "hub_document_gone");
  const agent = openPlane(web2.agentSocket);
  const asked = await agent.ask("POST", "/v1/runs", { purpose: "later", actions: ["demo.thing.get"], budget: {} });
  const id = idIn(asked, "approval_id");
  const hub = ["--hub", cluster.url("ada")];
  const refused = await until("the card is on the hub", async () => {
    const tried = await web1.operator(["approve", id, ...hub]);
    return codeOf(tried) !== "not_found" && tried;
  });
  assert.equal(codeOf(refused), "gateway_behind", refused.err);
  await cluster.sql("drop policy hide on gw_hub.documents; notify gw_hub");
  await same();
  await web1.must(["approve", id, ...hub]);
  agent.close();
});

real("what another login of the hub puts beside the documents of a vault keeps nobody from following", async () => {
  await same();
  await cluster.sql("create role other login in role gw_gateway");
  await cluster.sql("insert into gw_hub.gateways select 'a' || n, 'other', '', '' from generate_series(1, 300) n");
  const [row] = await cluster.sql<{ vault_id: string }>("select vault_id from gw_hub.documents limit 1");
  await cluster.sql(
    "insert into gw_hub.documents select $1, kind, 900000 + n, 'a' || n, 'junk' from generate_series(1, 300) n, (values ('vault'), ('policy')) k (kind)",
    [row?.vault_id],
    "other",
  );
  await web1.must(["policy", "set", "run_attempts", "54"]);
  await same();
  await until("nothing is wrong", async () => (await troubleOf(web1)) === null && (await troubleOf(web2)) === null);
  // A pack: its digest is known to whoever sees the rows, and the first to put something there is not the one that counts.
  const late = demoPack("https://late.example").replace("pack: demo", "pack: late");
  await cluster.sql(
    "insert into gw_hub.blobs select $1, $2, 'a' || n, 'junk' from generate_series(1, 300) n",
    [row?.vault_id, `sha256:${createHash("sha256").update(late).digest("hex")}`],
    "other",
  );
  await cluster.sql("create policy hide on gw_hub.blobs as restrictive for select to web2 using (gateway <> 'web1')");
  await web1.trustPack("late", late);
  await until("it is told while it is not there", async () => (await troubleOf(web2)) === "hub_pack_gone");
  await cluster.sql("drop policy hide on gw_hub.blobs; notify gw_hub");
  await until("the pack is there", () => Promise.resolve(existsSync(join(web2.folder, "packs", "late.yaml"))));
  await until("nothing is wrong", async () => (await troubleOf(web1)) === null && (await troubleOf(web2)) === null);
  await cluster.sql(
    "delete from gw_hub.blobs where gateway like 'a%'; delete from gw_hub.documents where generation > 900000",
  );
  await cluster.sql("delete from gw_hub.gateways where login = 'other'");
});

real("a login that puts names and cards on the hub without end takes nobody's place there", async () => {
  await cluster.sql("create role many login in role gw_gateway");
  const many = "from generate_series(1, 5000) n";
  const long = "repeat('b', 150000) || n";
  const few = "from generate_series(1, 3) n";
  for (const names of [`'apr_' || n, '', '', '' ${many}`, `${long}, '', '', '' ${few}`])
    await cluster.sql(`insert into gw_hub.cards select 'web1', ${names}`, [], "web1");
  await cluster.sql(`insert into gw_hub.gateways select 'a' || n, 'many', '', '' ${many}`, [], "many");
  await cluster.sql(`insert into gw_hub.log_head (gateway, tick) select 'a' || n, 0 ${many}`, [], "many");
  await cluster.sql(`insert into gw_hub.gateways select ${long}, 'many', '', '' ${few}`, [], "many");
  const hub = ["--hub", cluster.url("ada")];
  const { gateways } = JSON.parse((await web1.run(["status", ...hub, "--json"])).out) as {
    readonly gateways: readonly Members[];
  };
  assert.deepEqual(
    gateways.filter(({ signed }) => signed === true).map(({ gateway }) => gateway),
    ["web1", "web2"],
  );
  // Hundreds of such names are more than is read of one answer.
  assert.ok(gateways.every(({ gateway }) => String(gateway).length < 64));
  const agent = openPlane(web2.agentSocket);
  const asked = await agent.ask("POST", "/v1/runs", { purpose: "seen", actions: ["demo.thing.get"], budget: {} });
  const id = idIn(asked, "approval_id");
  await until("the card is seen", async () => {
    const tried = await web1.operator(["approve", id, ...hub]);
    assert.doesNotMatch(tried.err, /b{100}/);
    assert.ok(tried.code === 0 || codeOf(tried) === "not_found", tried.err);
    return tried.code === 0;
  });
  agent.close();
  assert.deepEqual([await troubleOf(web1), await troubleOf(web2)], [null, null]);
  await cluster.sql("delete from gw_hub.cards where statement = ''");
  await cluster.sql("delete from gw_hub.log_head where gateway like 'a%'");
  await cluster.sql("delete from gw_hub.gateways where login = 'many'");
});

real("of two that are signed at one moment neither is followed, until one is signed once more", async () => {
  await same();
  const version = Number(policyOf(web2)["version"]);
  for (const [one, other] of [
    ["web1, ada", "web2"],
    ["web2", "web1"],
  ])
    await cluster.sql(
      `create policy hide_${other} on gw_hub.documents as restrictive for select to ${one} using (gateway <> '${other}' or generation <= ${version})`,
    );
  await web2.must(["policy", "set", "run_attempts", "52"]);
  // Whoever lives and has not taken it is named, and the command does not end as if all had.
  const hub = ["--hub", cluster.url("ada")];
  const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
  const words = ["--caller", "uid:40404", "--actions", "demo.thing.get", "--until", day, "--despite", "web2", "--json"];
  await cluster.sql("update gw_hub.log_head set seen_at = clock_timestamp() + interval '1 hour'");
  const beside = await web1.operator(["grant", "add", "beside", ...words, ...hub]);
  assert.equal(beside.code, 6, beside.err);
  const states = (JSON.parse(beside.out) as Members)["gateways"] as readonly Members[];
  assert.deepEqual(
    states.map(({ gateway, state }) => [gateway, state === "taken"]),
    [
      ["web1", true],
      ["web2", false],
    ],
  );
  await until(
    "both stand there",
    async () =>
      (await cluster.sql("select 1 from gw_hub.documents where kind = 'policy' and generation = $1", [version + 1]))
        .length === 2,
  );
  await cluster.sql("drop policy hide_web1 on gw_hub.documents; drop policy hide_web2 on gw_hub.documents");
  await cluster.sql("notify gw_hub");
  await until("it is told", async () => (await troubleOf(web2)) === "hub_document_forked");
  assert.notEqual(fileOf(web1, "policy.json"), fileOf(web2, "policy.json"));
  assert.equal(codeOf(await web1.operator(["grant", "list", ...hub])), "hub_document_forked");
  await web1.must(["grant", "remove", "beside"]);
  await same();
  await until("all is well", async () => (await troubleOf(web1)) === null && (await troubleOf(web2)) === null);
});

real("gw status --hub names every gateway of the vault by its own signed word, and what is not", async () => {
  const look = async () => {
    const { out, code } = await web1.run(["status", "--hub", cluster.url("ada"), "--json"]);
    return { code, gateways: (JSON.parse(out) as { readonly gateways: readonly Members[] }).gateways };
  };
  const version = policyOf(web1)["version"];
  const { gateways } = await until("both follow the newest", async () => {
    const seen = await look();
    return seen.gateways.every(({ policy }) => policy === version) && seen;
  });
  assert.deepEqual(
    gateways.map(({ gateway, signed }) => [gateway, signed]),
    [
      ["web1", true],
      ["web2", true],
    ],
  );
  const { out } = await web1.run(["status", "--hub", cluster.url("ada")]);
  assert.match(
    out,
    /answers in \d+ ms; 2 gateways, 0 silent\n {2}web1 {2}tick \d+, log to frame \d+, vault \d+, policy \d+\n/,
  );
  await cluster.sql("create table public.keep as table gw_hub.gateways");
  for (const text of ["enrolment_signature = ''", "enrolment = 'nobody'"]) {
    await cluster.sql(`update gw_hub.gateways set ${text} where name = 'web2'`);
    const forged = await look();
    assert.deepEqual([forged.code, forged.gateways[1]?.["signed"]], [1, false], text);
  }
  await cluster.sql(
    "update gw_hub.gateways g set enrolment = k.enrolment, enrolment_signature = k.enrolment_signature from public.keep k where g.name = k.name and g.name = 'web2'",
  );
});

/** What whoever owns a host has: the key that speaks for its gateway. */
async function ownedKey(home: Home): Promise<KeyObject> {
  const twin = home.copy();
  const { operator } = await operatorOf(twin);
  const opened = await openCompartment(() => readTrust(openHome(twin.folder, systemRandom)), operator.serviceKey, {
    ...{ stateFile: join(twin.folder, "state.db"), logFolder: join(twin.folder, "audit") },
    ...{ bootId: readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim(), random: systemRandom },
    noteNeeded: false,
  });
  const keys = await opened.hostKeys();
  await opened.close();
  operator.wipe();
  return keys?.identity ?? assert.fail("it has joined");
}

real("whatever shape a gateway that somebody owns gives to its own rows, the others are seen and go on", async () => {
  await same();
  const agent = openPlane(web1.agentSocket);
  const asked = await agent.ask("POST", "/v1/runs", { purpose: "shown", actions: ["demo.thing.get"], budget: {} });
  const id = idIn(asked, "approval_id");
  const [, owned] = running;
  process.kill(owned?.pid ?? 0, "SIGSTOP");
  try {
    const key = await ownedKey(web2);
    const rowsOf = () =>
      cluster.sql<{ statement: string; signature: Buffer }>("select * from gw_hub.log_head where gateway = 'web2'");
    const [honest] = await rowsOf();
    const said = JSON.parse(honest?.statement ?? "") as Members;
    const { part: _part, ...partless } = said;
    const put = (text: string | null, signature: Buffer | null) =>
      cluster.sql(
        "update gw_hub.log_head set statement = $1, signature = $2 where gateway = 'web2'",
        [text, signature],
        "web2",
      );
    const shapes = [partless, { ...said, part: 5 }, { ...said, link: 7 }, { ...said, written_at: {} }, null];
    for (const shape of shapes) {
      const { text, signature } =
        shape === null ? { text: null, signature: null } : signHubWith(shape as unknown as HeadStatement, key);
      await put(text, signature);
      const shown = JSON.stringify(shape);
      const status = await web1.run(["status", "--hub", cluster.url("ada"), "--json"]);
      assert.match(status.out, /"gateway": "web1",\s+"signed": true/, `${shown} ${status.err}`);
      const verified = await web1.run(["audit", "verify", "--hub", cluster.url("ada"), "--json"]);
      const { gateways } = JSON.parse(verified.out) as { readonly gateways: readonly Members[] | null };
      const wrong = gateways?.map(({ gateway, findings }) => [gateway, (findings as readonly Members[])[0]?.["code"]]);
      const code = shape === null ? "head_missing" : "head_invalid";
      assert.deepEqual(
        wrong,
        [
          ["web1", undefined],
          ["web2", code],
        ],
        `${shown} ${verified.out}`,
      );
      const journal = await web1.operator(["activity", "--hub", cluster.url("ada"), "--json"]);
      assert.deepEqual(
        [journal.code, (JSON.parse(journal.out) as readonly Members[]).map(({ gateway }) => gateway)],
        [1, ["web1"]],
        shown,
      );
    }
    // The other gateway follows and shows its questions over the connection that it has, instead of making one after the other.
    const { text, signature } = signHubWith(partless as unknown as HeadStatement, key);
    await put(text, signature);
    const cardOf = () =>
      cluster.sql<{ at: string }>("select xmin::text as at from gw_hub.cards where approval_id = $1", [id]);
    const tickOf = async () =>
      Number((await cluster.sql<{ tick: string }>("select tick from gw_hub.log_head where gateway = 'web1'"))[0]?.tick);
    const [first] = await until("the question is shown", async () => {
      const found = await cardOf();
      return found.length > 0 && found;
    });
    await web1.must(["policy", "set", "run_attempts", "57"]);
    const before = await tickOf();
    await until("it was at the hub more than once", async () => (await tickOf()) > before + 2);
    assert.deepEqual(await cardOf(), [first]);
    await put(honest?.statement ?? null, honest?.signature ?? null);
  } finally {
    process.kill(owned?.pid ?? 0, "SIGCONT");
    agent.close();
  }
  // Any login of the hub enrols whom it likes, in words that nobody signed.
  const [hub] = await cluster.sql<{ hub_id: string }>("select hub_id from gw_hub.hub");
  await cluster.sql("create role odd login in role gw_gateway");
  const enrolment = {
    ...{ format: "gw.hub-gateway/v1", gateway: "odd", hub_id: hub?.hub_id ?? "", identity_key: 5 },
    ...{ log_id: [], signed_at: {}, vault_id: 1 },
  };
  await cluster.sql("insert into gw_hub.gateways values ('odd', 'odd', $1, '')", [canonicalJson(enrolment)], "odd");
  const { out, code, err } = await web1.run(["status", "--hub", cluster.url("ada")]);
  assert.equal(code, 1, err);
  assert.match(out, /odd {2}NOT SIGNED/);
  await cluster.sql("delete from gw_hub.gateways where name = 'odd'");
  await same();
});

real("gw activity and gw sessions --hub show what every gateway did, from the hub alone", async () => {
  for (const journal of ["activity", "sessions"]) {
    const { out } = await web1.must([journal, "--hub", cluster.url("ada"), "--json"]);
    const found = JSON.parse(out) as readonly { readonly gateway: string; readonly entries: readonly Members[] }[];
    assert.deepEqual(
      found.map(({ gateway, entries }) => [gateway, entries.length > 0]),
      [
        ["web1", true],
        ["web2", true],
      ],
      journal,
    );
  }
  const lines = (await web1.must(["activity", "--hub", cluster.url("ada"), "--action", "own.thing.get"])).out;
  assert.match(lines, /on web1\n.*own\.thing\.get.*on web2\n.*own\.thing\.get/s);
  await cluster.sql(
    "update gw_hub.log_chunk set bytes = set_byte(bytes, 60, get_byte(bytes, 60) # 1) where gateway = 'web2'",
  );
  const torn = await web1.operator(["activity", "--hub", cluster.url("ada")]);
  assert.equal(torn.code, 1);
  assert.match(torn.err, /WARNING: web2: a part of the log was not signed/);
});

real("a gateway that another host's operator takes off the hub stops by itself", async () => {
  const seen = async () => Number(((await web1.status())["hub"] as Members)["gateways"]);
  const before = await until("both are seen", async () => (await seen()) > 1 && (await seen()));
  await web1.must(["hub", "leave", "web2"]);
  assert.equal(await seen(), before - 1, "not one beat later");
  await until("it stops", async () => (await web2.status())["hub"] === null);
  assert.notEqual((await web1.status())["hub"], null);
});
