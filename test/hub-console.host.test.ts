import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { addAuthenticator, noBrowser, openBrowser, openSight, type Sight } from "./support/browser.ts";
import { answerJson, consequentialPack } from "./support/consequential.ts";
import {
  type Console,
  clean,
  enrol,
  freePort,
  go,
  linksOf,
  ownComplaints,
  press,
  prove,
  says,
  startConsole,
} from "./support/console.ts";
import { untilFollowed } from "./support/fleet.ts";
import { type Gateway, Home, type Members, makeFolder, openPlane, type Plane, start, until } from "./support/home.ts";
import { type Cluster, makeCluster, needPostgres } from "./support/postgres.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const { programs, skip: noPostgres } = needPostgres(import.meta.filename);
const noCompiler = existsSync("/usr/bin/cc") ? false : "there is no C compiler";
const skip = noPostgres || noCompiler || (noBrowser ?? false);
const real = (name: string, run: () => Promise<void>) => test(name, { skip, timeout: 200_000 }, run);

let cluster: Cluster;
let provider: TestProvider;
/** One vault on two hosts, and a machine with an operator's keys and signed files, and no gateway. */
let web1: Home;
let web2: Home;
let desk: Home;
const running: Gateway[] = [];
let browser: Browser;
let served: Console;
let sight: Sight;
let jobState = "failed";
const sent: string[] = [];
let program: string;
const copiesIn = makeFolder();

before(async () => {
  if (skip !== false) return;
  [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
  provider.answer(({ method, url }, response) => {
    sent.push(`${method} ${url}`);
    if (url === "/v1/reports")
      return answerJson(response, 202, { job_id: "job-1", state: "queued", status_url: "/v1/jobs/job-1" });
    // Nobody sees what became of it.
    if (url === "/v1/posts") return void response.destroy();
    if (url.endsWith("/resume")) jobState = "running";
    if (url.includes("/jobs/job-1")) {
      const progress = { completed: 1, total: 2 };
      return answerJson(response, method === "GET" ? 200 : 202, {
        ...{ job_id: "job-1", state: jobState, updated_at: "x", progress },
      });
    }
    return answerJson(response, 200, {});
  });
  program = join(makeFolder(), "agent");
  execFileSync("cc", ["-O1", "-o", program, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
  web1 = await new Home(makeFolder()).init();
  await web1.addCredential("acme-token", provider.origin);
  await web1.trustPack("acme", consequentialPack(provider.origin));
  running.push(await web1.up());
  assert.equal((await web1.run(["hub", "init", cluster.url("owner")])).code, 0);
  await cluster.sql("create role web1 login in role gw_gateway; create role web2 login in role gw_gateway");
  await cluster.sql("create role ada login in role gw_operator");
  await web1.must(["hub", "join", cluster.url("web1"), "--name", "web1"]);
  web2 = new Home(makeFolder());
  web2.carryFrom(web1);
  running.push(await web2.up());
  await web2.must(["hub", "join", cluster.url("web2"), "--name", "web2"]);
  await untilFollowed(web1, web2);
  await until("the second host has the packs", async () => existsSync(join(web2.folder, "packs", "acme.yaml")));

  // A passkey belongs to the place where it was enrolled, on whichever host that was.
  const port = await freePort();
  browser = await openBrowser();
  const own = startConsole(web1, port);
  sight = await openSight(browser, await own.nextLink());
  await addAuthenticator(sight);
  await enrol(sight, web1, "laptop");
  await sight.page.goto("about:blank");
  await own.program.end();
  desk = new Home(makeFolder());
  desk.carryFrom(web1);
  served = serveHub(port);
  await sight.page.goto(await served.nextLink());
  await says(sight, /Nothing waits for you/);
});
after(async () => {
  if (skip !== false) return;
  await browser.close();
  await served.program.end();
  for (const gateway of running) await gateway.end();
  await provider.close();
  await cluster.stop();
});

/** The page of the hub at the desk; its copies of logs are where a test looks for them. */
function serveHub(port: number): Console {
  const words = ["console", "--port", String(port), "--passphrase-file", desk.passphraseFile];
  const env = { ...desk.environment(), TMPDIR: copiesIn };
  return linksOf(desk.start([...words, "--hub", cluster.url("ada")], { env }), port);
}

interface Waiting {
  readonly approval_id: string;
  readonly card_digest: string;
  readonly expires_in_ms: number;
}

const cardsOnHub = async (): Promise<readonly Waiting[]> =>
  JSON.parse((await desk.must(["approvals", "--hub", cluster.url("ada"), "--json"])).out) as readonly Waiting[];

/** A program that grants can name reads a thing, and waits so long for a person. */
async function act(home: Home, id: string, seconds: number): Promise<Members> {
  const words = [home.agentSocket, "acme.thing.get", JSON.stringify({ id }), String(seconds)];
  const { out, err } = await start([program, ...words]).exited;
  assert.notEqual(out, "", err);
  return JSON.parse(out) as Members;
}

/** What web2 answers to a statement that somebody put there. */
async function answerTo(id: string, body: string): Promise<unknown> {
  await cluster.sql("insert into gw_hub.statements (id, gateway, body, kind) values ($1, 'web2', $2, 'order')", [
    id,
    body,
  ]);
  await cluster.sql("notify gw_hub");
  return until("it is answered", async () => {
    const [row] = await cluster.sql<{ answer: string | null }>("select answer from gw_hub.statements where id = $1", [
      id,
    ]);
    return row?.answer != null && (JSON.parse(row.answer) as Members)["code"];
  });
}

real(
  "gw console --hub decides, revokes and settles on both hosts, and reads both logs, from a machine with none",
  async () => {
    const agents = [openPlane(web1.agentSocket), openPlane(web2.agentSocket)] as const;
    const [one, two] = agents;
    try {
      const ask = async (agent: Plane, actions: readonly string[]): Promise<Members> =>
        (await agent.ask("POST", "/v1/runs", { purpose: "from far away", actions, budget: {} })).body;
      const asked = await ask(one, ["acme.thing.get", "acme.thing.post"]);
      const refused = await ask(two, ["acme.thing.get"]);
      const card = (gateway: string) => sight.page.locator(".queue a").filter({ hasText: gateway });
      await card("web1").click();
      await says(sight, /on web1/);
      await sight.page.getByText("Narrow what you approve").click();
      await sight.page.getByLabel("acme.thing.post", { exact: true }).uncheck();
      await card("web2").waitFor();
      await clean(sight, "hub-waiting");
      await press(sight, /Approve with passkey/);
      await says(sight, new RegExp(`${idOf(asked, "approval_id")} is approved`));
      const [approved] = (await web1.events("approval_approved")).slice(-1);
      assert.equal(approved?.["approval_id"], asked["approval_id"]);
      const told = JSON.parse((await web1.must(["activity", "show", idOf(asked, "approval_id"), "--json"])).out);
      assert.deepEqual(
        [told.approvals[0].decision.passkey, told.approvals[0].decision.signature],
        ["verifies", "verifies"],
      );
      const [started] = (await web1.events("session_started")).slice(-1);
      assert.deepEqual(started?.["scope"], ["acme.thing.get"]);
      await card("web2").click();
      await press(sight, /Deny/);
      await sight.page.getByLabel(/Why/).fill("not from there");
      await sight.page.getByRole("dialog").getByRole("button", { name: "Deny" }).click();
      await says(sight, /is denied/);
      const [denied] = (await web2.events("approval_denied")).slice(-1);
      assert.deepEqual([denied?.["approval_id"], denied?.["reason"]], [refused["approval_id"], "not from there"]);

      const path = (run: Members): string => `/v1/runs/${idOf(run, "run_id")}/calls`;
      const get = await one.ask(
        "POST",
        path(asked),
        { action: "acme.thing.get", input: { id: "far" } },
        { prefer: "wait=20" },
      );
      assert.equal(get.body["outcome"], "success", get.text);
      const acting = await ask(two, ["acme.thing.post"]);
      await web2.approve(idOf(acting, "approval_id"));
      const make = { action: "acme.thing.post", input: { name: "far" } };
      const lost = await two.ask("POST", path(acting), make, { prefer: "wait=20" });
      assert.equal(lost.body["outcome"], "unknown", lost.text);
      await go(sight, "#/now");
      for (const gateway of ["web1", "web2"]) {
        const line = sight.page.locator(".gateways li").filter({ hasText: gateway });
        await line.getByText(/seen \d+ s ago/).waitFor();
      }
      const tile = (words: RegExp) =>
        sight.page.locator("li.tile").filter({ hasText: "web2" }).filter({ hasText: words });
      await tile(/It happened/)
        .getByRole("button", { name: "Look now" })
        .click();
      await prove(sight, desk);
      await until("its own host was asked to look", async () => {
        return (await web2.events("operation_asked")).some(({ errand }) => errand === "reconcile");
      });
      await tile(/It happened/)
        .getByRole("button", { name: "It did not" })
        .click();
      await sight.page.getByLabel(/Why/).fill("not in the list of noon");
      await sight.page.getByRole("dialog").getByRole("button", { name: "Sign it" }).click();
      await prove(sight, desk);
      await says(sight, /Settled by your signed word/);
      const [settled] = (await web2.events("operation_settled")).slice(-1);
      assert.equal(settled?.["reason"], "not in the list of noon");
      await clean(sight, "hub-now");
      const session = sight.page.locator("li.tile").filter({ hasText: "web1" }).filter({ hasText: "from far away" });
      await session.getByRole("button", { name: "Revoke" }).click();
      await sight.page.getByLabel(/Why/).fill("enough");
      await sight.page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
      await says(sight, /has ended/);
      const [ended] = (await web1.events("session_revoked")).slice(-1);
      assert.equal(ended?.["reason"], "enough");

      await go(sight, "#/activity");
      const row = (gateway: string, words: string) =>
        sight.page.locator("li.entry a").filter({ hasText: gateway }).filter({ hasText: words }).first();
      await row("web2", "acme.thing.post").waitFor();
      await clean(sight, "hub-activity");
      await row("web1", "acme.thing.get").click();
      await says(sight, /From the log of web1/);
      await says(sight, /signature verifies/);
      await go(sight, "#/log");
      await sight.page.getByRole("button", { name: "Verify them" }).click();
      await until("both are intact", async () => (await sight.page.locator(".report h3 .chip.good").count()) === 2);
      await clean(sight, "hub-log");
      // What a hub cannot do is not offered, and refused to whoever asks all the same.
      assert.equal(await sight.page.getByRole("link", { name: "Packs" }).count(), 0);
      await go(sight, "#/packs");
      await says(sight, /This is done by commands.*gw pack list, gw pack trust/);
      assert.deepEqual(ownComplaints(sight), []);
      await go(sight, "#/waiting");
    } finally {
      for (const agent of agents) agent.close();
    }
  },
);

real(
  "a card of another host gets more time and a grant on the page of a hub, and its like passes on all hosts",
  async () => {
    const day = new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10);
    const words = ["--caller", `image:${program}`, "--actions", "acme.thing.get", "--where", "id=1", "--until", day];
    await desk.must(["grant", "add", "first", ...words, "--hub", cluster.url("ada")]);
    const acting = act(web2, "7", 120);
    await says(sight, /on web2/);
    const [before] = await cardsOnHub();
    assert.ok(before !== undefined);
    await press(sight, /5 min more/);
    await says(sight, /has more time/);
    const later = await until("the card has more time", async () => {
      const [card] = await cardsOnHub();
      return card !== undefined && card.card_digest !== before.card_digest && card;
    });
    assert.ok(later.expires_in_ms > before.expires_in_ms);
    // What was taken is not taken again, and nobody writes a longer time into it.
    const [said] = await cluster.sql<{ body: string }>(
      "select body from gw_hub.statements where body like '%gw.extension/v1%'",
    );
    const body = said?.body ?? "";
    assert.equal(await answerTo("hst_again", body), "card_mismatch");
    const digest = body.replaceAll(before.card_digest, later.card_digest);
    assert.equal(await answerTo("hst_moved", digest), "signature_invalid");
    assert.equal(await answerTo("hst_longer", body.replace('"seconds":300', '"seconds":36000')), "value_not_allowed");
    const [extended, ...more] = await web2.events("card_extended");
    assert.deepEqual(
      [extended?.["approval_id"], extended?.["seconds"], extended?.["signature"], more],
      [before.approval_id, 300, JSON.parse(body).signature, []],
    );

    await press(sight, /Approve and grant/);
    await says(sight, /the user of that number on each host/);
    await clean(sight, "hub-grant");
    await sight.page.getByRole("button", { name: "Sign the grant and approve" }).click();
    await prove(sight, desk);
    await says(sight, /lets such calls pass without a card/);
    await says(sight, new RegExp(`${before.approval_id} is approved`));
    await clean(sight, "hub-granted");
    assert.equal((await acting)["outcome"], "success");
    const shown = JSON.parse((await web2.must(["activity", "show", before.approval_id, "--json"])).out);
    assert.deepEqual(
      [shown.approvals[0].decision.passkey, shown.approvals[0].decision.signature],
      ["verifies", "verifies"],
    );
    for (const home of [web1, web2]) {
      const asked = (await home.events("approval_requested")).length;
      assert.equal((await act(home, "7", 60))["outcome"], "success");
      assert.equal((await home.events("approval_requested")).length, asked, "nobody was asked again");
    }
  },
);

real("work that failed is resumed, and called off, on the page of a hub", async () => {
  const agent = openPlane(web1.agentSocket);
  try {
    const asked = await agent.ask("POST", "/v1/runs", {
      ...{ purpose: "monthly", actions: ["acme.report.create"], budget: { spend_cents: 100 } },
    });
    assert.equal(asked.status, 202, asked.text);
    await web1.approve(String(asked.body["approval_id"]));
    const path = `/v1/runs/${String(asked.body["run_id"])}/calls`;
    const call = { action: "acme.report.create", input: { account: "a1" } };
    const made = await agent.ask("POST", path, call, { prefer: "wait=20" });
    assert.equal(typeof made.body["operation_id"], "string", made.text);
    await go(sight, "#/now");
    const tile = sight.page.locator("li.tile").filter({ hasText: "acme.report.create" }).filter({ hasText: "web1" });
    const act = async (button: string, verb: string): Promise<void> => {
      await tile.getByRole("button", { name: button, exact: true }).click();
      await sight.page.getByLabel(/Why/).fill("by hand");
      await sight.page.getByRole("dialog").getByRole("button", { name: verb }).click();
      await prove(sight, desk);
    };
    await tile.getByText("failed", { exact: true }).waitFor();
    await act("Resume", "Resume it");
    await says(sight, /The provider was asked to go on/);
    await until("it goes on", async () => sent.includes("POST /v1/jobs/job-1/resume"));
    await clean(sight, "hub-resumed");
    await act("Cancel", "Cancel it");
    await says(sight, /The provider was asked to stop/);
    await until("it was told to stop", async () => sent.includes("DELETE /jobs/job-1"));
    assert.deepEqual(
      (await web1.events("operation_asked")).map(({ errand, reason }) => [errand, reason]),
      [
        ["resume", "by hand"],
        ["cancel", "by hand"],
      ],
    );
    jobState = "cancelled";
  } finally {
    agent.close();
  }
});

real("a card that its own host decided goes away from the page of a hub when another waits", async () => {
  const stands = (host: string) =>
    sight.page
      .locator(".detail .on")
      .filter({ hasText: `on ${host}` })
      .waitFor();
  await go(sight, "#/waiting");
  const acting = [act(web1, "8", 120)];
  await stands("web1");
  acting.push(act(web2, "9", 120));
  await sight.page.locator(".queue .row:not(.over)").nth(1).waitFor();
  const decide = async (home: Home): Promise<void> => home.approve(idOf((await home.approvals())[0], "approval_id"));
  await decide(web1);
  await stands("web2");
  await sight.page
    .locator(".passed")
    .filter({ hasText: /is approved by [a-z]/ })
    .waitFor();
  await clean(sight, "hub-next");
  await decide(web2);
  await sight.page
    .locator(".ended.approved")
    .filter({ hasText: /by [a-z]/ })
    .waitFor();
  for (const one of await Promise.all(acting)) assert.equal(one["outcome"], "success");
});

real("a grant that not every gateway has taken yet is told with who has not", async () => {
  await running[0]?.end();
  const acting = act(web2, "8", 120);
  await press(sight, /Approve and grant/);
  await sight.page.getByRole("button", { name: "Sign the grant and approve" }).click();
  await prove(sight, desk);
  await sight.page
    .getByText(/not taken yet by web1/)
    .first()
    .waitFor({ timeout: 120_000 });
  assert.equal((await acting)["outcome"], "success");
});

real(
  "copies of logs that a killed console left are removed by the next one, and not those of one that lives",
  async () => {
    const copies = () => readdirSync(copiesIn).filter((name) => name.startsWith("gw-hub-"));
    const [lives, ...others] = copies();
    assert.ok(lives !== undefined && others.length === 0);
    const begin = async (): Promise<Console> => {
      const begun = serveHub(await freePort());
      await begun.nextLink();
      return begun;
    };
    const killed = await begin();
    const both = copies();
    assert.equal(both.length, 2);
    await killed.program.end("SIGKILL");
    assert.deepEqual(copies(), both, "nobody was there to remove it");
    const next = await begin();
    assert.equal(copies().length, 2);
    assert.deepEqual(
      copies().filter((name) => both.includes(name)),
      [lives],
    );
    await next.program.end("SIGTERM");
    assert.deepEqual(copies(), [lives]);
  },
);

real("what the page of a hub does not do is refused with the command that does", async () => {
  const link = await served.nextLink();
  const asked = [
    ["GET", "packs", /gw pack list/],
    ["POST", "packs/demo/trust", /gw pack trust/],
    ["GET", "credentials", /gw credential list/],
    ["GET", "recordings/call_1", /gw activity show ID --recording/],
    ["GET", "passkeys", /gw passkey list/],
    ["GET", "log/checkpoint", /gw audit checkpoint/],
    ["GET", "grants", /gw grant list --hub URL/],
    ["POST", "grants/first/remove", /gw grant remove NAME --hub URL/],
    ["GET", "policy", /gw policy show/],
  ] as const;
  const ways = asked.map(([method, path]) => [method, path]);
  const answers = (await sight.page.evaluate(`(async () => {
    const json = { "content-type": "application/json" };
    const token = ${JSON.stringify(new URL(link).hash.slice(1))};
    const entered = await fetch("/api/enter", { method: "POST", headers: json, body: JSON.stringify({ token }) });
    const authorization = "Bearer " + (await entered.json()).key;
    return Promise.all(${JSON.stringify(ways)}.map(async ([method, path]) => {
      const more = method === "POST" ? { headers: { ...json, authorization }, body: "{}" } : { headers: { authorization } };
      return (await fetch("/api/" + path, { method, ...more })).json();
    }));
  })()`)) as readonly { readonly code: string; readonly message: string }[];
  for (const [index, [, path, command]] of asked.entries()) {
    assert.equal(answers[index]?.code, "console_not_by_hub", path);
    assert.match(answers[index]?.message ?? "", command);
  }
  // Every command that is named is one.
  const named = answers.flatMap(({ message }) => [...message.matchAll(/gw ([a-z]+) ([a-z]+)/g)]);
  for (const words of new Set(named.map(([, noun, verb]) => `${noun} ${verb}`)))
    assert.equal((await desk.run([...words.split(" "), "--help"])).code, 0, words);
  await go(sight, "#/grants");
  await says(sight, /gw grant list --hub URL/);
  await go(sight, "#/credentials");
  await says(sight, /gw credential list/);
  assert.deepEqual(ownComplaints(sight), []);
});
