import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Attacker, buildAttacker, startAttacker } from "./caller-stage.ts";
import { type Fuse, mountFuse, noFuse } from "./support/fuse.ts";
import {
  demoPack,
  type Gateway,
  GW,
  Home,
  type Identity,
  type Members,
  makeFolder,
  type Started,
  start,
} from "./support/home.ts";
import { attachLoop, type Loop, makeDisk, noLoop } from "./support/loop.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

const owner: Identity = { uid: 64_125, gid: 64_125 };
const GETATTR = 3;
const OPEN = 14;
const STATFS = 17;
/** At the end of two programs that are otherwise the same, and as long as each other. */
const ENDS = { trusted: "as the operator enrolled it", evil: "as its user made it later.." };

const cannot = ((): string | undefined => {
  if (noFuse !== undefined && noLoop !== undefined) return `${noFuse}; ${noLoop}`;
  if (spawnSync("cc", ["--version"]).error !== undefined) return "no C compiler to build an agent with";
  const clone = join(dirname(dirname(GW)), "package.json");
  const reached = spawnSync("test", ["-r", clone, "-a", "-x", process.execPath], owner);
  return reached.status === 0 ? undefined : "an unprivileged user cannot read this clone";
})();

const onFuse = noFuse === undefined ? {} : { skip: noFuse };
const onLoop = noLoop === undefined ? {} : { skip: noLoop };

/** A user may mount one, or have it mounted, and answers for what is in it: what was run, and what whoever looks later reads. */
describe("an agent on a file system of its own", cannot === undefined ? {} : { skip: cannot }, () => {
  const folder = makeFolder();
  const trusted = join(folder, "trusted");
  const evil = join(folder, "evil");
  const mounted: (Fuse | Loop)[] = [];
  let home: Home;
  let provider: TestProvider;
  let gateway: Gateway;

  before(async () => {
    chmodSync(folder, 0o755);
    execFileSync("cc", ["-O1", "-o", trusted, join(import.meta.dirname, "fixtures", "grant-agent.c")]);
    copyFileSync(trusted, evil);
    appendFileSync(trusted, ENDS.trusted);
    appendFileSync(evil, ENDS.evil);
    provider = await startProvider();
    const place = makeFolder();
    chmodSync(place, 0o755);
    home = await new Home(place, owner).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    gateway = await home.up();
    await home.must(["caller", "enroll", trusted, "--as", "Acme agent"]);
    const day = new Date(Date.now() + 5 * 86_400_000).toISOString().slice(0, 10);
    const words = ["--caller", `image:${trusted}`, "--actions", "demo.thing.get", "--until", day];
    await home.must(["grant", "add", "nightly", ...words]);
  });

  after(async () => {
    // First: their end frees whoever still waits for an answer of theirs.
    for (const one of mounted) await one.end();
    await gateway?.end();
    await provider?.close();
  });

  const mount = async (name: string, first: string, later: string): Promise<Fuse> => {
    const fuse = await mountFuse({ at: join(folder, name), owner, first, later });
    mounted.push(fuse);
    return fuse;
  };

  const agentOf = (program: string): Started =>
    start([program, home.agentSocket, "demo.thing.get", JSON.stringify({ id: "1" }), "60"], { as: owner, env: {} });

  const answerTo = async (agent: Started): Promise<Members> => {
    const { out, err } = await agent.exited;
    assert.notEqual(out, "", err);
    return JSON.parse(out.slice(out.indexOf("{"))) as Members;
  };

  /** A person is asked, sees that nobody vouches, and may still say yes. */
  async function isAskedAbout(program: string, line: RegExp): Promise<void> {
    const agent = agentOf(program);
    const [approval = {}] = await Promise.race([
      home.approvals(),
      answerTo(agent).then((said) => assert.fail(JSON.stringify(said))),
    ]);
    const card = approval["card"] as Members;
    assert.match(String(card["authority"]), line);
    assert.match(String((card["caller"] as Members)["cdhash"]), /^unproven:/);
    await home.approve(idOf(approval, "approval_id"));
    assert.equal((await answerTo(agent))["outcome"], "success");
  }

  test(
    "a program that its file system passes off as an enrolled one is nobody's, and no grant covers it",
    onFuse,
    async () => {
      assert.equal((await answerTo(agentOf(trusted)))["outcome"], "success");
      const fuse = await mount("passed-off", evil, trusted);
      await isAskedAbout(fuse.program, /^Unsigned: nobody vouches for this image \(.*\(FUSE\)/);
      assert.ok(!fuse.asked.includes(STATFS));
    },
  );

  test("a file system that answers nothing holds up its own caller alone", onFuse, async () => {
    const attacker = buildAttacker();
    const fuse = await mount("silent", attacker, attacker);
    const agent: Attacker = startAttacker([
      "setpriv",
      `--reuid=${owner.uid}`,
      `--regid=${owner.gid}`,
      "--clear-groups",
      fuse.program,
    ]);
    await agent.say("pid");
    await fuse.silence(GETATTR, OPEN, STATFS);
    await agent.say(`connect ${home.agentSocket}`);
    assert.equal((await answerTo(agentOf(trusted)))["outcome"], "success");
    agent.process.kill("SIGKILL");
  });

  test(
    "a program on a disk that is a user's file is nobody's, and one that root mounted for the machine counts",
    onLoop,
    async () => {
      const image = join(folder, "disk.img");
      const content = join(folder, "content");
      mkdirSync(content);
      copyFileSync(trusted, join(content, "program"));
      makeDisk(image, content, owner);
      const loop = attachLoop(image);
      mounted.push(loop);
      const [machines, users] = [join(folder, "machines"), join(folder, "users")];
      loop.mount(machines, "nodev");
      assert.equal((await answerTo(agentOf(join(machines, "program"))))["outcome"], "success");
      loop.unmount(machines);
      loop.mount(users, "nosuid,nodev");
      const program = join(users, "program");
      rewrite(image, ENDS.trusted, ENDS.evil);
      // Another program in the same file, with the same inode, times and size.
      execFileSync("dd", [`if=${program}`, "iflag=nocache", "count=0", "status=none"], owner);
      assert.ok(readFileSync(program).equals(readFileSync(evil)));
      await isAskedAbout(program, /^Unsigned: nobody vouches for this image \(.*itself a file/);
    },
  );
});

/** By the user, under the mount. */
function rewrite(image: string, from: string, to: string): void {
  const at = readFileSync(image).indexOf(from);
  assert.ok(at > 0);
  const place = [`of=${image}`, "bs=1", `seek=${at}`, "conv=notrunc", "status=none"];
  execFileSync("dd", place, { ...owner, input: to });
}
