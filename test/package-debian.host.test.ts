import assert from "node:assert/strict";
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { until } from "./support/home.ts";
import { listenForNotices } from "./support/notified.ts";

const root = join(import.meta.dirname, "..");
const PASSPHRASE = "correct horse battery staple in a test";

/** Why it cannot be tried here; undefined where it can. */
function findObstacle(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "installing a Debian package needs root";
  for (const [tool, ask] of [
    ["dpkg", "--version"],
    ["nsenter", "--version"],
    ["unshare", "--version"],
  ] as const) {
    if (spawnSync(tool, [ask]).status !== 0) return `${tool} is not installed`;
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

const obstacle = findObstacle();

describe("the Debian package on a machine", obstacle === undefined ? {} : { skip: obstacle }, () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-debian-"));
  const deb = join(folder, "out", `gw_${versionOf(root)}_${process.arch === "arm64" ? "arm64" : "amd64"}.deb`);
  const passphrase = join(folder, "passphrase");
  let keeper: ReturnType<typeof spawn>;
  let gateway: ReturnType<typeof spawn> | null = null;
  let gatewayErr = "";

  before(async () => {
    const made = spawnSync(
      process.execPath,
      ["--disable-warning=ExperimentalWarning", "scripts/package.ts", "--only", "debian", "--out", join(folder, "out")],
      {
        cwd: root,
        encoding: "utf8",
        env: { ...process.env, SOURCE_DATE_EPOCH: "1700000000" },
      },
    );
    assert.equal(made.status, 0, made.stderr);
    mkdirSync(join(folder, "layers"));
    const script = `${overlays(join(folder, "layers"))}\necho mounted\nexec sleep 3600`;
    keeper = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise((resolve) => keeper.stdout?.once("data", resolve));
    writeFileSync(passphrase, `${PASSPHRASE}\n`, { mode: 0o644 });
    spawnSync("chmod", ["755", folder]);
  });

  after(async () => {
    gateway?.kill("SIGKILL");
    keeper?.kill("SIGKILL");
    await until("the folder is free", () => {
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      return true;
    });
  });

  function inside(command: readonly string[], input = ""): SpawnSyncReturns<string> {
    const argv = [`--mount=/proc/${keeper.pid}/ns/mnt`, "--wd=/", "--", ...command];
    const env = {
      PATH: "/usr/sbin:/usr/bin:/sbin:/bin",
      HOME: "/root",
      DEBIAN_FRONTEND: "noninteractive",
      LC_ALL: "C",
    };
    return spawnSync("nsenter", argv, { encoding: "utf8", input, env });
  }

  function must(...command: readonly string[]): string {
    const done = inside(command);
    assert.equal(done.status, 0, `${command.join(" ")}: ${done.stdout}${done.stderr}`);
    return done.stdout;
  }

  const asGw = (...command: readonly string[]) =>
    inside(["setpriv", "--reuid=gw", "--regid=gw", "--init-groups", "env", "HOME=/var/lib/gw", ...command]);

  /** By the very command line, user and groups of the unit, since no systemd runs here. */
  async function startByUnit(notify: string): Promise<void> {
    const unit = must("cat", "/usr/lib/systemd/system/gw.service");
    const setting = (name: string): string => new RegExp(`^${name}=(.*)$`, "m").exec(unit)?.[1] ?? "";
    must(
      "install",
      "-d",
      "-o",
      setting("User"),
      "-g",
      setting("Group"),
      "-m",
      setting("RuntimeDirectoryMode"),
      "/run/gw",
    );
    const groups = ["getent", "group", ...setting("SupplementaryGroups").split(" ")];
    const ids = must(...groups)
      .trim()
      .split("\n")
      .map((line) => line.split(":")[2])
      .join(",");
    const drop = [
      "setpriv",
      `--reuid=${setting("User")}`,
      `--regid=${setting("Group")}`,
      `--groups=${ids}`,
      "--bounding-set=-all",
      "--no-new-privs",
    ];
    const environment = ["env", "-i", `NOTIFY_SOCKET=${notify}`];
    const argv = [
      `--mount=/proc/${keeper.pid}/ns/mnt`,
      "--wd=/",
      "--",
      ...drop,
      ...environment,
      ...setting("ExecStart").split(" "),
    ];
    gatewayErr = "";
    gateway = spawn("nsenter", argv, { stdio: ["ignore", "ignore", "pipe"] });
    gateway.stderr?.setEncoding("utf8").on("data", (text: string) => {
      gatewayErr += text;
    });
  }

  async function startAndWait(): Promise<void> {
    const manager = listenForNotices();
    try {
      await startByUnit(manager.name);
      await until(
        "the gateway is ready",
        () => {
          if (gateway?.exitCode !== null) assert.fail(gatewayErr);
          return manager.lines().includes("READY=1");
        },
        60_000,
      );
    } finally {
      manager.close();
    }
  }

  async function stop(): Promise<void> {
    const ended = new Promise((resolve) => gateway?.once("exit", resolve));
    gateway?.kill("SIGTERM");
    await ended;
    gateway = null;
  }

  test("checksums and the bill of materials are those of what was made", () => {
    const sums = readFileSync(join(folder, "out", "SHA256SUMS"), "utf8")
      .trim()
      .split("\n");
    assert.equal(sums.length, 2);
    for (const line of sums) {
      const [digest, name = ""] = line.split("  ");
      assert.equal(
        createHash("sha256")
          .update(readFileSync(join(folder, "out", name)))
          .digest("hex"),
        digest,
        name,
      );
    }
    const bill = JSON.parse(readFileSync(join(folder, "out", `gw-${versionOf(root)}.cdx.json`), "utf8")) as {
      readonly components: readonly { readonly name: string; readonly hashes: readonly unknown[] }[];
    };
    const names = bill.components.map(({ name }) => name);
    for (const name of ["node", "koffi", "undici", "yaml", "zod"]) assert.ok(names.includes(name), name);
    for (const name of ["typescript", "fastify", "fast-check"]) assert.ok(!names.includes(name), name);
    assert.ok(bill.components.every(({ hashes }) => hashes.length === 1));
  });

  test("it makes users, groups and private folders, brings manual and completion, and starts nothing", () => {
    const said = must("dpkg", "--no-triggers", "--install", deb);
    assert.match(said, /nothing was started/);
    assert.equal(must("gw", "--version").trim(), versionOf(root));
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
    assert.equal(inside(["pgrep", "-u", "gw"]).stdout, "");
  });

  test("the units are sound and closed", (context) => {
    if (inside(["systemd-analyze", "--version"]).status !== 0) {
      context.skip("systemd-analyze is not installed");
      return;
    }
    for (const unit of ["gw.service", "gw-ident.service"]) {
      const verified = inside(["systemd-analyze", "verify", "--man=no", `/usr/lib/systemd/system/${unit}`]);
      assert.deepEqual([verified.status, verified.stderr.replaceAll(/^(?!.*gw).*\n/gm, "")], [0, ""]);
      const exposed = inside([
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
    const made = asGw("gw", "init", "--operator", "ada", "--passphrase-file", ownPassphrase());
    assert.equal(made.status, 0, made.stderr);
    await startAndWait();
    const unlocked = asGw("gw", "unlock", "--first", "--passphrase-file", "/var/lib/gw/passphrase");
    assert.equal(unlocked.status, 0, unlocked.stderr);
    const status = asGw("gw", "status", "--json");
    assert.equal(status.status, 0, status.stderr);
    const capabilities = must("cat", `/proc/${String((JSON.parse(status.stdout) as { pid: number }).pid)}/status`);
    assert.match(capabilities, /^CapEff:\t0+$/m);
    assert.match(asGw("gw", "metrics").stdout, /^gw_locked 0$/m);
    assert.match(must("cat", "/var/lib/gw/format"), /^gw\.home\/v1 state \d+\n$/);
    await stop();
  });

  function ownPassphrase(): string {
    must("install", "-o", "gw", "-g", "gw", "-m", "0600", passphrase, "/var/lib/gw/passphrase");
    return "/var/lib/gw/passphrase";
  }
});

function versionOf(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { readonly version: string }).version;
}
