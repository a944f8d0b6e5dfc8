import assert from "node:assert/strict";
import { type ChildProcess, type SpawnOptions, type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cheapen } from "../../scripts/suite/cheapen.ts";
import { type Members, openPlane, until } from "./home.ts";
import { makeOnce } from "./made.ts";
import { listenForNotices } from "./notified.ts";
import { whole } from "./whole.ts";

const root = join(import.meta.dirname, "..", "..");
const PASSPHRASE = "correct horse battery staple in a test";

/** Why a Debian package cannot be tried here; undefined where it can. */
export function findObstacle(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "installing a Debian package needs root";
  for (const tool of ["dpkg", "nsenter", "unshare", "setpriv"]) {
    if (spawnSync(tool, ["--version"]).status !== 0) return `${tool} is not installed`;
  }
  const folder = mkdtempSync(join(tmpdir(), "gw-overlay-"));
  const tried = spawnSync("unshare", ["--mount", "--propagation", "private", "sh", "-c", overlays(folder)]);
  rmSync(folder, { recursive: true, force: true });
  return tried.status === 0 ? undefined : `this machine mounts no overlay: ${tried.stderr}`;
}

/** Everything that dpkg writes goes to a folder of the test: no other process of the machine sees any of it. */
function overlays(folder: string): string {
  const mounts = ["etc", "usr", "var"].map(
    (name) =>
      `mkdir ${folder}/${name} ${folder}/${name}.work && mount -t overlay overlay -o lowerdir=/${name},upperdir=${folder}/${name},workdir=${folder}/${name}.work /${name}`,
  );
  return ["set -e", ...mounts, "mount -t tmpfs -o mode=755 tmpfs /run"].join("\n");
}

/** The version that the package of this clone has. */
export const ownVersion = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly version: string })
  .version;

export interface DebianMachine {
  readonly folder: string;
  /** The folder of what `npm run package` made, and the Debian package in it. */
  readonly out: string;
  readonly deb: string;
  inside(command: readonly string[]): SpawnSyncReturns<string>;
  must(...command: readonly string[]): string;
  asGw(...command: readonly string[]): SpawnSyncReturns<string>;
  /** A process inside that stays; as a user with groups, where one is named. */
  spawn(command: readonly string[], user?: { readonly name: string; readonly groups: string }): ChildProcess;
  /** A file with the passphrase that only gw reads. */
  passphraseFile(): string;
  /** Makes keys cheap that what is installed derives, as in the product that all other tests start. */
  cheapen(): void;
  /** Starts the gateway by its unit and drop-ins, and waits until it says that it is ready. */
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** What the gateway says of itself on the operators' socket. */
  status(): Promise<Members>;
  /** gw-ident by its unit, as far as setpriv can, once it can be asked. */
  startIdent(): Promise<ChildProcess>;
  remove(): Promise<void>;
}

/**
 * Makes the Debian package of a clone, always of the same time. No registry is asked for signatures: whether one answers, and how soon, is
 * nothing that a test waits for.
 */
export function packDebian(clone: string, out: string, umask = "022", environment: NodeJS.ProcessEnv = {}): void {
  const silent = mkdtempSync(join(tmpdir(), "gw-silent-"));
  writeFileSync(join(silent, "npm"), "#!/bin/sh\necho npm error network >&2\nexit 1\n", { mode: 0o755 });
  const program = join(clone, "scripts", "package.ts");
  const argv = [process.execPath, "--disable-warning=ExperimentalWarning", program, "--only", "debian", "--out", out];
  const PATH = `${silent}:${process.env["PATH"]}`;
  const env = { ...process.env, PATH, SOURCE_DATE_EPOCH: "1700000000", ...environment };
  const made = spawnSync("sh", ["-c", `umask ${umask}; exec "$@"`, "sh", ...argv], {
    cwd: clone,
    encoding: "utf8",
    env,
  });
  rmSync(silent, { recursive: true });
  assert.equal(made.status, 0, made.stderr);
}

/** In a tree of what is installed: each program has the numbers among its own parts. */
export function cheapenKeys(lib: string): void {
  if (whole) return;
  const dist = join(lib, "dist", "src");
  const programs = readdirSync(join(dist, "programs"), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".js"))
    .map(({ name }) => join(dist, "programs", name));
  const having = programs.filter((file) => /\bkdfMemoryKib: \d/.test(readFileSync(file, "utf8")));
  assert.ok(having.length > 1);
  for (const file of [join(dist, "kernel", "defaults.js"), ...having])
    writeFileSync(file, cheapen(readFileSync(file, "utf8")));
}

/** Packages this clone, and opens a throw-away view of this machine to install it in. */
export async function makeDebianMachine(): Promise<DebianMachine> {
  const folder = mkdtempSync(join(tmpdir(), "gw-debian-"));
  chmodSync(folder, 0o755);
  // Under settings of a user that could leave traces in it: test/package-debian.host.test.ts looks for them.
  const settings = { TZ: "Pacific/Auckland", LC_ALL: "C.UTF-8" };
  const out = await makeOnce("out", folder, (place) => packDebian(root, place, "077", settings));
  mkdirSync(join(folder, "layers"));
  // Uids of its own: userdel looks for processes by number, and another test's machine runs beside this one.
  const uids = 20_000 + (process.pid % 10_000) * 3;
  const range = `printf 'SYS_UID_MIN ${uids}\\nSYS_UID_MAX ${uids + 2}\\n' >> /etc/login.defs`;
  // What is thrown away need not survive a power cut: dpkg waits for the disk after each file otherwise.
  const unsafe = "echo force-unsafe-io > /etc/dpkg/dpkg.cfg.d/unsafe";
  const script = `${overlays(join(folder, "layers"))}\n${range}\n${unsafe}\necho mounted\nexec cat`;
  // It reads what nobody writes: with this process it ends too, whichever way that is, and keeps no runner waiting for its streams.
  const keeper = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", script], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await new Promise((resolve) => keeper.stdout.once("data", resolve));
  const enter = [`--mount=/proc/${keeper.pid}/ns/mnt`, "--wd=/", "--"];
  let gateway: ChildProcess | null = null;
  const children: ChildProcess[] = [];
  const spawnInside = (command: readonly string[], options: SpawnOptions): ChildProcess => {
    const child = spawn("nsenter", [...enter, ...command], options);
    children.push(child);
    return child;
  };

  // The machine's own: with the clone's, `gw` would be the clone's too.
  const env = { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", HOME: "/root", DEBIAN_FRONTEND: "noninteractive", LC_ALL: "C" };

  function inside(command: readonly string[]): SpawnSyncReturns<string> {
    return spawnSync("nsenter", [...enter, ...command], { encoding: "utf8", input: "", env });
  }

  function must(...command: readonly string[]): string {
    const done = inside(command);
    assert.equal(done.status, 0, `${command.join(" ")}: ${done.stdout}${done.stderr}`);
    return done.stdout;
  }

  /** The unit with the drop-ins that were put beside it: the last word of a setting counts. */
  function readUnit(name: string): { setting(setting: string): string } {
    const beside = `/etc/systemd/system/${name}.service.d`;
    const text = must(
      "sh",
      "-c",
      `cat /usr/lib/systemd/system/${name}.service; cat ${beside}/*.conf 2>/dev/null || true`,
    );
    return { setting: (setting) => [...text.matchAll(new RegExp(`^${setting}=(.*)$`, "gm"))].at(-1)?.[1] ?? "" };
  }

  /** By the very command line, user and groups of the unit, since no systemd runs here. */
  function startByUnit(notify: string): { readonly process: ChildProcess; said(): string } {
    const { setting } = readUnit("gw");
    const [user, group] = [setting("User"), setting("Group")];
    must("install", "-d", "-o", user, "-g", group, "-m", setting("RuntimeDirectoryMode"), "/run/gw");
    const groups = must("getent", "group", ...setting("SupplementaryGroups").split(" "))
      .trim()
      .split("\n")
      .map((line) => line.split(":")[2]);
    const drop = ["setpriv", `--reuid=${user}`, `--regid=${group}`, `--groups=${groups.join(",")}`];
    // A unit of an earlier version sets nothing.
    const given = [`NOTIFY_SOCKET=${notify}`, ...setting("Environment").split(" ").filter(Boolean)];
    const bare = ["--bounding-set=-all", "--no-new-privs", "env", "-i", ...given];
    const argv = [...drop, ...bare, ...setting("ExecStart").split(" ")];
    const started = spawnInside(argv, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    started.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    return { process: started, said: () => said };
  }

  return {
    folder,
    out,
    deb: join(out, `gw_${ownVersion}_${process.arch === "arm64" ? "arm64" : "amd64"}.deb`),
    inside,
    must,
    asGw: (...command) =>
      inside(["setpriv", "--reuid=gw", "--regid=gw", "--init-groups", "env", "HOME=/var/lib/gw", ...command]),
    spawn(command, user) {
      const drop = user === undefined ? [] : ["setpriv", `--reuid=${user.name}`, `--regid=${user.name}`];
      const groups = user === undefined ? [] : [user.groups === "" ? "--clear-groups" : `--groups=${user.groups}`];
      return spawnInside([...drop, ...groups, ...command], { stdio: ["pipe", "pipe", "pipe"], env });
    },
    async startIdent() {
      const { setting } = readUnit("gw-ident");
      const [user, group] = [setting("User"), setting("Group")];
      must("install", "-d", "-o", user, "-g", group, "-m", setting("RuntimeDirectoryMode"), "/run/gw-ident");
      const right = setting("AmbientCapabilities").replace("CAP_", "").toLowerCase();
      const sets = ["bounding-set", "inh-caps", "ambient-caps"].map((set) => `--${set}=-all,+${right}`);
      const drop = ["setpriv", `--reuid=${user}`, `--regid=${group}`, "--clear-groups", ...sets];
      const argv = [...drop, "env", "-i", ...setting("ExecStart").split(" ")];
      const started = spawnInside(argv, { stdio: ["ignore", "pipe", "inherit"] });
      // The flag says that it listens.
      const listening = ["grep", "-q", " 00010000 .* /run/gw-ident/ident.sock", "/proc/net/unix"];
      const listens = (): boolean => inside(listening).status === 0;
      await until("gw-ident can be asked", listens);
      return started;
    },
    passphraseFile() {
      const given = join(folder, "passphrase");
      writeFileSync(given, `${PASSPHRASE}\n`);
      must("install", "-o", "gw", "-g", "gw", "-m", "0600", given, "/var/lib/gw/passphrase");
      return "/var/lib/gw/passphrase";
    },
    cheapen: () => cheapenKeys(`/proc/${keeper.pid}/root/usr/lib/gw`),
    async start() {
      const manager = listenForNotices();
      try {
        const { process: started, said } = startByUnit(manager.name);
        gateway = started;
        const isReady = (): boolean => {
          if (started.exitCode !== null) assert.fail(said());
          return manager.lines().includes("READY=1");
        };
        await until("the gateway is ready", isReady);
      } finally {
        manager.close();
      }
    },
    async stop(signal = "SIGTERM") {
      if (gateway !== null) await end(gateway, signal);
      gateway = null;
    },
    async status() {
      const plane = openPlane(`/proc/${keeper.pid}/root/run/gw/operator.sock`);
      try {
        return (await plane.ask("GET", "/v1/status")).body;
      } finally {
        plane.close();
      }
    },
    async remove() {
      // Whoever still writes there keeps a folder from going.
      await Promise.all([...children, keeper].map((child) => end(child, "SIGKILL")));
      rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

/** Resolves when it is gone; at once where it was gone already, or never began. */
async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill(signal);
  await gone;
}
