import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { asUser, Home, holdPlane, makeFolder, openPlane, start, until } from "./support/home.ts";

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
/** From nothing that it can open to a few: what fails is another step of looking at its files each time. */
const LIMITS = [3, 30, 32, 33, 34, 36];

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

    test("whatever it lacks while it looks at its files, what was signed is in force once it can look, and nothing ends it", async () => {
      const home = await new Home(makeFolder()).init();
      const [elsewhere, signed] = [home.copy(), [] as string[]];
      const policyOf = ({ folder }: Home): string => join(folder, "policy.json");
      for (const [at] of LIMITS.entries()) {
        await elsewhere.must(["policy", "set", "callbacks", at % 2 === 0 ? "loopback" : "off"]);
        signed.push(readFileSync(policyOf(elsewhere), "utf8"));
      }
      const gateway = await home.up();
      const lookedAt: string[] = [];
      const operator = holdPlane(home.operatorSocket);
      const status = async () => (await operator.ask("GET", "/v1/status")).body;
      const limit = (soft: number): void => {
        const done = spawnSync("prlimit", [`--pid=${gateway.pid}`, `--nofile=${soft}:`], { encoding: "utf8" });
        assert.equal(done.status, 0, done.stderr);
      };
      try {
        let version = Number((await status())["policy_version"]);
        for (const [at, text] of signed.entries()) {
          limit(LIMITS[at] ?? 0);
          writeFileSync(join(home.folder, "policy.next"), text, { mode: 0o600 });
          renameSync(join(home.folder, "policy.next"), policyOf(home));
          // Who is calling cannot be seen either: that is no fault of theirs, and is not said to be.
          const stranger = openPlane(home.agentSocket);
          const reply = await Promise.race([stranger.ask("GET", "/v1/actions").catch(() => null), pause(1_500, null)]);
          stranger.close();
          if (reply !== null) lookedAt.push(reply.status === 200 ? "seen" : String(reply.body["code"]));
          const { status: told, body } = await operator.ask("GET", "/v1/metrics");
          assert.ok(told === 200 || body["code"] === "file_unusable", `${told} ${String(body["code"])}`);
          limit(1024);
          version++;
          const took = async (): Promise<boolean> => {
            const { policy_version, files_refused, stopped } = await status();
            return policy_version === version && files_refused === null && stopped === null;
          };
          await until(`with a limit of ${LIMITS[at]}`, took, 20_000);
        }
        const ours = lookedAt.filter((code) => code !== "seen");
        assert.deepEqual([...new Set(ours)], ["descriptors_exhausted"], lookedAt.join());
        // The change is in force before the log has turned for it, which needs the folder.
        await pause(2_000);
        chmodSync(home.folder, 0);
        try {
          await until("it says why", async () => (await status())["files_refused"] === "file_unusable", 20_000);
        } finally {
          chmodSync(home.folder, 0o700);
        }
        await until("it looks again", async () => (await status())["files_refused"] === null, 20_000);
        const vault = join(home.folder, "vault.json");
        renameSync(vault, `${vault}.whole`);
        writeFileSync(vault, "{}", { mode: 0o600 });
        mkdirSync(join(home.folder, "packs"), { recursive: true });
        writeFileSync(join(home.folder, "packs", "odd.yaml"), "no pack");
        await until("it is refused", async () => (await status())["files_refused"] === "vault_malformed", 20_000);
        assert.match(
          (await home.run(["status"])).out,
          /^ {2}FILES .* vault_malformed\. .*Restore a copy you trust\.$/m,
        );
        renameSync(`${vault}.whole`, vault);
        await until("it is whole again", async () => (await status())["files_refused"] === null, 20_000);
        assert.match((await home.run(["status"])).out, /^ {2}PACK {6}odd\.yaml is not in force: /m);
      } finally {
        operator.close();
        await gateway.end("SIGTERM");
      }
      const faults = gateway
        .err()
        .split("\n")
        .filter((line) => line.includes('"fault"'));
      assert.ok(faults.length <= 3 * LIMITS.length, `each is told once: ${faults.length}`);
    });
  },
);
