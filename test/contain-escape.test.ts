import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, linkSync, mkdirSync, readdirSync, readFileSync, rmSync, unlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { approveRun, contained, deniedRights, lacksBubblewrap, startContained, workOf } from "./support/box.ts";
import { asUser, demoPack, type Gateway, GW, Home, makeFolder, until, within } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";
import { idOf } from "./support/reply.ts";

/** What a program in a box tries in order to get out, each way from inside, in both kinds of box. */
let home: Home;
let gateway: Gateway;
let provider: TestProvider;
let folder: string;
const servers: Server[] = [];
const skip = asUser;

before(async () => {
  if ("skip" in skip) return;
  folder = makeFolder();
  provider = await startProvider();
  home = await new Home(folder).init();
  await home.addCredential("demo-token", provider.origin);
  await home.trustPack("demo", demoPack(provider.origin));
  gateway = await home.up();
});
after(async () => {
  for (const server of servers) server.close();
  await gateway?.end("SIGTERM");
  await provider?.close();
});

/** Somebody outside who answers whoever comes. */
async function listen(path: string): Promise<void> {
  const server = createServer((socket) => socket.on("error", () => undefined).end("REACHED"));
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
}

/** Runs Python in a box and gives what each line said: `name: value`. */
async function inside(tier: Tier, script: string): Promise<ReadonlyMap<string, string>> {
  mkdirSync(workOf(home), { recursive: true });
  writeFileSync(join(workOf(home), "try.py"), `${PRELUDE}\n${script}`);
  const { code, out, err } = await contained(home, "/usr/bin/python3 try.py", tier.options);
  assert.equal(code, 0, err + out);
  const pairs = out
    .split("\n")
    .flatMap((line) => (line.includes(": ") ? [line.split(": ", 2) as [string, string]] : []));
  return new Map(pairs);
}

const PRELUDE = `import ctypes, errno, os, socket, subprocess
libc = ctypes.CDLL(None, use_errno=True)
def call(name, number, *args):
    ctypes.set_errno(0)
    done = libc.syscall(number, *args)
    print(name + ": " + ("DONE" if done >= 0 else errno.errorcode[ctypes.get_errno()]), flush=True)
def attempt(name, work):
    try:
        print(name + ": DONE " + str(work()), flush=True)
    except OSError as e:
        print(name + ": " + errno.errorcode.get(e.errno, str(e)), flush=True)
def reach(family, kind, to):
    s = socket.socket(family, kind)
    s.settimeout(5)
    s.connect(to)
    return s.recv(16).decode()
def run(*command):
    return subprocess.run(command, capture_output=True).returncode
`;

interface Tier {
  readonly name: string;
  readonly skip: { readonly skip?: string };
  readonly options: { readonly under?: readonly string[] };
}

const tiers: readonly Tier[] = [
  { name: "first tier", skip, options: {} },
  { name: "second tier", skip: lacksBubblewrap(), options: { under: deniedRights } },
];

const x64 = process.arch === "x64";

const RIGHTS = `
print("umount: " + str(run("umount", "/run")))
print("remount: " + str(run("mount", "-o", "remount,rw", "/")))
print("namespaces: " + str(run("unshare", "-Urmn", "true")))
print("setns: " + str(run("nsenter", "-t", "1", "-n", "true")))
call("unshare user", ${x64 ? 272 : 97}, 0x10000000)
call("unshare net", ${x64 ? 272 : 97}, 0x40000000)
call("io_uring", 425, 1, 0)
call("keyctl", ${x64 ? 250 : 219}, 0, -3, 0)
${x64 ? 'call("x32 socket", 0x40000000 | 41, 2, 1, 0)' : ""}
attempt("core_pattern", lambda: open("/proc/sys/kernel/core_pattern", "w"))
attempt("max namespaces", lambda: open("/proc/sys/user/max_user_namespaces", "w").write("10"))
attempt("root", lambda: open("/usr/gw-was-here", "w"))
attempt("etc", lambda: open("/etc/resolv.conf", "w"))
attempt("certificates", lambda: open("/etc/ssl/certs/ca-certificates.crt", "w"))
print("capabilities: " + [l for l in open("/proc/self/status") if l.startswith("CapPrm")][0].split()[1])
print("first: " + open("/proc/1/comm").read().strip())
`;

/** What is tried of sockets: each is one that somebody outside answers on, but for those of families that lead elsewhere. */
const socketTries = (abstract: string, sock: string, near: string, linked: string, other: string): string => `
attempt("vsock", lambda: socket.socket(40, socket.SOCK_STREAM))
attempt("packet", lambda: socket.socket(17, socket.SOCK_RAW))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
attempt("bind 443", lambda: socket.socket().bind(("0.0.0.0", 443)))
attempt("abstract", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, "\\0${abstract}"))
attempt("path", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, ${JSON.stringify(sock)}))
attempt("near", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, "${near}"))
attempt("linked", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, ${JSON.stringify(linked)}))
attempt("linked near", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, "${other}"))
attempt("ssh", lambda: reach(socket.AF_INET, socket.SOCK_STREAM, ("198.51.100.7", 22)))
attempt("ssh6", lambda: reach(socket.AF_INET6, socket.SOCK_STREAM, ("2001:db8::7", 22)))
`;

const outsideTries = (victim: number): string => `
attempt("proc", lambda: open("/proc/${victim}/status").read())
call("ptrace", ${x64 ? 101 : 117}, 16, ${victim}, 0, 0)
attempt("kill", lambda: os.kill(${victim}, 9))
attempt("home", lambda: os.listdir(${JSON.stringify(home.folder)}))
attempt("vault", lambda: open(${JSON.stringify(join(home.folder, "vault.json"))}).read())
print("tmp: " + str(os.listdir(${JSON.stringify(folder)})))
print("processes: " + str(len([p for p in os.listdir("/proc") if p.isdigit()])))
`;

for (const tier of tiers) {
  describe(`${tier.name}: what a program inside tries, all of it in one box`, tier.skip, () => {
    let said: ReadonlyMap<string, string>;
    let victim: ChildProcess;

    before(async () => {
      if (tier.skip.skip !== undefined) return;
      const sock = join(folder, `${tier.name}.sock`);
      await listen(sock);
      const abstract = `gw-test-abstract-${tier.name}-${process.pid}`;
      await listen(`\0${abstract}`);
      mkdirSync(workOf(home), { recursive: true });
      const near = `near ${tier.name}.sock`;
      await listen(join(workOf(home), near));
      // As OpenSSH makes a control socket: bound by one name, which is gone, and known by another.
      const other = `other ${tier.name}.sock`;
      const control = join(folder, "ssh");
      mkdirSync(control, { recursive: true });
      for (const place of [control, workOf(home)]) {
        await listen(join(place, `${other}.bound`));
        linkSync(join(place, `${other}.bound`), join(place, other));
        unlinkSync(join(place, `${other}.bound`));
      }
      victim = spawn("sleep", ["600"], { stdio: "ignore" });
      const sockets = socketTries(abstract, sock, near, join(control, other), other);
      said = await inside(tier, RIGHTS + sockets + outsideTries(victim.pid ?? -1));
    });

    after(() => void victim?.kill("SIGKILL"));

    test("no mount, namespace or right can be had inside", () => {
      for (const name of ["umount", "remount", "namespaces", "setns"]) assert.notEqual(said.get(name), "0", name);
      assert.match(said.get("unshare user") ?? "", /^(EPERM|ENOSPC)$/);
      assert.equal(said.get("unshare net"), "EPERM");
      assert.equal(said.get("io_uring"), "ENOSYS");
      assert.equal(said.get("keyctl"), "EPERM");
      if (x64) assert.equal(said.get("x32 socket"), "ENOSYS");
      for (const name of ["core_pattern", "max namespaces", "root", "etc", "certificates"]) {
        assert.match(said.get(name) ?? "", /^(EACCES|EROFS|EPERM)$/, name);
      }
      assert.equal(said.get("capabilities"), "0000000000000000");
      assert.equal(said.get("first"), "sh");
    });

    test("no socket leads out but the way that is served", () => {
      assert.equal(said.get("vsock"), "EAFNOSUPPORT");
      assert.equal(said.get("packet"), "EAFNOSUPPORT");
      assert.equal(said.get("raw"), "EPERM");
      assert.equal(said.get("bind 443"), "EACCES");
      assert.equal(said.get("abstract"), "ECONNREFUSED");
      assert.match(said.get("path") ?? "", /^(ENOENT|ECONNREFUSED|EACCES)$/);
      assert.match(said.get("near") ?? "", /^(ECONNREFUSED|EACCES)$/, "in the folder of the work, from before");
      assert.match(said.get("linked") ?? "", /^(ENOENT|ECONNREFUSED|EACCES)$/);
      assert.match(said.get("linked near") ?? "", /^(ECONNREFUSED|EACCES)$/, "by another name than it was bound by");
      assert.match(said.get("ssh") ?? "", /^(ECONNREFUSED|ENETUNREACH)$/);
      assert.match(said.get("ssh6") ?? "", /^(ECONNREFUSED|ENETUNREACH|EADDRNOTAVAIL)$/);
    });

    test("nobody outside is seen, traced or signalled, and the home of the gateway is not there", () => {
      assert.equal(said.get("proc"), "ENOENT");
      assert.equal(said.get("ptrace"), "ESRCH");
      assert.equal(said.get("kill"), "ESRCH");
      assert.match(said.get("home") ?? "", /^(ENOENT|DONE \[\])$/);
      assert.equal(said.get("vault"), "ENOENT");
      assert.equal(said.get("tmp"), "['home-work']");
      assert.ok(Number(said.get("processes")) <= 3);
      assert.equal(victim.exitCode, null);
    });
  });

  test(
    `${tier.name}: a socket that is opened after the start is out of reach, but in a folder that the box writes to`,
    tier.skip,
    async () => {
      const late = join(folder, `late ${tier.name}.sock`);
      const near = `late near ${tier.name}.sock`;
      const script = `import time
open("waits", "w").close()
while not os.path.exists("go"): time.sleep(0.05)
attempt("late", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, ${JSON.stringify(late)}))
attempt("near", lambda: reach(socket.AF_UNIX, socket.SOCK_STREAM, ${JSON.stringify(near)}))
`;
      for (const name of ["waits", "go"]) rmSync(join(workOf(home), name), { force: true });
      const said = inside(tier, script);
      await Promise.race([said, until("the command runs", () => existsSync(join(workOf(home), "waits")))]);
      await listen(late);
      await listen(join(workOf(home), near));
      writeFileSync(join(workOf(home), "go"), "");
      assert.match((await said).get("late") ?? "", /^(ENOENT|ECONNREFUSED|EACCES)$/);
      assert.equal((await said).get("near"), "DONE REACHED", "a limit that docs/contained.md tells of");
    },
  );

  test(
    `${tier.name}: the working folder and the folders of --write are written for good; all else inside is gone with the box`,
    tier.skip,
    async () => {
      const more = join(folder, "more");
      mkdirSync(more, { recursive: true });
      const script = `echo kept > here; echo kept > ${more}/there; echo gone > /tmp/gone; echo no > ${folder}/not-here; true`;
      const { code, err } = await contained(home, script, { ...tier.options, extra: ["--write", more] });
      assert.equal(code, 0, err);
      assert.equal(readFileSync(join(workOf(home), "here"), "utf8"), "kept\n");
      assert.equal(readFileSync(join(more, "there"), "utf8"), "kept\n");
      assert.ok(!existsSync("/tmp/gone"));
      assert.ok(!existsSync(join(folder, "not-here")));
    },
  );

  test(
    `${tier.name}: what a program inside sends to its own process group reaches nobody outside`,
    tier.skip,
    async () => {
      for (const signal of ["USR1", "KILL"]) {
        const outside = ["/bin/sh", "-c", `trap "echo reached" USR1; "$@"; echo "outside: $?"`, "sh"];
        const run = startContained(home, ["sh", "-c", `kill -${signal} 0; echo on`], {
          ...tier.options,
          under: [...outside, ...(tier.options.under ?? [])],
        });
        await approveRun(home, run);
        const { out, err } = await within(run.exited, 120_000, "it ends");
        assert.match(out, /^(?:on\n)?outside: \d+\n$/, `${signal}: ${out}${err}`);
      }
    },
  );

  test(
    `${tier.name}: from the terminal of whoever started it a program reads nothing but where it has one of its own`,
    tier.skip,
    async () => {
      for (const [streams, told] of [
        ["> told", /^ready\nnothing\nnothing\nnothing\n$/],
        ["| cat > told", /^ready\nnothing\nnothing\nnothing\n$/],
        ["", /ready\s+typed\s+read typed\s+typed\s+read typed/],
      ] as const) {
        const file = join(workOf(home), "told");
        rmSync(file, { force: true });
        const reading =
          'echo ready; read x && echo "read $x" || echo nothing; read y < /dev/tty && echo "read $y" || echo nothing';
        // In a session of its own nobody asks whether it is its turn to read.
        const behind = '; setsid -w sh -c "read z" <&2 && echo "read behind" || echo nothing';
        const command = [
          ...(tier.options.under ?? []),
          GW,
          "--home",
          home.folder,
          "run",
          "--contain",
          "--",
          "sh",
          "-c",
          streams === "" ? reading : reading + behind,
        ];
        const line = command.map((word) => `'${word}'`).join(" ");
        const [script, ...words] = ["script", "-qec", `cd ${workOf(home)}; ${line} ${streams}`, "/dev/null"];
        const run = spawn(script as string, words, { env: home.environment() });
        let out = "";
        run.stdout.setEncoding("utf8").on("data", (text: string) => {
          out += text;
        });
        const ended = new Promise((resolve) => run.once("close", resolve));
        // Somebody types ahead.
        if (streams !== "") run.stdin.write("typed\ntyped\n");
        const [card] = await home.approvals();
        await home.approve(idOf(card, "approval_id"));
        const said = () => (existsSync(file) ? readFileSync(file, "utf8") : out);
        await until("it reads", () => said().includes("ready"));
        for (let lines = 1; streams === "" && lines <= 2; lines++) {
          run.stdin.write("typed\n");
          await until("it was read", () => out.split("read typed").length > lines);
        }
        run.stdin.end();
        await within(ended, 120_000, "it ends");
        assert.match(said(), told, streams);
      }
    },
  );

  test(`${tier.name}: the box dies with its wrapper`, tier.skip, async () => {
    const beat = join(workOf(home), "beat");
    rmSync(beat, { force: true });
    const mark = `gw-beat-${tier.name[0]}-${process.pid}`;
    const run = startContained(
      home,
      ["sh", "-c", `while :; do date +%s%N > beat; sleep 0.05; done # ${mark}`],
      tier.options,
    );
    await approveRun(home, run);
    await until("the command runs", () => existsSync(beat));
    assert.ok(processesWith(mark).length > 0, "the command can be seen from out here");
    process.kill(Number(run.child.pid), "SIGKILL");
    await within(run.exited, 120_000, "the wrapper is gone");
    await until("nothing of the box is left", () => processesWith(mark).length === 0);
  });

  test(`${tier.name}: a signal to the wrapper reaches the command, and its status is told`, tier.skip, async () => {
    const ready = join(workOf(home), "ready");
    rmSync(ready, { force: true });
    const run = startContained(
      home,
      ["sh", "-c", "trap 'exit 9' TERM; touch ready; while :; do sleep 0.1; done"],
      tier.options,
    );
    await approveRun(home, run);
    await until("the command runs", () => existsSync(ready));
    process.kill(Number(run.child.pid), "SIGTERM");
    const { code, err } = await within(run.exited, 120_000, "it ends");
    assert.equal(code, 9, err);
  });
}

function processesWith(mark: string): readonly string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(join("/proc", name, "cmdline"), "latin1").includes(mark);
    } catch {
      return false;
    }
  });
}
