import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { chmodSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, test } from "node:test";
import { untilFollowed } from "./support/fleet.ts";
import {
  type AgentProcess,
  codeOf,
  DEMO_PURCHASE,
  demoPack,
  type Gateway,
  GW,
  Home,
  type Identity,
  type Members,
  makeFolder,
  PASSPHRASE,
  start,
  startAgent,
  until,
} from "./support/home.ts";
import { noTmux, openPane, type Pane } from "./support/pane.ts";
import { type Cluster, findPostgres, makeCluster } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn, idOf } from "./support/reply.ts";

// Three hosts are three users here, the operator's machine is a fourth, and the database has one of its own. Only root can make
// them; whoever is not root runs the same story as one user.
const root = process.getuid?.() === 0;
const user = (uid: number): Identity | undefined => (root ? { uid, gid: uid } : undefined);
const SERVER: Identity | undefined = root ? { uid: 65_534, gid: 65_534 } : undefined;
const programs = findPostgres();
const skip = ((): string | false => {
  if (process.platform !== "linux") return "the real programs are tested on Linux";
  if (programs === null) return "Debian's postgresql is not installed";
  const clone = ["-r", join(dirname(dirname(GW)), "package.json"), "-a", "-x", process.execPath];
  return spawnSync("test", clone, user(64_141) ?? {}).status === 0
    ? false
    : "an unprivileged user cannot read this clone";
})();
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 400_000 }, run);

const NAMES = ["web1", "web2", "web3"] as const;
type Name = (typeof NAMES)[number];
let cluster: Cluster;
let provider: TestProvider;
const homes = new Map<Name, Home>();
const running = new Map<Name, Gateway>();
/** The one place to decide from: an operator's keys and signed files, and no gateway. */
let desk: Home;
/** Another one, with the files from before any gateway was let ask to be unlocked. */
let early: Home;
const agents: AgentProcess[] = [];

const homeOf = (name: Name): Home => homes.get(name) ?? assert.fail(name);
const hub = () => ["--hub", cluster.url("ada")];

before(async () => {
  if (skip !== false) return;
  [cluster, provider] = await Promise.all([makeCluster(programs ?? "", makeFolder(), SERVER), startProvider()]);
  const folder = makeFolder();
  chmodSync(folder, 0o755);
  program = join(folder, "agent");
  execFileSync("cc", ["-O1", "-o", program, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
  for (const [index, name] of NAMES.entries()) {
    const home = new Home(makeFolder(), user(64_141 + index));
    homes.set(name, home);
    if (name === "web1") {
      await home.init();
      await home.addCredential("demo-token", provider.origin);
      await home.trustPack("demo", demoPack(provider.origin, DEMO_PURCHASE));
      early = new Home(makeFolder(), user(64_150)).carryFrom(home);
      assert.equal((await home.run(["hub", "init", cluster.url("owner")])).code, 0);
      await cluster.sql(
        `create role ada login in role gw_operator; ${NAMES.map((one) => `create role ${one} login in role gw_gateway;`).join(" ")}`,
      );
    } else home.carryFrom(homeOf("web1"));
    running.set(name, await home.up());
    await home.must(["hub", "join", cluster.url(name), "--name", name, "--unlock-by-hub"]);
    // The next host begins with the files of the first, which have to name this one by then.
    await until("the first host has followed", () => {
      const policy = JSON.parse(readFileSync(join(homeOf("web1").folder, "policy.json"), "utf8")) as Members;
      const { gateways } = policy["hub"] as { readonly gateways: readonly Members[] };
      return gateways.some(({ gateway }) => gateway === name);
    });
  }
  await untilFollowed(...NAMES.map(homeOf));
  await until("the pack is everywhere", () =>
    Promise.resolve(NAMES.every((name) => existsSync(join(homeOf(name).folder, "packs", "demo.yaml")))),
  );
  desk = new Home(makeFolder(), user(64_150)).carryFrom(homeOf("web1"));
});
after(async () => {
  if (skip !== false) return;
  for (const agent of agents) agent.close();
  for (const gateway of running.values()) await gateway.end();
  await provider.close();
  await cluster.stop();
});

async function ask(name: Name, purpose: string): Promise<{ agent: AgentProcess; run: string; id: string }> {
  const agent = await startAgent(homeOf(name));
  agents.push(agent);
  const asked = await agent.ask("POST", "/v1/runs", { purpose, actions: ["demo.thing.get"], budget: {} });
  assert.equal(asked.status, 202, asked.text);
  return { agent, run: idIn(asked, "run_id"), id: idIn(asked, "approval_id") };
}

async function get(agent: AgentProcess, run: string): Promise<Members> {
  const body = { action: "demo.thing.get", input: { id: "1" } };
  return (await agent.ask("POST", `/v1/runs/${run}/calls`, body, { prefer: "wait=20" })).body;
}

/** Who waits to be unlocked, as the operator's machine is shown it. */
async function waiting(from = desk): Promise<Readonly<Record<string, string | null>>> {
  const { out } = await from.run(["status", ...hub(), "--json"]);
  const { gateways } = JSON.parse(out) as { readonly gateways: readonly Members[] };
  return Object.fromEntries(gateways.map((one) => [String(one["gateway"]), one["waiting"] as string | null]));
}

const waits = (name: Name, how: string | null): Promise<boolean> =>
  until(`${name}: ${how}`, async () => (await waiting())[name] === how);

/** Whether an operator vouched for every life of the process that wrote a host's log. */
async function attestedHere(name: Name): Promise<boolean> {
  const { out } = await homeOf(name).run(["audit", "verify", "--json"]);
  const { eras } = JSON.parse(out) as { readonly eras: readonly { readonly attestedBy: readonly string[] }[] };
  return eras.length > 1 && eras.every(({ attestedBy }) => attestedBy.length > 0);
}

/** What a gateway says to what the administrator of the database put there as an unlock. */
async function answerTo(name: Name, body: string): Promise<string> {
  const [row] = await cluster.sql<{ id: string }>(
    "insert into gw_hub.statements (id, gateway, body, kind) values (gen_random_uuid()::text, $1, $2, 'unlock') returning id",
    [name, body],
  );
  await cluster.sql("notify gw_hub");
  const answer = await until("it is answered", async () => {
    const [found] = await cluster.sql<{ answer: string | null }>("select answer from gw_hub.statements where id = $1", [
      row?.id,
    ]);
    return found?.answer ?? false;
  });
  return String((JSON.parse(answer) as Members)["code"]);
}

real(
  "three gateways of three users: a card of any is decided from one place, and one word ends a session there",
  async () => {
    const uids = await Promise.all(NAMES.map(async (name) => Number((await homeOf(name).status())["uid"])));
    assert.equal(new Set(uids).size, root ? 3 : 1);
    const open = [];
    for (const name of NAMES) open.push({ name, ...(await ask(name, `asked on ${name}`)) });
    const cards = await until("all three cards are there", async () => {
      const listed = JSON.parse((await desk.must(["approvals", ...hub(), "--json"])).out) as readonly Members[];
      return listed.length === 3 && listed;
    });
    assert.deepEqual(cards.map(({ gateway }) => gateway).sort(), [...NAMES]);
    for (const { name, agent, run, id } of open) {
      const { gateway, state } = JSON.parse((await desk.must(["approve", id, ...hub(), "--json"])).out) as Members;
      assert.deepEqual([gateway, state], [name, "approved"]);
      assert.equal((await get(agent, run))["outcome"], "success", name);
    }
    // Nobody says where the session is: all are told, and the one that has it answers.
    const [session] = JSON.parse((await homeOf("web3").must(["sessions", "--json"])).out) as readonly Members[];
    await desk.must(["revoke", idOf(session, "session_id"), ...hub()]);
    const third = open.find(({ name }) => name === "web3") ?? assert.fail();
    assert.notEqual((await get(third.agent, third.run))["outcome"], "success");
    assert.equal((await homeOf("web3").status())["sessions_live"], 0);
    assert.equal((await homeOf("web2").status())["sessions_live"], 1, "and no other session ends");
  },
);

/** An agent that grants can name. */
let program: string;

/** Whether it got through before its time was over: it reads, or it buys. */
async function acts(name: Name, seconds: number, buys = false): Promise<boolean> {
  const home = homeOf(name);
  const words = buys ? ["demo.thing.buy", '{"name":"stamp"}'] : ["demo.thing.get", '{"id":"1"}'];
  const command = [program, home.agentSocket, ...words, String(seconds)];
  const { out, err } = await start(command, { as: home.owner }).exited;
  assert.notEqual(out, "", err);
  return (JSON.parse(out) as Members)["outcome"] === "success";
}

real("a grant that is signed on one host lets its caller pass on all three, and ends on all three", async () => {
  /** Without a person: nobody comes. */
  const passes = (name: Name): Promise<boolean> => acts(name, 1);
  const ends = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
  const words = ["--caller", `image:${program}`, "--actions", "demo.thing.get", "--until", ends];
  await homeOf("web1").must(["grant", "add", "fleet", ...words]);
  for (const name of NAMES) await until(`it passes on ${name}`, () => passes(name));
  await homeOf("web2").must(["grant", "remove", "fleet"]);
  for (const name of NAMES) await until(`it is asked about on ${name}`, async () => !(await passes(name)));
});

test("a card is approved with a grant from a machine without a gateway, and the next call passes on all three", {
  skip: skip === false ? (noTmux ?? false) : skip,
  timeout: 400_000,
}, async () => {
  const cards = async (): Promise<readonly string[]> =>
    (JSON.parse((await desk.must(["approvals", ...hub(), "--json"])).out) as readonly Members[]).map((one) =>
      idOf(one, "approval_id"),
    );
  /** An agent whose session is approved, and the card of what it buys. */
  const buying = async (): Promise<{ id: string; acting: Promise<boolean> }> => {
    const before = await cards();
    const acting = acts("web2", 120, true);
    const session = await until(
      "its session is asked about",
      async () => (await cards()).find((one) => !before.includes(one)) ?? false,
    );
    await desk.must(["approve", session, ...hub()]);
    const id = await until(
      "the purchase is asked about",
      async () => (await cards()).find((one) => one !== session && !before.includes(one)) ?? false,
    );
    return { id, acting };
  };
  const { owner } = desk;
  const as = owner === undefined ? [] : ["setpriv", `--reuid=${owner.uid}`, `--regid=${owner.gid}`, "--clear-groups"];
  const home = ["--home", desk.folder, "--passphrase-file", desk.passphraseFile];
  const open = (...words: readonly string[]): Pane => {
    const command = [...as, GW, ...words, ...hub(), ...home].map((word) => `'${word}'`).join(" ");
    return openPane(makeFolder(), `${command}; echo DONE; cat`, desk.environment());
  };
  const granted = async (): Promise<string> => {
    const listed = await desk.must(["grant", "list", ...hub(), "--json"]);
    const [first] = JSON.parse(listed.out) as readonly Members[];
    return String(first?.["name"]);
  };

  const { id, acting } = await buying();
  const pane = open("approve", id, "--grant");
  try {
    await pane.shows(/--until \d{4}/);
    pane.type("Enter");
    await pane.shows("DONE");
    assert.match(pane.text(), /signed for every gateway of the vault/);
    assert.match(pane.text(), /Signed: demo-thing-buy-/);
  } finally {
    pane.close();
  }
  assert.equal(await acting, true, "the call that was asked about");
  for (const name of NAMES) await until(`the next one passes on ${name}`, () => acts(name, 1, true));
  await desk.must(["grant", "remove", await granted(), ...hub()]);

  // The same from the live screen.
  const next = await buying();
  const screen = open("watch");
  try {
    await screen.shows(next.id);
    // Cards of agents that gave up come before it. A key that comes while the screen has just changed does not count.
    await until("g opens the grant", () => {
      screen.type("j", "j", "j", "j", "j", "j", "g");
      return until("", () => screen.text().includes("gw grant add"), 5_000).catch(() => false);
    });
    await screen.shows("gw grant add demo-thing-buy-");
    assert.match(screen.text(), /signed for every gateway of the vault/);
    screen.type("Enter");
    await screen.shows("Approve, and sign the grant demo-thing-buy-");
    const asks = (): boolean => screen.text().includes("Passphrase: _");
    for (let tries = 0; tries < 10 && screen.text().includes("Approve, and sign"); tries++) {
      screen.write(PASSPHRASE);
      screen.type("Enter");
      await until("the keys count", () => !asks(), 5_000).catch(() => undefined);
      await until("it is checked", () => asks() || !screen.text().includes("Approve, and sign"));
    }
    assert.equal(await next.acting, true, screen.text());
  } finally {
    screen.close();
  }
  assert.match(await granted(), /^demo-thing-buy-/);
  await desk.must(["grant", "remove", await granted(), ...hub()]);
});

real("locked gateways ask on the hub and are unlocked from one place, and nobody else gets the key", async () => {
  await until("nobody asks", async () => Object.values(await waiting()).every((one) => one === null));
  // These hosts run as a user who runs agents too, and that is said.
  assert.match(
    (await homeOf("web1").run(["status"])).out,
    /LOWERED {3}every program of this user can read waiting\.key/,
  );
  // One that an operator locked, and one that was restarted.
  await homeOf("web2").must(["lock"]);
  await running.get("web3")?.end("SIGTERM");
  running.set("web3", await homeOf("web3").up(["--locked"]));
  await waits("web2", "waits");
  await waits("web3", "waits");
  assert.match((await desk.run(["status", ...hub()])).out, /web2 {2}.*LOCKED and waits: gw unlock web2 --hub URL\n/);
  // Another host's login has no row of theirs.
  await assert.rejects(
    cluster.sql(
      "insert into gw_hub.waiting (gateway, nonce, statement, signature) values ('web2', 'x', '{}', '')",
      [],
      "web1",
    ),
    /row-level security|permission denied/,
  );
  // Who administers the database puts another key there, or another gateway's request.
  for (const crime of [
    "update gw_hub.waiting set statement = replace(statement, '\"sealing_key\":\"', '\"sealing_key\":\"A') where gateway = 'web2'",
    "update gw_hub.waiting w set (statement, signature) = (select o.statement, o.signature from gw_hub.waiting o where o.gateway = 'web3' limit 1) where gateway = 'web2'",
  ]) {
    await cluster.sql(`alter table gw_hub.waiting disable row level security; ${crime}`);
    const refused = await desk.operator(["unlock", "web2", ...hub(), "--json"]);
    // The gateway says it anew every few seconds: the forged row is no request, or is gone by now.
    if (refused.code === 0) await homeOf("web2").must(["lock"]);
    else assert.equal(codeOf(refused), "not_found", refused.err + refused.out);
    await waits("web2", "waits");
  }
  await cluster.sql("alter table gw_hub.waiting enable row level security");
  const oddly = ["", "null", "[]", '{"text":"{}","signature":"AA"}', '{"text":1,"signature":null}'];
  for (const nonsense of oddly) assert.equal(await answerTo("web2", nonsense), "signature_invalid", nonsense);
  const told = (await homeOf("web2").events("request_refused")).filter(({ endpoint }) => endpoint === "unlock");
  assert.deepEqual(
    told.map(({ plane, code }) => [plane, code]),
    oddly.map(() => ["hub", "signature_invalid"]),
  );
  const none = await desk.operator(["unlock", ...hub()]);
  assert.equal(none.code, 1);
  assert.match(none.err, /web2, web3 wait\. Name those to unlock, or say --all\./);
  const done = JSON.parse((await desk.must(["unlock", "--all", ...hub(), "--json"])).out) as readonly Members[];
  assert.deepEqual(
    done.map(({ gateway, state }) => [gateway, state]),
    [
      ["web2", "unlocked"],
      ["web3", "unlocked"],
    ],
  );
  for (const name of ["web2", "web3"] as const) {
    assert.equal((await homeOf(name).status())["locked"], false, name);
    const event = (await homeOf(name).events("gateway_unlocked")).at(-1);
    assert.deepEqual([event?.["method"], typeof event?.["operator_key_id"]], ["hub", "string"]);
  }
  await until("nobody asks", async () => Object.values(await waiting()).every((one) => one === null));
  // Locked again, it is another request: what opened it before opens nothing, here or elsewhere.
  const [old] = await cluster.sql<{ body: string }>(
    "select body from gw_hub.statements where gateway = 'web2' and kind = 'unlock' and answer like '%\"code\":null%' order by at desc limit 1",
  );
  await homeOf("web2").must(["lock"]);
  await waits("web2", "waits");
  assert.equal(await answerTo("web2", old?.body ?? ""), "unlock_request_over");
  await homeOf("web3").must(["lock"]);
  await waits("web3", "waits");
  assert.equal(await answerTo("web3", old?.body ?? ""), "unlock_request_over");
  assert.equal((await homeOf("web2").status())["locked"], true);
  await desk.must(["unlock", "web2", "web3", ...hub()]);
  await Promise.all(NAMES.map((name) => waits(name, null)));
  const nobody = await desk.must(["unlock", "--all", ...hub()]);
  assert.match(nobody.err, /No gateway of this vault waits/);
  assert.equal((await desk.must(["unlock", ...hub(), "--json"])).out.trim(), "[]");
  // A machine with old files is shown that it asks, and how to become one that can answer.
  await homeOf("web2").must(["lock"]);
  await waits("web2", "waits");
  assert.deepEqual(await waiting(early), { web1: null, web2: "unknown_key", web3: null });
  assert.match(
    (await early.run(["status", ...hub()])).out,
    /web2 {2}.*does not name: copy vault\.json and policy\.json/,
  );
  const stale = await early.operator(["unlock", "web2", ...hub()]);
  assert.equal(codeOf(stale), "not_found");
  assert.match(stale.err, /else copy it here anew\); who waits: gw status --hub URL/);
  early.carryFrom(homeOf("web1"));
  assert.equal((await waiting(early))["web2"], "waits");
  await early.must(["unlock", "web2", ...hub()]);
  assert.equal((await homeOf("web2").status())["locked"], false);
  // It was opened anew, and goes on from the frame that the hub has: whoever unlocked it from there vouches for that.
  assert.equal(await attestedHere("web3"), true);
});

real("a gateway that waited until its log had gone far on is unlocked and attested from one place", async () => {
  await running.get("web3")?.end("SIGTERM");
  running.set("web3", await homeOf("web3").up(["--locked"]));
  await waits("web3", "waits");
  // Each begins a segment, with seals of its own: what was offered at first is more than 32 of them ago.
  for (let attempts = 50; attempts < 68; attempts++)
    await homeOf("web3").must(["policy", "set", "run_attempts", String(attempts)]);
  await waits("web3", "waits");
  // What stands on the hub may be what it offered before, until it says it again a few seconds later.
  const unlocked = await desk.must(["unlock", "web3", ...hub()]);
  assert.doesNotMatch(unlocked.err, /not attested/);
  assert.equal((await homeOf("web3").status())["locked"], false);
  assert.equal(await attestedHere("web3"), true);
  await untilFollowed(...NAMES.map(homeOf));
});

real("a locked gateway that shows older files or an older log than the operator saw gets no key", async () => {
  const [audit, early, whole] = ["audit", "audit.early", "audit.whole"].map((name) =>
    join(homeOf("web3").folder, name),
  ) as [string, string, string];
  const { pid, end } = running.get("web3") ?? assert.fail("it runs");
  // As a crash would leave it: a copy that is made while it writes may have the end of a log without its middle.
  process.kill(pid, "SIGSTOP");
  execFileSync("cp", ["-a", audit, early]);
  process.kill(pid, "SIGCONT");
  // What it says on the hub from now on does not stand in the copy; of its end it may not come to say anything.
  await homeOf("web3").must(["lock"]);
  await waits("web3", "waits");
  await end("SIGTERM");
  // Cut back, it does not even ask: what it said on the hub does not stand in its log, however much it writes from now on.
  renameSync(audit, whole);
  renameSync(early, audit);
  running.set("web3", await homeOf("web3").up(["--locked"]));
  await until("it finds that its log was cut back", async () => {
    const hub = (await homeOf("web3").status())["hub"] as {
      readonly asks: { readonly trouble: Members | null } | null;
    } | null;
    // Right after its start it may not have looked yet.
    return hub?.asks?.trouble?.["code"] === "log_rolled_back";
  });
  assert.equal((await waiting())["web3"], null);
  await running.get("web3")?.end("SIGTERM");
  rmSync(audit, { recursive: true });
  renameSync(whole, audit);
  // The operator's own copies are old as well: it is the other gateways that follow something newer.
  await homeOf("web1").must(["policy", "set", "run_attempts", "41"]);
  running.set("web3", await homeOf("web3").up(["--locked"]));
  await waits("web3", "gateway_behind");
  const refused = await desk.operator(["unlock", "web3", ...hub()]);
  assert.equal(refused.code, 1);
  assert.match(refused.out, /web3 is NOT unlocked: gateway_behind: /);
  assert.equal((await homeOf("web3").status())["locked"], true);
  // Were they owned, and lied, an operator could say so.
  const [, liar = ""] = /--despite (\S+)/.exec(refused.out) ?? [];
  assert.ok(
    NAMES.some((one) => one === liar && one !== "web3"),
    refused.out,
  );
  const others = NAMES.filter((one) => one !== "web3").flatMap((one) => ["--despite", one]);
  await desk.must(["unlock", "web3", ...others, ...hub()]);
  await running.get("web3")?.end("SIGTERM");
  // With the newest files it waits like any other. They are there before it starts: one that finds half a file asks no more until it is whole.
  homeOf("web3").carryFrom(homeOf("web1"));
  running.set("web3", await homeOf("web3").up(["--locked"]));
  await waits("web3", "waits");
  await desk.must(["unlock", "web3", ...hub()]);
  assert.equal(await attestedHere("web3"), true);
});

real("what the three did is verified from the hub alone", async () => {
  let verified = await desk.run(["audit", "verify", ...hub(), "--json"]);
  // A word may be on its way between head and parts.
  for (let again = 0; verified.code !== 0 && again < 9; again++)
    verified = await desk.run(["audit", "verify", ...hub(), "--json"]);
  assert.equal(verified.code, 0, verified.err + verified.out);
  const { gateways } = JSON.parse(verified.out) as { readonly gateways: readonly Members[] };
  assert.deepEqual(
    gateways.map(({ gateway }) => gateway),
    [...NAMES],
  );
  // Whoever leaves keeps nothing that could ask in its name.
  const key = join(homeOf("web3").folder, "waiting.key");
  assert.ok(existsSync(key));
  await homeOf("web3").must(["hub", "leave"]);
  await until("the key is gone", async () => !existsSync(key));
});
