import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { asUser, Home, holdPlane, makeFolder, start, until } from "./support/home.ts";

/** So many processes with a connection each: every one is a caller of its own, which takes the most descriptors. */
const CROWD = `
use Socket;
my ($path, $count) = @ARGV;
$SIG{CHLD} = "IGNORE";
$| = 1;
for my $at (1 .. $count) {
  next if fork;
  for (;;) {
    socket(my $s, PF_UNIX, SOCK_STREAM, 0) or die $!;
    if (connect($s, sockaddr_un($path))) { print "held\\n"; sysread($s, my $byte, 1); }
    select(undef, undef, undef, 0.2);
  }
}
sleep 600;`;
const CALLERS = 150;

const missing = ["prlimit", "perl"].find((tool) => spawnSync(tool, ["--version"]).error !== undefined);

describe(
  "whoever holds all the connections there are leaves descriptors for others",
  missing ? { skip: `${missing} is not installed` } : asUser,
  () => {
    test("while as many callers as there is room for sit on the agent socket, the log turns and operators are served", async () => {
      const home = await new Home(makeFolder()).init();
      const gateway = await home.up([], ["prlimit", "--nofile=1024:1024"]);
      const crowd = start(["perl", "-e", CROWD, home.agentSocket, String(CALLERS)]);
      try {
        await until("all of them were let in once", () => crowd.out().split("held").length > CALLERS, 120_000);
        const segments = (): number =>
          readdirSync(join(home.folder, "audit")).filter((name) => name.endsWith(".gwlog")).length;
        const before = segments();
        for (const word of ["on", "off"]) await home.must(["policy", "set", "headless_unlock", word]);
        assert.ok(segments() >= before + 2, "a change of what is signed turns the log");
        await home.must(["lock"]);
        await home.must(["unlock"]);
        const { stopped, locked } = await home.status();
        assert.deepEqual([stopped, locked], [null, false]);
      } finally {
        await crowd.end();
        await gateway.end();
      }
      const verified = await home.verify();
      assert.equal(verified.code, 0, verified.out);
    });

    test("out of descriptors altogether it serves whom it has, stops nothing, and goes on once there are some", async () => {
      const home = await new Home(makeFolder()).init();
      const gateway = await home.up();
      const limit = (soft: number): void => {
        const done = spawnSync("prlimit", [`--pid=${gateway.pid}`, `--nofile=${soft}:`], { encoding: "utf8" });
        assert.equal(done.status, 0, done.stderr);
      };
      const agent = holdPlane(home.agentSocket);
      try {
        assert.equal((await agent.ask("GET", "/v1/actions")).status, 200);
        limit(3);
        const knocking = home.start(["actions"]);
        const stranger = connect(home.agentSocket);
        await once(stranger, "connect");
        for (let count = 0; count < 10; count++) assert.equal((await agent.ask("GET", "/v1/actions")).status, 200);
        stranger.destroy();
        limit(1024);
        assert.match((await knocking.exited).err, /^not_found: No pack is trusted yet/m, "it is answered");
        await home.must(["policy", "set", "headless_unlock", "on"]);
        const { stopped, locked } = await home.status();
        assert.deepEqual([stopped, locked], [null, false]);
      } finally {
        agent.close();
        await gateway.end("SIGTERM");
      }
      const verified = await home.verify();
      assert.equal(verified.code, 0, verified.out);
    });
  },
);
