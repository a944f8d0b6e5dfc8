import assert from "node:assert/strict";
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { as, cannotStand, Machine, type Person, people } from "./dedicated-stand.ts";
import { noBrowser, openBrowser, openSight } from "./support/browser.ts";
import { clean, freePort, go, linksOf, press, says } from "./support/console.ts";
import {
  codeOf,
  demoPack,
  GW,
  type Members,
  makeFolder,
  openPlane,
  SECRET,
  type Started,
  start,
  until,
} from "./support/home.ts";
import { operatorOf, waitingOn } from "./support/operator-key.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const { gw, ada, alfa, bravo, stranger } = people;

describe("one gateway for all users of a machine", cannotStand === undefined ? {} : { skip: cannotStand }, () => {
  const machine = new Machine();
  /** Whoever looks is root here, and only looks. */
  const operators = openPlane(machine.operatorSocket);
  /** Nobody opens a home that is another user's, root neither. */
  const copied = makeFolder();
  let provider: TestProvider;
  let gateway: Started;
  let ident: Started;

  before(async () => {
    provider = await startProvider();
    await machine.must(gw, ["init", "--operator", "ada"]);
    ident = await machine.startIdent();
    gateway = await machine.up();
  });

  after(async () => {
    operators.close();
    await gateway?.end("SIGTERM");
    await ident?.end();
    await provider?.close();
  });

  /** Calls as `who`, has the card approved by the operator, and gives the card and what the agent saw. */
  async function callApproved(who: Person, id: string): Promise<{ readonly card: Members; readonly outcome: unknown }> {
    const calling = machine.act(who, { id });
    const early = calling.then((answer) => assert.fail(`nobody was asked: ${JSON.stringify(answer)}`));
    const [approval] = await Promise.race([waiting(), early]);
    early.catch(() => undefined);
    await machine.must(ada, ["approve", idOf(approval, "approval_id")]);
    return { card: approval?.["card"] as Members, outcome: (await calling)["outcome"] };
  }

  async function waiting(): Promise<readonly Members[]> {
    const pending = async (): Promise<unknown> => (await operators.ask("GET", "/v1/status")).body["approvals_pending"];
    await until("a card waits", async () => Number(await pending()) > 0, 120_000);
    writeFileSync(join(copied, "vault.json"), readFileSync(join(machine.home, "vault.json")), { mode: 0o600 });
    const passphraseFile = join(machine.place(gw), "passphrase");
    return waitingOn(operators, (await operatorOf({ folder: copied, passphraseFile }, "ada")).operator);
  }

  /** Whoever calls is known again. */
  async function identified(): Promise<void> {
    const told = await until("gw-ident is asked again", async () => {
      const { code } = await machine.act(alfa, { id: "1" }, 0, "run_of_nobody");
      return code !== "ident_unavailable" && code;
    });
    assert.equal(told, "not_found", "it is known, and has no such run");
  }

  const uidOf = (card: Members): unknown => ((card["caller"] as Members)["process"] as Members)["uid"];

  test("an operator of another user unlocks, adds a credential and trusts a pack without reading the home", async () => {
    await machine.must(ada, ["unlock"]);
    await machine.must(
      ada,
      ["credential", "add", "demo-token", "--kind", "bearer", "--origin", provider.origin],
      SECRET,
    );
    const file = join(machine.folder, "demo.yaml");
    writeFileSync(file, demoPack(provider.origin), { mode: 0o644 });
    assert.equal((await machine.gw(ada, ["pack", "add", file])).code, 0);
    assert.deepEqual((await machine.status(ada))["packs"], [], "what nobody signed is not in force");
    await machine.must(ada, ["pack", "trust", "demo"]);
    const status = await machine.status(ada);
    assert.deepEqual([status["packs"], status["mode"], status["locked"]], [["demo"], "dedicated", false]);
    assert.equal(status["uid"], gw.uid);
  });

  test("an agent of another user calls, the operator sees its user and approves, and the provider is asked", async () => {
    // As of an account that was deleted while its processes run: a number, which no file names.
    assert.ok(!readFileSync("/etc/passwd", "utf8").includes(`:${alfa.uid}:`));
    const calling = machine.gw(alfa, ["call", "demo.thing.get", "id=one", "--wait", "120", "--json"]);
    await waiting();
    const [approval = {}] = JSON.parse((await machine.must(ada, ["approvals", "--json"])).out) as readonly Members[];
    await machine.must(ada, ["approve", idOf(approval, "approval_id")]);
    const done = await calling;
    assert.equal(done.code, 0, done.err);
    const card = approval["card"] as Members;
    assert.deepEqual([card["mode"], uidOf(card)], ["dedicated", alfa.uid]);
    assert.equal(provider.received.length, 1);
    const activity = await machine.must(ada, ["activity", "--json"]);
    assert.match(activity.out, new RegExp(`uid ${alfa.uid}|"uid": ?${alfa.uid}`));
    const verified = await machine.gw(ada, ["audit", "verify"]);
    assert.equal(verified.code, 0, verified.out + verified.err);
  });

  test("commands that one operator gives at the same time bring the same copy up to date", async () => {
    rmSync(join(machine.place(ada), "state", "gw", "homes"), { recursive: true });
    const verified = await Promise.all([1, 2, 3, 4].map(() => machine.gw(ada, ["audit", "verify"])));
    for (const { code, out, err } of verified) assert.equal(code, 0, out + err);
  });

  test("another agent user has cards of its own and sees nothing of the first one's runs", async () => {
    const calling = machine.act(alfa, { id: "two" });
    const [approval] = await waiting();
    const joined = await machine.act(bravo, { id: "x" }, 0, idOf(approval, "run_id"));
    assert.equal(joined["code"], "not_found");
    await machine.must(ada, ["approve", idOf(approval, "approval_id")]);
    assert.equal((await calling)["outcome"], "success");
    const { card, outcome } = await callApproved(bravo, "three");
    assert.deepEqual([outcome, uidOf(card)], ["success", bravo.uid]);
  });

  test("an operator's console shows another user's card and decides it, and lets no other user of the machine in", {
    skip: noBrowser ?? false,
  }, async () => {
    const port = await freePort();
    const words = ["--port", String(port), "--passphrase-file", join(machine.place(ada), "passphrase")];
    const served = linksOf(machine.start(ada, [GW, "console", ...words, "--config", machine.config]), port);
    const browser = await openBrowser();
    try {
      const link = await served.nextLink();
      // With every header that a browser would send, and without what only the link has.
      const { host, origin } = new URL(served.origin);
      const asPage = { host, origin, "sec-fetch-site": "same-origin", "content-type": "application/json" };
      const knock = async (who: Person, ...asked: readonly (readonly (string | object)[])[]): Promise<unknown> => {
        const told = JSON.stringify([port, asked]);
        const { out, err } = await machine.start(who, [process.execPath, "-e", KNOCK, told]).exited;
        return JSON.parse(out === "" ? JSON.stringify(err) : out);
      };
      const guessed = { ...asPage, authorization: `Bearer ${"A".repeat(43)}` };
      const paths = ["/api/me", "/api/events", "/api/activity", "/api/credentials", "/api/log/checkpoint"];
      const enter = (token: string) => ["POST", "/api/enter", asPage, { token }];
      for (const who of [stranger, alfa, gw]) {
        const asked = [...paths.map((path) => ["GET", path, guessed]), enter("A".repeat(43))];
        const refusals = [...paths.map(() => [401, "console_not_entered"]), [403, "console_link_spent"]];
        assert.deepEqual(await knock(who, ...asked), refusals, who.name);
      }
      const sight = await openSight(browser, link);
      await says(sight, /connected/);
      const calling = machine.act(alfa, { id: "seen" });
      const [approval = {}] = await waiting();
      await go(sight, `#/waiting/${idOf(approval, "approval_id")}`);
      await sight.page.getByText("Evidence: who is calling").click();
      await says(sight, new RegExp(`user id ${alfa.uid}`));
      assert.equal(await sight.page.getByText("guard-rail", { exact: true }).count(), 0);
      await clean(sight, "dedicated-waiting");
      await press(sight, /^Approve(?! and)/);
      await says(sight, /is approved/);
      assert.equal((await calling)["outcome"], "success");
      await go(sight, "#/activity");
      await sight.page.locator("li.entry a").first().waitFor();
      // The link was used: nobody enters with it again, from whichever user.
      const token = link.slice(link.indexOf("#") + 1);
      assert.deepEqual(await knock(alfa, enter(token)), [[403, "console_link_spent"]]);
    } finally {
      await browser.close();
      await served.program.end();
    }
  });

  test("a grant for one agent's user holds for its processes within its conditions, and for nobody beside it", async () => {
    const words = ["grant", "add", "nightly", "--actions", "demo.thing.get", "--where", "id=night"];
    const terms = [
      "--caller",
      `uid:${alfa.uid}`,
      "--until",
      new Date(Date.now() + 86_400_000 * 2).toISOString().slice(0, 10),
    ];
    assert.equal(codeOf(await machine.operate(alfa, [...words, ...terms])), "gateway_unreachable");
    await machine.must(ada, [...words, ...terms]);
    const asked = async (who: Person, id: string): Promise<void> => {
      const sent = provider.received.length;
      const calling = machine.act(who, { id });
      const [approval = {}] = await waiting();
      assert.equal(uidOf(approval["card"] as Members), who.uid);
      await machine.must(ada, ["deny", idOf(approval, "approval_id")]);
      assert.deepEqual([(await calling)["code"], provider.received.length], ["approval_denied", sent]);
    };
    assert.equal((await machine.act(alfa, { id: "night" }))["outcome"], "success");
    await asked(alfa, "day");
    // The same program, the same words, another user; one of the agents' group; the operator who signed it.
    for (const who of [bravo, { ...stranger, groups: alfa.groups }, { ...ada, groups: alfa.groups }])
      await asked(who, "night");
    await machine.must(ada, ["grant", "remove", "nightly"]);
    await asked(alfa, "night");
  });

  test("a caller that is an operator's or the gateway's own user is told as guard-rail on its card", async () => {
    for (const who of [
      { ...gw, name: "gw" },
      { ...ada, groups: [...ada.groups, ...alfa.groups] },
    ]) {
      const { card } = await callApproved(who, who.name);
      assert.deepEqual([card["mode"], uidOf(card)], ["guard-rail", who.uid]);
    }
  });

  test("a home that others can write to, or put another in place of, is guard-rail from then on, and status says where", async () => {
    const opened: readonly (readonly [string, number, number])[] = [
      [machine.home, 0o720, 0o700],
      [machine.folder, 0o777, 0o755],
    ];
    for (const [folder, open, closed] of opened) {
      chmodSync(folder, open);
      try {
        const status = await machine.status(ada);
        const found = { path: folder, mend: `chmod go-w ${folder}` };
        assert.deepEqual([status["mode"], status["open_folder"]], ["guard-rail", found]);
        assert.ok((await machine.gw(ada, ["status"])).out.includes(`OPEN      others can write to ${folder}`));
        if (folder === machine.folder) assert.equal((await callApproved(alfa, "open")).card["mode"], "guard-rail");
      } finally {
        chmodSync(folder, closed);
      }
      const mended = await machine.status(ada);
      assert.deepEqual([mended["mode"], mended["open_folder"]], ["dedicated", null]);
    }
    chownSync(machine.folder, stranger.uid, stranger.gid);
    try {
      assert.deepEqual((await machine.status(ada))["open_folder"], {
        path: machine.folder,
        mend: `chown 0 ${machine.folder}`,
      });
    } finally {
      chownSync(machine.folder, 0, 0);
    }
  });

  test("strangers open neither socket, agents not the operators', and nobody else the home", async () => {
    assert.equal(codeOf(await machine.gw(stranger, ["call", "demo.thing.get", "id=1"])), "gateway_unreachable");
    assert.equal(codeOf(await machine.gw(stranger, ["status"])), "gateway_unreachable");
    const findings = JSON.parse((await machine.gw(stranger, ["doctor", "--json"])).out) as readonly Members[];
    assert.match(String(findings.find(({ name }) => name === "gateway")?.["detail"]), /^operators alone see/);
    assert.equal(codeOf(await machine.operate(alfa, ["approvals"])), "gateway_unreachable");
    for (const who of [alfa, ada, stranger]) {
      const listed = await machine.start(who, ["ls", machine.home]).exited;
      assert.notEqual(listed.code, 0, `${who.name} reads the home`);
    }
    const modes = [machine.agentSocket, machine.operatorSocket].map((path) => statSync(path).mode & 0o777);
    assert.deepEqual(modes, [0o660, 0o660]);
  });

  test("what would only change an operator's copy is refused with the command to type, and that command works", async () => {
    const root = join(machine.place(ada), "root.json");
    const bundle = ["caller", "bundle", process.execPath, root];
    const subject = ["--subject", "release@acme.example", "--issuer", "https://accounts.example"];
    const trust = ["caller", "trust", "Acme", ...subject, "--root", root];
    const archive = ["audit", "archive", join(machine.place(ada), "archive")];
    const backup = ["backup", join(machine.place(ada), "backup")];
    for (const args of [trust, archive, backup, ["credential", "minted"], ["init"]]) {
      const done = await machine.operate(ada, args);
      assert.deepEqual([done.code, codeOf(done)], [1, "home_not_here"], args.join(" "));
      assert.ok(done.err.includes(`sudo -u '#${gw.uid}' gw ${args[0]}`), done.err);
    }
    assert.equal(codeOf(await machine.gw(ada, bundle)), "home_not_here");
    assert.equal(codeOf(await machine.gw(gw, bundle)), "caller_signer_invalid", "the gateway's user comes to the work");
    await machine.must(gw, ["backup", join(machine.place(gw), "backup")]);
    assert.equal(codeOf(await machine.operate(ada, ["caller", "trust", "Acme", ...subject])), "caller_signer_invalid");
  });

  test("an operator's group alone changes nothing: without a key that the vault knows, no change is taken", async () => {
    const script = `const { request } = require("node:http");
      const asked = request({ socketPath: process.argv[1], method: "POST", path: "/v1/home", headers: { "content-type": "application/json" } },
        (response) => { let text = ""; response.on("data", (part) => { text += part; }).on("end", () => console.log(text)); });
      asked.end(JSON.stringify({ policy: "{}", packs: [{ pack: "demo", bytes: "" }] }));`;
    const done = await machine.start(ada, [process.execPath, "-e", script, machine.operatorSocket]).exited;
    assert.equal((JSON.parse(done.out) as Members)["code"], "operator_not_logged_in", done.out + done.err);
  });

  test("gw-ident has one right, no more calls than it needs, and serves nobody but the gateway", async () => {
    const status = await machine.start(stranger, ["sh", "-c", `cat /proc/${await pidOfIdent()}/status`]).exited;
    assert.match(status.out, /^CapEff:\t0000000000080000$/m);
    assert.match(status.out, /^CapBnd:\t0000000000080000$/m);
    assert.match(status.out, /^Seccomp:\t2$/m);
    assert.match(status.out, /^NoNewPrivs:\t1$/m);
    const refused = await start([join(import.meta.dirname, "..", "bin", "gw-ident"), "--config", machine.config])
      .exited;
    assert.match(refused.err, /ident_not_permitted/, "not as root, and not with more rights");
    const asked = await askIdent({ ...stranger, gid: gw.gid });
    assert.match(asked, /ident_stranger/);
  });

  test("without gw-ident a call is refused with words, and goes through once it is back", async () => {
    await ident.end();
    assert.equal(
      codeOf(await machine.gw(alfa, ["call", "demo.thing.get", "id=4", "--wait", "0"])),
      "ident_unavailable",
    );
    assert.equal((await machine.gw(ada, ["status"])).code, 0, "operators are served as before");
    // Somebody else in its place is not believed.
    const folder = dirname(machine.identSocket);
    chmodSync(folder, 0o777);
    rmSync(machine.identSocket, { force: true });
    const impostor = await machine.startIdent({ ...stranger, gid: gw.gid });
    assert.equal((await machine.act(alfa, { id: "4" }, 0))["code"], "ident_unavailable");
    await impostor.end();
    rmSync(machine.identSocket, { force: true });
    chmodSync(folder, 0o755);
    ident = await machine.startIdent();
    await identified();
    assert.equal((await callApproved(alfa, "five")).outcome, "success");
  });

  test("a gw-ident that hangs holds up nobody for long, and nothing is lost", async () => {
    ident.child.kill("SIGSTOP");
    try {
      assert.equal((await machine.act(alfa, { id: "6" }, 0))["code"], "ident_unavailable");
      assert.equal((await machine.gw(ada, ["status"])).code, 0);
    } finally {
      ident.child.kill("SIGCONT");
    }
    await identified();
  });

  test("a client says nothing to a process of another user at the gateway's socket", async () => {
    const path = join(machine.folder, "planted.sock");
    const heard: Buffer[] = [];
    const server = createServer((socket) => void socket.on("data", (bytes) => heard.push(bytes)).on("error", () => {}));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    chmodSync(path, 0o666);
    machine.configure({ agent_socket: path, operator_socket: path });
    try {
      assert.equal(codeOf(await machine.gw(alfa, ["call", "demo.thing.get", "id=1"])), "server_not_expected");
      assert.equal(codeOf(await machine.operate(ada, ["approvals"])), "server_not_expected");
      assert.equal(codeOf(await machine.gw(alfa, ["mcp"])), "server_not_expected");
      assert.equal(heard.length, 0);
    } finally {
      machine.configure();
      server.close();
    }
  });

  test("a second gateway, another user's start and a planted socket are each told what to do", async () => {
    const again = await machine.gw(gw, ["up", "--locked"]);
    assert.match(again.err, /gateway_running: /);
    assert.equal(codeOf(await machine.gw(ada, ["up", "--locked"])), "home_not_here");
    await gateway.end("SIGTERM");
    writeFileSync(machine.agentSocket, "planted");
    const planted = await machine.gw(gw, ["up", "--locked"]);
    assert.match(planted.err, /socket_planted: /);
    assert.ok(existsSync(machine.agentSocket), "it is evidence");
    rmSync(machine.agentSocket);
    chmodSync(machine.run, 0o777);
    assert.match((await machine.gw(gw, ["up", "--locked"])).err, /socket_path_unsafe: /);
    chmodSync(machine.run, 0o755);
    gateway = await machine.startGateway();
    await machine.must(ada, ["unlock"]);
  });

  test("a key file unlocks without a person once that is signed, is shown as lowered, must be private, and operators stay known", async () => {
    const file = join(machine.place(gw), "service.key");
    await machine.must(gw, ["unlock", "--write-key-file", file]);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    await gateway.end("SIGTERM");
    gateway = await machine.up(["--key-file", file]);
    const unsigned = await machine.status(ada);
    assert.deepEqual([unsigned["locked"], (unsigned["key_file"] as Members)["signed"]], [true, false]);
    assert.match((await machine.gw(ada, ["status"])).out, /LOWERED .*nobody signed/);
    await machine.must(ada, ["policy", "set", "headless_unlock", "on"]);
    await gateway.end("SIGTERM");
    gateway = await machine.startGateway(["--key-file", file]);
    assert.equal((await machine.status(ada))["locked"], false);
    await asksAsGuardRail({ ...ada, groups: alfa.groups });
    await gateway.end("SIGTERM");
    chmodSync(file, 0o644);
    gateway = await machine.startGateway(["--key-file", file]);
    const open = await machine.status(ada);
    const { trouble } = open["key_file"] as { readonly trouble: Members };
    assert.deepEqual([open["locked"], trouble["code"]], [true, "file_permissions_open"]);
  });

  test("a key that was replaced with an operator is written to the key file again at the next unlock", async () => {
    const file = join(machine.place(gw), "service.key");
    chmodSync(file, 0o600);
    const theirs = join(machine.place(ada), "bob");
    writeFileSync(theirs, "bob has a passphrase of his own\n", { mode: 0o600 });
    chownSync(theirs, ada.uid, ada.gid);
    await machine.must(ada, ["operator", "add", "bob", "--new-passphrase-file", theirs]);
    await machine.must(ada, ["unlock", "--operator", "ada"]);
    await machine.must(ada, ["operator", "remove", "bob", "--operator", "ada"]);
    assert.equal((await machine.status(ada))["locked"], true);
    await machine.must(ada, ["unlock"]);
    await gateway.end("SIGTERM");
    gateway = await machine.startGateway(["--key-file", file]);
    assert.equal((await machine.status(ada))["locked"], false, "the file holds the new key");
  });

  test("a credential that systemd hands over, root's and readable for the unit's user, unlocks in the same way", async () => {
    const folder = join(machine.folder, "credentials");
    mkdirSync(folder, { mode: 0o755 });
    const file = join(folder, "gw-service-key");
    writeFileSync(file, readFileSync(join(machine.place(gw), "service.key")));
    chownSync(file, 0, gw.gid);
    chmodSync(file, 0o440);
    await gateway.end("SIGTERM");
    gateway = await machine.up([], { CREDENTIALS_DIRECTORY: folder });
    const status = await machine.status(ada);
    assert.deepEqual(
      [status["locked"], status["key_file"]],
      [false, { kind: "systemd credential", signed: true, trouble: null }],
    );
    chmodSync(file, 0o444);
    await gateway.end("SIGTERM");
    gateway = await machine.startGateway([], { CREDENTIALS_DIRECTORY: folder });
    const open = await machine.status(ada);
    assert.deepEqual(
      [open["locked"], ((open["key_file"] as Members)["trouble"] as Members)["code"]],
      [true, "file_permissions_open"],
    );
  });

  /** An operator's user without the operators' group calls before any operator has logged in since the start. */
  async function asksAsGuardRail(who: Person): Promise<void> {
    const calling = machine.act(who, { id: "early" });
    await until(
      "its card waits, and nobody has logged in yet",
      async () => /^gw_cards_waiting 1$/m.test((await machine.gw(ada, ["metrics"])).out),
      120_000,
    );
    const [approval = {}] = await waiting();
    assert.equal((approval["card"] as Members)["mode"], "guard-rail");
    await machine.must(ada, ["approve", idOf(approval, "approval_id")]);
    assert.equal((await calling)["outcome"], "success");
  }

  async function pidOfIdent(): Promise<number> {
    return Number(/ready (\d+)/.exec(ident.out())?.[1]);
  }

  /** What gw-ident says to somebody who can reach its socket and is not the gateway. */
  async function askIdent(who: Person): Promise<string> {
    const script = `use Socket; socket(my $s, PF_UNIX, SOCK_SEQPACKET, 0) or die $!;
      connect($s, sockaddr_un($ARGV[0])) or die $!; recv($s, my $said, 4096, 0); print $said;`;
    const done = await start(as(who, ["/usr/bin/perl", "-e", script, machine.identSocket])).exited;
    return done.out + done.err;
  }
});

/** Requests to a console, one after the other, by a program of its own: what each was answered. */
const KNOCK = `
const { request } = require("node:http");
const [port, asked] = JSON.parse(process.argv[1]);
const answers = [];
const next = () => {
  if (answers.length === asked.length) return console.log(JSON.stringify(answers));
  const [method, path, headers, body] = asked[answers.length];
  const sent = request({ host: "127.0.0.1", port, method, path, headers, setHost: false }, (answer) => {
    let text = "";
    answer.on("data", (chunk) => (text += chunk));
    answer.on("end", () => {
      answers.push([answer.statusCode, JSON.parse(text).code]);
      next();
    });
  });
  sent.end(body === undefined ? undefined : JSON.stringify(body));
};
next();
`;
