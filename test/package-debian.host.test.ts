import assert from "node:assert/strict";
import { type ChildProcess, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type DebianMachine, findObstacle, makeDebianMachine, ownVersion, packDebian } from "./support/debian.ts";
import { demoPack, type Members, SECRET, until } from "./support/home.ts";
import { builtClone, copyClone } from "./support/made.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";
import { whole } from "./support/whole.ts";

interface Agent {
  ask(order: Members): Promise<Members>;
  end(): void;
}

const root = join(import.meta.dirname, "..");
const obstacle = findObstacle();

describe("the Debian package on a machine", obstacle === undefined ? {} : { skip: obstacle }, () => {
  let machine: DebianMachine;
  let provider: TestProvider | undefined;
  let ident: ChildProcess | undefined;
  const must = (...command: readonly string[]): string => machine.must(...command);
  before(async () => {
    machine = await makeDebianMachine();
  });
  after(async () => {
    await provider?.close();
    await machine?.remove();
  });

  test("checksums and the bill of materials are those of what was made", () => {
    const sums = readFileSync(join(machine.out, "SHA256SUMS"), "utf8").trim().split("\n");
    assert.equal(sums.length, 2);
    for (const line of sums) {
      const [digest, name = ""] = line.split("  ");
      assert.equal(
        createHash("sha256")
          .update(readFileSync(join(machine.out, name)))
          .digest("hex"),
        digest,
        name,
      );
    }
    const bill = JSON.parse(readFileSync(join(machine.out, `gw-${ownVersion}.cdx.json`), "utf8")) as {
      readonly components: readonly { readonly name: string; readonly hashes: readonly unknown[] }[];
    };
    const names = bill.components.map(({ name }) => name);
    for (const name of ["node", "koffi", "pg", "yaml", "zod"]) assert.ok(names.includes(name), name);
    for (const name of ["typescript", "fastify", "fast-check", "undici"]) assert.ok(!names.includes(name), name);
    assert.ok(bill.components.every(({ hashes }) => hashes.length === 1));
  });

  test("what is packed has no trace of who packed it: one time, one owner, one order, modes of its own", () => {
    const said = spawnSync("dpkg-deb", ["--contents", machine.deb], {
      ...{ encoding: "utf8", maxBuffer: 1 << 26, env: { PATH: process.env["PATH"], TZ: "UTC" } },
    });
    assert.equal(said.status, 0, said.stderr);
    const entries = said.stdout.trimEnd().split("\n");
    const entry = /^(drwxr-xr-x|-rw-r--r--|-rwxr-xr-x|lrwxr-xr-x) root\/root +\d+ 2023-11-14 22:13 \.\/(.*)$/;
    assert.deepEqual(
      entries.filter((line) => !entry.test(line)),
      [],
    );
    const folders = entries.filter((line) => line.startsWith("d")).map((line) => entry.exec(line)?.[2] ?? "");
    assert.ok(folders.length > 50);
    assert.deepEqual(folders, byBytes(folders));
  });

  /** As a tree is walked whose folders are each read in the order of their names' bytes. */
  function byBytes(folders: readonly string[]): readonly string[] {
    const parts = (path: string): string => path.replaceAll("/", "\0");
    return folders.toSorted((one, other) => (parts(one) < parts(other) ? -1 : 1));
  }

  const everyByte = whole ? {} : { skip: "packed twice from end to end by npm run soak -- suite" };
  test("another clone, elsewhere and under other settings of its user, gives the same bytes", everyByte, () => {
    const clone = join(machine.folder, "other clone");
    copyClone(clone);
    const again = join(machine.folder, "again");
    packDebian(clone, again, "022", { TMPDIR: machine.folder });
    assert.equal(
      readFileSync(join(again, "SHA256SUMS"), "utf8"),
      readFileSync(join(machine.out, "SHA256SUMS"), "utf8"),
    );
  });

  test("an account of that name that is a person's is not taken over, and nothing is changed", () => {
    must("useradd", "--create-home", "--home-dir", "/var/gw-the-person", "gw");
    const refused = machine.inside(["dpkg", "--no-triggers", "--install", machine.deb]);
    assert.notEqual(refused.status, 0);
    assert.match(refused.stderr, /account_taken/);
    must("test", "!", "-e", "/usr/lib/gw");
    must("userdel", "gw");
    machine.inside(["dpkg", "--purge", "gw"]);
  });

  test("it makes users, groups and private folders, brings manual and completion, and starts nothing", () => {
    const said = must("dpkg", "--no-triggers", "--install", machine.deb);
    assert.match(said, /nothing was started/);
    assert.equal(must("gw", "--version").trim(), ownVersion);
    assert.equal(must("stat", "-c", "%U:%G %a", "/var/lib/gw").trim(), "gw:gw 700");
    assert.equal(must("stat", "-c", "%U %a", "/run/gw").trim(), "gw 755");
    assert.equal(must("stat", "-c", "%U:%G %a", "/etc/gw/gw.yaml").trim(), "root:root 644");
    for (const group of ["gw-agents", "gw-operators"]) must("getent", "group", group);
    assert.match(must("getent", "passwd", "gw"), /nologin$/m);
    must("test", "-s", "/usr/share/man/man1/gw-call.1");
    for (const file of [
      "bash-completion/completions/gw",
      "zsh/vendor-completions/_gw",
      "fish/vendor_completions.d/gw.fish",
    ]) {
      assert.match(must("cat", `/usr/share/${file}`), /credential/);
    }
    // Nobody may change what root will run, and every file is root's.
    assert.equal(
      must("find", "/usr/lib/gw", "(", "-perm", "/022", "-o", "!", "-user", "root", ")", "!", "-type", "l"),
      "",
    );
    // By what a gateway leaves here: another test's machine has a user of the same number.
    assert.equal(must("ls", "-A", "/run/gw"), "");
  });

  test("what another clone builds elsewhere is installed byte by byte, and a manual has the date of the sources", async () => {
    const dist = join(await builtClone(machine.folder), "dist");
    // The npm package has types; a Debian package has the name that a program had once.
    const compared = machine.inside(["diff", "-rq", "--exclude=*.d.ts", dist, "/usr/lib/gw/dist"]);
    assert.equal(compared.stdout + compared.stderr, "Only in /usr/lib/gw/dist: programs\n");
    assert.match(must("head", "-n", "3", "/usr/share/man/man1/gw-call.1"), /2023-11-14/);
  });

  test("the units are sound and closed", (context) => {
    if (machine.inside(["systemd-analyze", "--version"]).status !== 0) {
      context.skip("systemd-analyze is not installed");
      return;
    }
    for (const unit of ["gw.service", "gw-ident.service"]) {
      const verified = machine.inside(["systemd-analyze", "verify", "--man=no", `/usr/lib/systemd/system/${unit}`]);
      assert.deepEqual([verified.status, verified.stderr.replaceAll(/^(?!.*gw).*\n/gm, "")], [0, ""]);
      const exposed = machine.inside([
        "systemd-analyze",
        "security",
        "--offline=true",
        "--threshold=20",
        "--no-pager",
        `/usr/lib/systemd/system/${unit}`,
      ]);
      assert.equal(exposed.status, 0, exposed.stdout.split("\n").at(-2));
    }
  });

  test("the unit's own command line serves as the user gw, and a home tells its format", async () => {
    machine.cheapen();
    const made = machine.asGw("gw", "init", "--operator", "ada", "--passphrase-file", machine.passphraseFile());
    assert.equal(made.status, 0, made.stderr);
    await machine.start();
    const unlocked = machine.asGw("gw", "unlock", "--first", "--passphrase-file", "/var/lib/gw/passphrase");
    assert.equal(unlocked.status, 0, unlocked.stderr);
    const status = machine.asGw("gw", "status", "--json");
    assert.equal(status.status, 0, status.stderr);
    const capabilities = must("cat", `/proc/${String((JSON.parse(status.stdout) as { pid: number }).pid)}/status`);
    assert.match(capabilities, /^CapEff:\t0+$/m);
    assert.match(machine.asGw("gw", "metrics").stdout, /^gw_locked 0$/m);
    assert.match(must("cat", "/var/lib/gw/format"), /^gw\.home\/v1 state \d+\n$/);
    await prepareUnattended();
    await machine.stop();
  });

  const asOperator = ["--passphrase-file", "/var/lib/gw/passphrase"];
  const gw = (...command: readonly string[]): string => {
    const done = machine.asGw("gw", ...command);
    assert.equal(done.status, 0, `gw ${command.join(" ")}: ${done.stdout}${done.stderr}`);
    return done.stdout;
  };

  /** What an operator prepares for a machine that starts alone: a provider, and a key file that is signed for. */
  async function prepareUnattended(): Promise<void> {
    provider = await startProvider();
    must("sh", "-c", `cat > /var/lib/gw/demo.yaml <<'END'\n${demoPack(provider.origin)}\nEND`);
    must("sh", "-c", `printf %s '${SECRET}' > /var/lib/gw/token && chown gw /var/lib/gw/token /var/lib/gw/demo.yaml`);
    const add = `gw credential add demo-token --kind bearer --origin ${provider.origin} ${asOperator.join(" ")}`;
    assert.equal(machine.asGw("sh", "-c", `${add} < /var/lib/gw/token`).status, 0);
    gw("pack", "add", "/var/lib/gw/demo.yaml");
    gw("pack", "trust", "demo", ...asOperator);
    gw("unlock", "--write-key-file", "/var/lib/gw/service.key", ...asOperator);
    gw("policy", "set", "headless_unlock", "on", ...asOperator);
  }

  test("the drop-in that docs/install.md makes starts it unlocked, by its own command line", async (context) => {
    const page = readFileSync(join(root, "docs", "install.md"), "utf8");
    const lines = page.split("\n").filter((line) => line.includes("/etc/systemd/system/gw.service.d"));
    assert.equal(lines.length, 2, "mkdir, and the file");
    must("sh", "-ec", lines.join("\n"));
    // As one that was made from the unit of an earlier version still does.
    must("sed", "-i", "s|/dist/src/programs/|/dist/programs/|", "/etc/systemd/system/gw.service.d/key-file.conf");
    if (machine.inside(["systemd-analyze", "--version"]).status === 0) {
      const verified = machine.inside(["systemd-analyze", "verify", "--man=no", "gw.service"]);
      assert.deepEqual([verified.status, verified.stderr.replaceAll(/^(?!.*gw).*\n/gm, "")], [0, ""]);
    } else context.diagnostic("systemd-analyze is not installed");
    await machine.start();
    const status = JSON.parse(gw("status", "--json")) as Readonly<Record<string, unknown>>;
    assert.deepEqual(
      [status["locked"], status["mode"], status["key_file"]],
      [false, "dedicated", { kind: "key file", signed: true, trouble: null }],
    );
  });

  test("an operator's user who is in the group by /etc/group alone is guard-rail before anybody has logged in", async () => {
    must("useradd", "--system", "--create-home", "--home-dir", "/var/ada", "--groups", "gw-operators", "ada");
    must("install", "-o", "ada", "-m", "0600", "/var/lib/gw/passphrase", "/var/ada/passphrase");
    ident = await machine.startIdent();
    const agent = agentOf("ada", "gw-agents");
    assert.equal((await openRun(agent)).card["mode"], "guard-rail");
    agent.end();
  });

  test("a user of no group and an agent's user come neither into the home nor into the gateway, gw-ident, their sockets or programs", async () => {
    const pids = {
      gateway: Number((await machine.status())["pid"]),
      ident: ident?.pid ?? 0,
    };
    const connect = (path: string): string =>
      `perl -MIO::Socket::UNIX -e 'exit(IO::Socket::UNIX->new(Type => shift @ARGV, Peer => shift @ARGV) ? 0 : 1)'${path}`;
    const [STREAM, SEQPACKET] = [1, 5];
    const attempts = [
      ...["ls /var/lib/gw", "cat /var/lib/gw/service.key", "cat /var/lib/gw/vault.json", "touch /var/lib/gw/x"],
      ...[
        "mv /run/gw /run/gone",
        "rm -f /run/gw/agent.sock",
        "touch /run/gw/x",
        "ln -s /tmp /run/gw/link",
        "mkdir /run/gx",
      ],
      ...["ls /run/gw-ident", "mv /run/gw-ident /run/gone", connect(` ${SEQPACKET} /run/gw-ident/ident.sock`)],
      connect(` ${STREAM} /run/gw/operator.sock`),
      ...[
        "echo x >> /etc/gw/gw.yaml",
        "touch /etc/gw/other.yaml",
        "echo x >> /usr/lib/gw/bin/gw",
        "mv /usr/lib/gw /usr/lib/gx",
      ],
      ...Object.values(pids).flatMap((pid) => [
        ...[`kill -0 ${pid}`, `kill -KILL ${pid}`, `ls /proc/${pid}/fd`, `readlink /proc/${pid}/exe`],
        ...["environ", "maps", "mem"].map((name) => `head -c 1 /proc/${pid}/${name}`),
      ]),
    ];
    must("useradd", "--uid", String(60_000 + (process.pid % 4_000)), "mallory");
    const agents = must("getent", "group", "gw-agents").split(":")[2] ?? "";
    for (const groups of ["--clear-groups", `--groups=${agents}`]) {
      const as = [
        "setpriv",
        "--reuid=mallory",
        "--regid=mallory",
        groups,
        "env",
        "-i",
        "PATH=/usr/bin:/bin",
        "sh",
        "-c",
      ];
      const every = attempts.map(
        (attempt) => `if (${attempt}) >/dev/null 2>&1; then echo DID: ${JSON.stringify(attempt)}; fi`,
      );
      // What they may do shows that the others fail for what they are: an agent's user reaches its own socket.
      const reached = machine.inside([...as, connect(` ${STREAM} /run/gw/agent.sock`)]).status === 0;
      assert.deepEqual([machine.inside([...as, every.join("\n")]).stdout, reached], ["", groups !== "--clear-groups"]);
    }
    assert.equal((await machine.status())["pid"], pids.gateway, "it runs as before");
    assert.equal(ident?.exitCode, null);
  });

  test("an account that is deleted leaves its process as a number: the session goes on until somebody ends it", async () => {
    // A number of its own, beside those that the machine keeps for accounts of packages.
    must("useradd", "--uid", String(52_000 + (process.pid % 8_000)), "--groups", "gw-agents", "deploybot");
    const uid = Number(must("id", "-u", "deploybot").trim());
    const agent = agentOf("deploybot", "gw-agents");
    const { run, card } = await openRun(agent);
    assert.deepEqual([card["mode"], uidOf(card)], ["dedicated", uid]);
    const call = {
      method: "POST",
      path: `/v1/runs/${run}/calls`,
      body: { action: "demo.thing.get", input: { id: "1" } },
    };
    assert.equal((await agent.ask(call))["outcome"], "success");
    must("userdel", "--force", "deploybot");
    assert.notEqual(machine.inside(["getent", "passwd", "deploybot"]).status, 0);
    assert.equal((await agent.ask(call))["outcome"], "success", "whoever was approved is still that process");
    const again = await openRun(agent);
    assert.deepEqual([again.card["mode"], uidOf(again.card)], ["dedicated", uid], "a card shows the number");
    const [session] = (JSON.parse(asAda("sessions", "--json")) as readonly Members[]).filter(
      (one) => one["run_id"] === run && one["end_reason"] === null,
    );
    asAda("revoke", idOf(session, "session_id"));
    assert.match(String((await agent.ask(call))["code"]), /^session_|^run_/);
    agent.end();
  });

  const uidOf = (card: Members): unknown => ((card["caller"] as Members)["process"] as Members)["uid"];

  function asAda(...command: readonly string[]): string {
    const who = ["setpriv", "--reuid=ada", "--regid=ada", "--init-groups", "env", "HOME=/var/ada"];
    const done = machine.inside([...who, "gw", ...command, "--passphrase-file", "/var/ada/passphrase"]);
    assert.equal(done.status, 0, `gw ${command.join(" ")}: ${done.stdout}${done.stderr}`);
    return done.stdout;
  }

  /** Asks for a run, and has it approved by the operator; nobody logs in before. The answer to a yes has the card that was signed. */
  async function openRun(agent: Agent): Promise<{ readonly run: string; readonly card: Members }> {
    const body = { purpose: "x", actions: ["demo.thing.get"] };
    const asked = await agent.ask({ method: "POST", path: "/v1/runs", body, wait: 0 });
    const approved = JSON.parse(asAda("approve", idOf(asked, "approval_id"), "--json")) as Members;
    const run = await agent.ask({ path: idOf(asked, "status_path") });
    return { run: idOf(run, "run_id"), card: approved["card"] as Members };
  }

  /** The agent of the demo, which the package brings: it does what it is told on its standard input. */
  function agentOf(name: string, group: string): Agent {
    const node = "/usr/lib/gw/node_modules/node/bin/node";
    const program = [node, "--disable-warning=ExperimentalWarning", "/usr/lib/gw/dist/demo/agent.js"];
    const groups = must("getent", "group", group).split(":")[2] ?? "";
    const child = machine.spawn([...program, "/var/lib/gw"], { name, groups });
    let said = "";
    let told = 1;
    child.stderr?.pipe(process.stderr);
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    return {
      async ask(order) {
        child.stdin?.write(`${JSON.stringify(order)}\n`);
        const line = await until("it answers", () => said.split("\n").slice(0, -1)[told], 150_000);
        told++;
        return (JSON.parse(line) as { readonly body: Members }).body;
      },
      end: () => void child.kill("SIGKILL"),
    };
  }
});
