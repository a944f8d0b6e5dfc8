import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import {
  asUser,
  codeOf,
  demoPack,
  type Exited,
  type Gateway,
  GW,
  Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  start,
  until,
} from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idIn } from "./support/reply.ts";

const AT_ONCE = 4;

describe("every command keeps the contract of the command line", asUser, () => {
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;
  let agent: Plane;
  /** Every command that does something, as its words. */
  let commands: readonly (readonly string[])[] = [];

  before(async () => {
    provider = await startProvider();
    home = new Home(makeFolder());
  });

  after(async () => {
    agent?.close();
    await gateway?.end();
    await provider?.close();
  });

  test("before there is a home every command says what to do: a code and a next step", async () => {
    for (const args of [["up"], ["credential", "list"], ["pack", "list"], ["operator", "list"]]) {
      const done = await home.run(args);
      assert.notEqual(done.code, 0, args.join(" "));
      assert.match(done.err, /vault_missing: .*gw init/, `${args.join(" ")}: ${done.err}`);
    }
  });

  test("gw init makes the home once, and says so as a record", async () => {
    const made = await home.must(["init", "--operator", "ada", "--json"]);
    assert.deepEqual(Object.keys(JSON.parse(made.out) as Members).sort(), ["home", "key_id", "operator", "vault_id"]);
    const again = await home.operator(["init", "--operator", "ada"]);
    assert.deepEqual([again.code, codeOf(again)], [1, "vault_exists"]);
    const wrong = join(makeFolder(), "wrong");
    writeFileSync(wrong, "not the passphrase at all\n", { mode: 0o600 });
    const refused = await home.run(["policy", "set", "run_attempts", "1", "--passphrase-file", wrong]);
    assert.deepEqual([refused.code, codeOf(refused)], [1, "passphrase_wrong"]);
  });

  test("gw reference --port N works right after gw init", async () => {
    const reference = start([GW, "reference", "--port", "0", "--json", "--home", home.folder]);
    try {
      const said = await until("the provider says where it is", async () => {
        assert.equal(reference.err(), "");
        return reference.out().includes("\n") && reference.out();
      });
      const { origin } = JSON.parse(String(said)) as { origin: string };
      assert.equal((await fetch(`${origin}/openapi.json`)).status, 200);
    } finally {
      await reference.end();
    }
  });

  test("without a gateway: exit 3, and how to start one", async () => {
    for (const args of [["status"], ["call", "demo.thing.get", "id=1"]]) {
      const done = await home.run(args);
      assert.deepEqual([done.code, codeOf(done)], [3, "gateway_unreachable"], args.join(" "));
      assert.match(done.err, /gw up/);
    }
  });

  test("every command has help with an example", async () => {
    commands = await findCommands(home);
    const names = commands.map((words) => words.join(" "));
    for (const name of [
      "init",
      "up",
      "status",
      "unlock",
      "lock",
      "call",
      "approvals",
      "approve",
      "deny",
      "revoke",
      "doctor",
    ]) {
      assert.ok(names.includes(name), `gw ${name} is there`);
    }
  });

  test("an unknown command, an unknown option and a missing argument are exit 2 and point to --help", async () => {
    const wrong = [
      ["no-such"],
      ["status", "--no-such"],
      ["call"],
      ["credential", "add", "x"],
      ["deny"],
      ["pack", "no-such"],
    ];
    const done = await inTurns(wrong, (args) => home.run(args));
    for (const [index, { code, err }] of done.entries()) {
      assert.equal(code, 2, `${wrong[index]?.join(" ")}: ${err}`);
      assert.match(err, /--help/, wrong[index]?.join(" "));
    }
  });

  test("what goes with a hub alone is exit 2 without one, and not ignored", async () => {
    const idle = [
      "unlock web1",
      "unlock --all",
      "grant list --despite web1",
      "approvals --hub-ca f",
      "status --hub-ca f",
    ];
    const done = await inTurns(idle, (line) => home.run(line.split(" ")));
    for (const [index, { code, err }] of done.entries()) {
      assert.equal(code, 2, `${idle[index]}: ${err}`);
      assert.match(err, /--hub URL, and that is missing/, idle[index]);
    }
  });

  test("a passphrase is never an argument or a variable, and without a terminal that is said", async () => {
    const env = { ...home.environment(), GW_PASSPHRASE: "correct horse battery staple in a test" };
    const done = await home.run(["credential", "add", "x", "--kind", "bearer", "--origin", "https://x.example"], {
      env,
    });
    assert.deepEqual([done.code, codeOf(done)], [1, "terminal_needed"]);
    assert.match(done.err, /--passphrase-file FILE/);
  });

  test("lists are arrays of records in the specification's names", async () => {
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    const shapes: readonly (readonly [readonly string[], readonly string[]])[] = [
      [
        ["credential", "list"],
        ["label", "kind", "bound_to", "each_use", "state"],
      ],
      [
        ["pack", "list"],
        ["pack", "digest", "trusted"],
      ],
      [
        ["operator", "list"],
        ["operator", "key_id"],
      ],
    ];
    const printed = await inTurns(shapes, ([args]) => home.run([...args, "--json"]));
    for (const [index, { out, err }] of printed.entries()) {
      const [args, members] = shapes[index] ?? [[], []];
      const [row] = JSON.parse(out) as readonly Members[];
      for (const member of members)
        assert.ok(row !== undefined && member in row, `${args.join(" ")} has ${member}: ${out}${err}`);
    }
    const callers = await home.run(["caller", "list", "--json"]);
    assert.deepEqual(JSON.parse(callers.out), []);
    const bad = join(makeFolder(), "bad.yaml");
    writeFileSync(bad, "format: gw.pack/v1\npack: bad\nactions: {}\nactions: {}\n");
    const linted = await home.run(["pack", "lint", bad, "--json"]);
    assert.equal(linted.code, 1);
    assert.ok(JSON.stringify(JSON.parse(linted.out)).includes("pack_duplicate_key"), linted.out);
  });

  test("a running gateway: status, approvals, decisions and sessions as records", async () => {
    gateway = await home.up();
    const status = await home.run(["status", "--json"]);
    const shown = JSON.parse(status.out) as Members;
    assert.deepEqual([status.code, shown["locked"], shown["mode"], shown["stopped"]], [0, false, "guard-rail", null]);
    assert.match((await home.run(["status"])).out, /guard-rail: .*not this user.s malware/);
    agent = openPlane(home.agentSocket);
    const asked = await agent.ask("POST", "/v1/runs", { purpose: "records", actions: ["demo.thing.get"] });
    const [approval] = await home.approvals();
    const record = ["approval_id", "state", "run_id", "mode", "expires_at", "card_digest", "card"];
    for (const member of record) assert.ok(approval !== undefined && member in approval, member);
    const card = approval?.["card"] as { readonly run: { readonly budget: Members } };
    assert.deepEqual(
      [card.run.budget["attempts"], card.run.budget["duration_seconds"]],
      [40, 600],
      "a run that names no budget",
    );
    const id = idIn(asked, "approval_id");
    const decided = JSON.parse((await home.must(["approve", id, "--attempts", "1", "--json"])).out) as Members;
    assert.deepEqual([decided["approval_id"], decided["state"], decided["decided_by"]], [id, "approved", "ada"]);
    const budget = (await agent.ask("GET", `/v1/runs/${idIn(asked, "run_id")}`)).body["budget"] as Members;
    assert.equal(budget["attempts_remaining"], 1, "the person narrowed it while approving");
    const late = await home.operator(["deny", id]);
    assert.deepEqual([late.code, codeOf(late)], [1, "approval_not_pending"]);
    const unknown = await home.operator(["approve", "apr_00000000000000000000000000"]);
    assert.deepEqual([unknown.code, codeOf(unknown)], [1, "not_found"]);
  });

  test("a second gateway for the same home is refused and harms nothing", async () => {
    const second = await home.operator(["up"]);
    assert.notEqual(second.code, 0);
    assert.match(second.err, /gateway_running/);
    assert.equal((await home.run(["status"])).code, 0);
    assert.equal((await agent.ask("GET", "/v1/actions")).status, 200, "the first still answers");
  });

  test("a change that an operator signs reaches the running gateway; a removed credential is used no more", async () => {
    const run = await openRun(home, agent, ["demo.thing.get"], { attempts: 7 });
    await home.must(["credential", "disable", "demo-token"]);
    const refused = await agent.ask(
      "POST",
      `/v1/runs/${run}/calls`,
      { action: "demo.thing.get", input: { id: "1" } },
      { prefer: "wait=30" },
    );
    assert.match(refused.text, /credential_(disabled|refused)/);
    assert.equal(provider.received.length, 0);
  });

  test("colour and control characters stay out of what is piped", async () => {
    const out = (await home.run(["status"])).out + (await home.must(["approvals"])).out;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: their absence is what is asserted
    assert.doesNotMatch(out, /[\u0000-\u0009\u000b-\u001f\u007f]/);
  });
});

/** Walks the help from the top; every command at the end of a path must show how it is used. */
async function findCommands(home: Home): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = [];
  let level: readonly (readonly string[])[] = [[]];
  while (level.length > 0) {
    const helps = await inTurns(level, (words) => home.run([...words, "--help"]));
    const next: (readonly string[])[] = [];
    for (const [index, { code, out, err }] of helps.entries()) {
      const words = level[index] ?? [];
      assert.equal(code, 0, `gw ${words.join(" ")} --help: ${err}`);
      const children = childrenOf(out);
      for (const child of children) next.push([...words, child]);
      if (children.length > 0) continue;
      assert.match(out, /^Examples?:\n {2}.*gw /m, `gw ${words.join(" ")} --help shows an example`);
      found.push(words);
    }
    level = next;
  }
  return found;
}

function childrenOf(help: string): readonly string[] {
  const [, list = ""] = /^Commands:\n((?: {2}.*\n?)+)/m.exec(help) ?? [];
  return [...list.matchAll(/^ {2}([a-z][a-z-]*)/gm)].map(([, name = ""]) => name).filter((name) => name !== "help");
}

async function inTurns<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<Exited>,
): Promise<readonly Exited[]> {
  const done: Exited[] = [];
  for (let at = 0; at < items.length; at += AT_ONCE) {
    done.push(...(await Promise.all(items.slice(at, at + AT_ONCE).map(work))));
  }
  return done;
}
