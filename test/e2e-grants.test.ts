import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  codeOf,
  demoPack,
  type Exited,
  type Gateway,
  Home,
  type Members,
  makeFolder,
  start,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

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
    await home.trustPack("demo", demoPack(provider.origin));
    agent = join(folder, "agent");
    execFileSync("cc", ["-O1", "-o", agent, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
    await provider?.close();
  });

  const act = async (input: Members, action = "demo.thing.get", program = agent): Promise<Members> => {
    const { out, err }: Exited = await start([program, home.agentSocket, action, JSON.stringify(input)]).exited;
    assert.notEqual(out, "", err);
    return JSON.parse(out) as Members;
  };
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
    assert.equal((await act({ id: "3" }))["state"], "pending", "a person is asked, and nobody answers");
    assert.equal(provider.received.length, sent);

    const listed = JSON.parse((await home.run(["grant", "list", "--json"])).out) as readonly Members[];
    assert.deepEqual(
      listed.map(({ name }) => name),
      ["nightly"],
    );
    await home.must(["grant", "remove", "nightly"]);
    assert.equal((await act({ id: "1" }))["state"], "pending");
    assert.equal(provider.received.length, sent);
    assert.deepEqual(JSON.parse((await home.run(["grant", "list", "--json"])).out), []);
  });

  test("covers that very image and no interpreter", async () => {
    await home.must(["grant", "add", "image", "--caller", `image:${agent}`, "--actions", "demo.thing.*", ...until]);
    const twin = join(makeFolder(), "agent");
    copyFileSync(agent, twin);
    execFileSync("strip", [twin]);
    assert.equal((await act({ id: "1" }, "demo.thing.get", twin))["state"], "pending");
    const node = await home.must([
      "grant",
      "add",
      "any-node",
      "--caller",
      `image:${process.execPath}`,
      "--actions",
      "demo.thing.*",
      ...until,
    ]);
    assert.match(node.err, /An interpreter .* is never covered without --caller uid/);
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
      ["grant", "add", "bad", "--caller", `uid:${process.getuid?.()}`, "--actions", "demo.thing.get", ...until],
      ["grant", "add", "bad", "--caller", "anybody", "--actions", "demo.thing.get", ...until],
      ["grant", "add", "bad", "--caller", `image:${agent}`, "--actions", "demo.thing.get", "--until", "2020-01-01"],
      ["grant", "add", "bad", "--caller", `image:${agent}`, "--actions", "demo.thing.get", "--until", "2099-01-01"],
    ];
    for (const words of bad) assert.equal(codeOf(await home.operator(words)), "grant_invalid", words.join(" "));
    assert.equal(codeOf(await home.operator(["grant", "remove", "bad"])), "not_found");
  });
});
