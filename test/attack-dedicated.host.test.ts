import assert from "node:assert/strict";
import { chmodSync, copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { as, cannotStand, Machine, type Person, people } from "./dedicated-stand.ts";
import { codeOf, demoPack, SECRET, type Started, start, until } from "./support/home.ts";
import { whole } from "./support/whole.ts";

const { gw, ada, alfa, bravo } = people;

/** Asks for the actions over a connection of its own, says so, prints the answer, and stays until it is ended. */
const CALLER = `use Socket; $| = 1; socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die $!; connect($s, sockaddr_un($ARGV[0])) or die $!;
  send($s, "GET /v1/actions HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", 0); print "asked\\n"; recv($s, my $said, 65536, 0); print $said; sleep 600;`;

/** Takes perf_event_open away and starts what follows: a kernel that does not report exec, as Debian's by default. */
const CALLS =
  process.arch === "arm64" ? { perf: 241, prctl: 167, seccomp: 277 } : { perf: 298, prctl: 157, seccomp: 317 };
const WITHOUT_PERF = `my @f = ([0x20,0,0,0],[0x15,0,1,${CALLS.perf}],[0x06,0,0,0x00050001],[0x06,0,0,0x7fff0000]);
  my $code = join '', map { pack('SCCL', @$_) } @f; my $program = pack('S x6 P', scalar(@f), $code);
  syscall(${CALLS.prctl}, 38, 1, 0, 0, 0) == 0 or die $!; syscall(${CALLS.seccomp}, 1, 0, $program) == 0 or die $!; exec @ARGV or die $!;`;

/** Connects again whenever it is let go, slowly enough for a small machine, and says how many were taken in. */
const CROWD = `
const { connect } = require("node:net");
let taken = 0;
const open = () => {
  const socket = connect(process.argv[1]);
  socket.on("connect", () => { if (++taken % 50 === 0) console.log("taken " + taken); });
  socket.on("error", () => undefined);
  socket.on("close", () => setTimeout(open, 200));
};
for (let index = 0; index < 400; index++) open();`;

describe("users of one machine against each other", cannotStand === undefined ? {} : { skip: cannotStand }, () => {
  const machine = new Machine();
  const started: Started[] = [];
  let gateway: Started;
  let ident: Started;

  before(async () => {
    await machine.must(gw, ["init", "--operator", "ada"]);
    ident = await machine.startIdent();
    gateway = await machine.startGateway();
    await machine.must(ada, ["unlock"]);
    const origin = "http://127.0.0.1:9";
    await machine.must(ada, ["credential", "add", "demo-token", "--kind", "bearer", "--origin", origin], SECRET);
    const file = join(machine.folder, "demo.yaml");
    writeFileSync(file, demoPack(origin), { mode: 0o644 });
    assert.equal((await machine.gw(ada, ["pack", "add", file])).code, 0);
    await machine.must(ada, ["pack", "trust", "demo"]);
  });

  after(async () => {
    for (const each of started) await each.end();
    await gateway?.end("SIGTERM");
    await ident?.end();
  });

  function caller(who: Person, perl = "/usr/bin/perl"): Started {
    const running = start(as(who, [perl, "-e", CALLER, machine.agentSocket]));
    started.push(running);
    return running;
  }

  const answered = (running: Started): boolean => running.out().includes("HTTP/1.1");
  const answer = (running: Started): Promise<string> =>
    until("it is answered", () => answered(running) && running.out(), 120_000);

  test("a caller whose image has the longest name there is keeps nobody else from being looked at", async () => {
    let folder = join(machine.folder, "deep");
    for (let depth = 0; depth < 18; depth++) {
      mkdirSync(folder);
      chmodSync(folder, 0o755);
      if (depth < 17) folder = join(folder, "\u0001".repeat(220));
    }
    copyFileSync("/usr/bin/perl", join(folder, "perl"));
    chmodSync(join(folder, "perl"), 0o755);
    assert.match(await answer(caller(alfa, join(folder, "perl"))), /200 OK/);
    assert.match(await answer(caller(bravo)), /200 OK/);
  });

  test("processes that end while they are looked at, a thousand of them and more, keep nobody else from being looked at", async () => {
    const script = `use Socket; $| = 1; $SIG{CHLD} = 'IGNORE'; my $made = 0; while (1) { for (1..8) { my $pid = fork(); die $! unless defined $pid; $made++; next if $pid;
      socket(my $s, PF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un($ARGV[0])); select(undef, undef, undef, rand(0.003)); exec '/bin/true' if rand() < 0.5; exit; }
      print "made $made\\n" if $made % 400 == 0; select(undef, undef, undef, 0.004); }`;
    const storm = start(as(alfa, ["/usr/bin/perl", "-e", script, machine.agentSocket]));
    started.push(storm);
    await until("they came and went", () => storm.out().includes(`made ${whole ? 4000 : 1200}\n`), 120_000);
    await storm.end();
    assert.deepEqual([ident.child.exitCode, ident.child.signalCode], [null, null], ident.err());
    assert.match(await answer(caller(bravo)), /200 OK/);
  });

  test("connections that one process of another user opens at once are those of one caller", async () => {
    const script = `use Socket; $| = 1; my (@open, @runs); my $body = '{"purpose":"x","actions":["demo.thing.get"],"budget":{}}';
      for (1..3) { socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die $!; connect($s, sockaddr_un($ARGV[0])) or die $!; push @open, $s;
        send($s, "POST /v1/runs HTTP/1.1\\r\\nHost: x\\r\\nContent-Type: application/json\\r\\nContent-Length: " . length($body) . "\\r\\n\\r\\n" . $body, 0); }
      for (@open) { recv($_, my $said, 65536, 0); $said =~ /"run_id":"([^"]+)"/ or die $said; push @runs, $1; }
      for (@runs) { send($open[0], "GET /v1/runs/$_ HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n", 0); recv($open[0], my $said, 65536, 0); print substr($said, 9, 3), "\\n"; }`;
    const done = await start(as(alfa, ["/usr/bin/perl", "-e", script, machine.agentSocket])).exited;
    assert.equal(done.out, "202\n".repeat(3), done.out + done.err);
  });

  test("while two users crowd the agent socket an operator sees the status, locks and unlocks", async () => {
    const crowds: Started[] = [];
    try {
      for (const who of [alfa, bravo]) {
        const crowd = machine.start(who, [process.execPath, "-e", CROWD, machine.agentSocket]);
        crowds.push(crowd);
        const crowded = (): boolean => crowd.out().includes("taken 300");
        await until(`${who.name} has more connections than one user may`, crowded, 120_000);
      }
      const status = await machine.status(ada);
      assert.deepEqual([status["locked"], status["stopped"]], [false, null]);
      await machine.must(ada, ["lock"]);
      assert.equal((await machine.status(ada))["locked"], true);
      await machine.must(ada, ["unlock"]);
      assert.equal((await machine.status(ada))["locked"], false);
    } finally {
      for (const crowd of crowds) await crowd.end();
    }
    assert.match(await answer(caller(alfa)), /200 OK/, "agents are answered again");
  });

  test("while gw-ident hangs, everybody who needs no answer of it is served", async () => {
    const waits = await until(
      "many are served while one waits",
      async () => {
        process.kill(identPid(), "SIGSTOP");
        try {
          const waiting = caller(alfa);
          await until("it asked", () => waiting.out().includes("asked"), 120_000);
          let served = 0;
          while (!answered(waiting) && served < 25) served += (await scrape()) ? 1 : 0;
          return served >= 25 && waiting;
        } finally {
          process.kill(identPid(), "SIGCONT");
        }
      },
      240_000,
    );
    assert.match(await answer(waits), /200 OK|ident_unavailable/);
    assert.match(await answer(caller(bravo)), /200 OK/, "nobody is shut out for what another's question met");
  });

  test("where the kernel does not report exec, gw-ident may end while callers are held, and come back", async () => {
    await ident.end("SIGTERM");
    ident = await machine.startIdent(people.ident, ["/usr/bin/perl", "-e", WITHOUT_PERF]);
    const held = caller(alfa);
    assert.match(await answer(held), /200 OK/);
    await ident.end("SIGKILL");
    for (let look = 0; look < 5; look++) {
      assert.equal((await machine.act(bravo, { id: "1" }, 0))["code"], "ident_unavailable");
    }
    assert.equal(gateway.child.exitCode, null, gateway.err());
    ident = await machine.startIdent(people.ident, ["/usr/bin/perl", "-e", WITHOUT_PERF]);
    assert.match(await answer(caller(bravo)), /200 OK/);
    assert.equal((await machine.gw(ada, ["status"])).code, 0);
  });

  test("a backup is restored where it was made, in a home whose parent is root's, and operators accept it", async () => {
    const file = join(machine.place(gw), "backup");
    await machine.must(gw, ["backup", file]);
    await gateway.end("SIGTERM");
    const restored = await machine.must(gw, ["restore", file]);
    assert.match(restored.err, /before-restore-/);
    gateway = await machine.startGateway();
    assert.equal(codeOf(await machine.operate(ada, ["unlock"])), "restore_unaccepted");
    await machine.must(ada, ["restore", "--accept"]);
    await machine.must(ada, ["unlock"]);
    assert.match(await answer(caller(bravo)), /200 OK/);
    assert.equal((await machine.gw(ada, ["audit", "verify"])).code, 0);
  });

  function identPid(): number {
    return Number(/ready (\d+)/.exec(ident.out())?.[1]);
  }

  /** One look at the numbers on the operators' socket. */
  function scrape(): Promise<boolean> {
    return new Promise((resolve, reject) => {
      request({ socketPath: machine.operatorSocket, path: "/v1/metrics" }, (response) => {
        response.resume().once("end", () => resolve(response.statusCode === 200));
      })
        .once("error", reject)
        .end();
    });
  }
});
