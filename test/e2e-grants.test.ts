import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  codeOf,
  DEMO_PURCHASE,
  demoPack,
  type Exited,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  PASSPHRASE,
  start,
  until as untilTrue,
} from "./support/home.ts";
import { noTmux, openPane } from "./support/pane.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const compiler =
  spawnSync("cc", ["--version"]).error === undefined ? asUser : { skip: "no C compiler to build an agent with" };

/** A nightly agent that is an image of its own, and nobody awake to answer. */
describe("a decision made ahead", compiler, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: string;
  const until = ["--until", new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10)];

  before(async () => {
    const folder = makeFolder();
    provider = await startProvider();
    home = await new Home(folder).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin, DEMO_PURCHASE));
    agent = join(folder, "agent");
    execFileSync("cc", ["-O1", "-o", agent, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  const act = async (input: Members, program = agent, seconds = 60, action = "demo.thing.get"): Promise<Members> => {
    const command = [program, home.agentSocket, action, JSON.stringify(input), String(seconds)];
    const { out, err }: Exited = await start(command).exited;
    assert.notEqual(out, "", err);
    return JSON.parse(out) as Members;
  };
  /** What is not covered waits for a person, and nobody comes. */
  const waits = async (input: Members, program = agent): Promise<boolean> =>
    (await act(input, program, 1))["state"] === "pending";
  /** Answers, and no question was left behind. */
  const unasked = async (): Promise<boolean> => Number((await home.status())["approvals_pending"]) === 0;

  test("lets the agent act without a person, within its conditions alone, until it is removed", async () => {
    const added = await home.must([
      "grant",
      "add",
      "nightly",
      "--caller",
      `image:${agent}`,
      "--actions",
      "demo.thing.get",
      "--where",
      "id in 1,2",
      ...until,
    ]);
    assert.match(added.out, /where\s+id in 1,2/);
    assert.equal((await act({ id: "1" }))["outcome"], "success");
    assert.equal((await act({ id: "2" }))["outcome"], "success");
    assert.ok(await unasked());
    const granted = await home.events("intent_accepted");
    assert.deepEqual(
      granted.map(({ authorization }) => authorization),
      ["grant:nightly", "grant:nightly"],
    );

    const sent = provider.received.length;
    assert.ok(await waits({ id: "3" }));
    assert.equal(provider.received.length, sent);

    const listed = JSON.parse((await home.run(["grant", "list", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      listed.map(({ name }) => name),
      ["nightly"],
    );
    await home.must(["grant", "remove", "nightly"]);
    assert.ok(await waits({ id: "1" }));
    assert.equal(provider.received.length, sent);
    assert.deepEqual(JSON.parse((await home.run(["grant", "list", "--json"])).out), []);
  });

  const paneSkip = noTmux === null ? {} : { skip: noTmux };

  test(
    "is proposed from a card, edited and signed in gw watch, and covers the next call of another session",
    paneSkip,
    async () => {
      const words = ["grant", "add", "first", "--caller", `image:${agent}`, "--actions", "demo.thing.get"];
      await home.must([...words, "--where", "id=1", ...until]);
      const acting = act({ id: "30" });
      const command = `${GW} watch --home ${home.folder} --passphrase-file ${home.passphraseFile}`;
      const pane = openPane(makeFolder(), command, home.environment(), { columns: 80, rows: 24 });
      try {
        await pane.shows("demo.thing.get");
        await pane.shows("the grant first does not cover it");
        // A key that comes while the screen has just changed does not count, and one too many would be written into the line.
        await untilTrue("g opens the grant", () => {
          pane.type("g");
          return untilTrue("", () => pane.text().includes("gw grant add"), 1_000).catch(() => false);
        });
        await pane.shows(/--where id=30/);
        pane.write(" --hours 'mon-sun 00-24'");
        pane.type("Enter");
        await pane.shows("Approve, and sign the grant demo-thing-get-");
        const asks = (): boolean => pane.text().includes("Passphrase: _");
        // Keys that come while the screen has just changed do not count: then they are typed once more, as a person would.
        for (let tries = 0; tries < 10 && pane.text().includes("Approve, and sign"); tries++) {
          pane.write(PASSPHRASE);
          pane.type("Enter");
          await untilTrue("the keys count", () => !asks(), 1_000).catch(() => undefined);
          await untilTrue("it is checked", () => asks() || !pane.text().includes("Approve, and sign"));
        }
        assert.equal((await acting)["outcome"], "success", pane.text());
      } finally {
        pane.close();
      }
      assert.equal((await act({ id: "30" }))["outcome"], "success");
      assert.ok(await unasked());
      assert.equal((await act({ id: "1" }))["outcome"], "success", "the grant that its session stands on still counts");
      const used = (await home.events("intent_accepted")).map(({ authorization }) => String(authorization));
      assert.match(used.at(-2) ?? "", /^grant:demo-thing-get-/);
      assert.equal(used.at(-1), "grant:first");
    },
  );

  /** Approves the card and signs what it proposes, as it stands, at a terminal. */
  const approveAndGrant = async (id: string): Promise<string> => {
    const approve = `${GW} approve ${id} --grant --home ${home.folder} --passphrase-file ${home.passphraseFile}`;
    const pane = openPane(makeFolder(), `${approve}; echo DONE; cat`, home.environment());
    try {
      await pane.shows(/--until \d{4}/);
      pane.type("Enter");
      await pane.shows("DONE");
      return pane.text();
    } finally {
      pane.close();
    }
  };

  test("is proposed from the card of a purchase, and pays the next one without a person", paneSkip, async () => {
    const buy = (): Promise<Members> => act({ name: "stamp" }, agent, 60, "demo.thing.buy");
    const asking = buy();
    const [session] = await home.approvals();
    await home.approve(idOf(session, "approval_id"));
    const [purchase] = await home.approvals();
    assert.match(await approveAndGrant(idOf(purchase, "approval_id")), /Signed: demo-thing-buy-/);
    assert.equal((await asking)["outcome"], "success");
    const paid = await buy();
    assert.equal(paid["outcome"], "success", JSON.stringify(paid));
    assert.ok(await unasked());
    const used = (await home.events("intent_accepted")).at(-1);
    assert.match(String(used?.["authorization"]), /^grant:demo-thing-buy-/);
  });

  test(
    "is proposed by gw approve, and simulated on the log: what was approved and what was denied",
    paneSkip,
    async () => {
      const asking = act({ id: "31" });
      const [approval] = await home.approvals();
      assert.match(await approveAndGrant(idOf(approval, "approval_id")), /Signed: demo-thing-get-/);
      assert.equal((await asking)["outcome"], "success");
      const denied = act({ id: "32" });
      const [second] = await home.approvals();
      await home.must(["deny", idOf(second, "approval_id"), "--reason", "never thirty-two"]);
      await denied;
      const words = ["grant", "add", "wide", "--caller", `image:${agent}`, "--actions", "demo.thing.get"];
      await home.must([...words, ...until]);
      const { out } = await home.must(["grant", "simulate", "wide", "--since", "1h"]);
      assert.match(out, /would have covered \d+:/);
      assert.match(out, /DENIED {3}\S+ demo\.thing\.get id="32" by ada: never thirty-two/);
      assert.match(out, /approved \S+ demo\.thing\.get id="31" by ada/);
      const narrow = await home.must(["grant", "simulate", "first", "--since", "1h"]);
      assert.match(narrow.out, /would have covered 0:/);
      assert.match(narrow.out, /not covered, \d+: it holds only where id=1/);
      const list = await home.must(["grant", "list"]);
      assert.match(list.out, /^wide .*NEVER USED/m);
      assert.match(list.out, /^first .*last used \d{4}-/m);
      for (const name of ["first", "wide"]) await home.must(["grant", "remove", name]);
    },
  );

  test("covers a command below gw run by its digest, there alone, and no script", async () => {
    const words = ["grant", "add", "wrapped", "--caller", `command:${agent}`, "--actions", "demo.thing.get"];
    const added = await home.must([...words, "--where", "id=40", "--idle", "3", ...until]);
    assert.match(added.out, /3 days without a use end it/);
    const below = (input: Members): Promise<Exited> => {
      const command = [agent, home.agentSocket, "demo.thing.get", JSON.stringify(input), "1"];
      const run = [GW, "--home", home.folder, "run", "--actions", "demo.thing.get", "--", ...command];
      return start(run, { env: home.environment() }).exited;
    };
    assert.equal((JSON.parse((await below({ id: "40" })).out) as Members)["outcome"], "success");
    assert.ok(await unasked());
    assert.equal((JSON.parse((await below({ id: "41" })).out) as Members)["state"], "pending");
    assert.ok(await waits({ id: "40" }), "not on its own");
    const listed = await home.must(["grant", "list"]);
    assert.match(listed.out, /^wrapped .*last used \S+, ends unused on \d{4}-/m);
    const script = join(makeFolder(), "nightly.sh");
    writeFileSync(script, "#!/bin/sh\n");
    const refused = await home.operator([
      ...words.slice(0, 2),
      "no",
      "--caller",
      `command:${script}`,
      ...words.slice(5),
      ...until,
    ]);
    assert.equal(codeOf(refused), "grant_invalid");
    assert.match(refused.err, /is a script: what the system runs is its interpreter/);
    await home.must(["grant", "remove", "wrapped"]);
  });

  test("begins a run that another process may join, once a person says so", async () => {
    const words = ["grant", "add", "wrapped", "--caller", `command:${agent}`, "--actions", "demo.thing.get"];
    await home.must([...words, ...until]);
    const command = ["sh", "-c", 'echo "$GW_RUN"; exec sleep 600'];
    const run = [GW, "--home", home.folder, "run", "--actions", "demo.thing.get", "--", ...command];
    const wrapper = start(run, { env: home.environment() });
    try {
      await untilTrue("the run", () => wrapper.out().includes("\n"));
      assert.ok(await unasked());
      const joining = home.start(["call", "demo.thing.get", "id=50", "--run", wrapper.out().trim()]);
      const [asked] = await home.approvals();
      assert.equal(asked?.["mode"], "join");
      await home.approve(idOf(asked, "approval_id"));
      const { code, err } = await joining.exited;
      assert.equal(code, 0, err);
    } finally {
      await wrapper.end();
      await home.must(["grant", "remove", "wrapped"]);
    }
  });

  test("covers that very image and no interpreter", async () => {
    await home.must(["grant", "add", "image", "--caller", `image:${agent}`, "--actions", "demo.thing.*", ...until]);
    const twin = join(makeFolder(), "agent");
    copyFileSync(agent, twin);
    execFileSync("strip", [twin]);
    assert.ok(await waits({ id: "1" }, twin));
    const words = ["--caller", `image:${process.execPath}`, "--actions", "demo.thing.*", ...until];
    const refused = await home.operator(["grant", "add", "any-node", ...words]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "grant_invalid"], refused.err);
    assert.match(refused.err, /runs any script/);
    // Under another name it is signed, and covers nothing all the same: what runs is looked at then.
    const renamed = join(makeFolder(), "agent-runtime");
    copyFileSync(process.execPath, renamed);
    const signed = await home.must(["grant", "add", "any-node", "--caller", `image:${renamed}`, ...words.slice(2)]);
    assert.match(signed.err, /An interpreter .* is never covered without --caller uid/);
    const asked = home.start(["call", "demo.thing.get", "id=1", "--wait", "1"]);
    assert.notEqual((await asked.exited).code, 0);
    await home.must(["grant", "remove", "image"]);
    await home.must(["grant", "remove", "any-node"]);
  });

  test("is refused as a whole where a word does not fit, and an edited one does not verify", async () => {
    const base = ["grant", "add", "bad", "--caller", `image:${agent}`, ...until];
    const bad: readonly (readonly string[])[] = [
      [...base, "--actions", "demo.nothing"],
      [...base, "--actions", "demo.*"].concat(["--where", "owner=acme"]),
      [...base, "--actions", "demo.thing.get", "--where", "id<=5"],
      [...base, "--actions", "demo.thing.get", "--effects", "write"],
      [...base, "--actions", "demo.thing.get", "--include", "everything"],
      ["grant", "add", "bad", "--caller", "uid:0", "--actions", "demo.thing.get", ...until],
      ["grant", "add", "bad", "--caller", `uid:${process.getuid?.()}`, "--actions", "demo.thing.get", ...until],
      ["grant", "add", "bad", "--caller", "anybody", "--actions", "demo.thing.get", ...until],
      ["grant", "add", "bad", "--caller", `image:${agent}`, "--actions", "demo.thing.get", "--until", "2020-01-01"],
      ["grant", "add", "bad", "--caller", `image:${agent}`, "--actions", "demo.thing.get", "--until", "2099-01-01"],
    ];
    const told: string[] = [];
    for (const words of bad) {
      const refused = await home.operator(words);
      assert.equal(codeOf(refused), "grant_invalid", words.join(" "));
      told.push(refused.err);
    }
    assert.match(told.find((line) => line.includes("user 0")) ?? "", /root/);
    assert.match(told[1] ?? "", /demo\.\S+ has no argument owner/);
    assert.equal(codeOf(await home.operator(["grant", "remove", "bad"])), "not_found");
  });

  test("as docs/grants.md writes one is signed, for the pack of ours that it names", async () => {
    const root = join(import.meta.dirname, "..");
    await home.trustPack("github", readFileSync(join(root, "packs", "github.yaml"), "utf8"));
    const [, block = ""] =
      /```\n(gw grant add [\s\S]*?)\ngw grant list/.exec(readFileSync(join(root, "docs", "grants.md"), "utf8")) ?? [];
    const words = [...block.replaceAll("\\\n", " ").matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, plain]) => quoted ?? plain ?? "",
    );
    // Its date is over one day; everything else is the page's.
    const [, last = ""] = until;
    const added = await home.must(
      words.slice(1).map((word, index, all) => (all[index - 1] === "--until" ? last : word)),
    );
    assert.match(added.out, /github\.label\.\*/);
    await home.must(["grant", "remove", "triage"]);
  });
});
