// Runs on the Node that a fresh machine has (20 or newer): installs what is missing, then hands over to the pinned Node.
// Plain JavaScript on purpose: nothing of ours is installed yet when this starts.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { accessSync, constants, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pinned = join(root, "node_modules", "node", "bin", "node");
const stamp = join(root, "node_modules", ".setup-stamp");

const jobs = {
  install: { packages: [], run: null },
  start: { packages: [], run: ["--disable-sigusr1", "src/programs/start.ts"] },
  test: {
    packages: [
      { command: "/usr/sbin/sshd", debian: "openssh-server", for: "the SSH tests" },
      { command: "/usr/bin/sudo", debian: "sudo", for: "the test of a sudo rule" },
      { command: "/usr/bin/gh", debian: "gh", for: "the test of gh in a box" },
      { command: "/usr/bin/chromium", debian: "chromium", for: "the browser tests" },
      { command: "/usr/bin/bwrap", debian: "bubblewrap", for: "the tests of boxes that it makes" },
      { command: "/usr/bin/pg_createcluster", debian: "postgresql", for: "the hub tests, unless npm has a Postgres," },
    ],
    run: ["scripts/test.ts"],
  },
  bench: {
    packages: [
      { command: "/usr/sbin/sshd", debian: "openssh-server", for: "the SSH bench" },
      { command: "/usr/sbin/nginx", debian: "nginx-light", for: "the proxy peer of the call bench" },
    ],
    run: ["--expose-gc", "bench/run.ts"],
  },
  soak: { packages: [], run: ["scripts/soak.ts"] },
  mutants: { packages: [], run: ["scripts/mutants.ts"] },
  package: { packages: [], run: ["scripts/package.ts"] },
};

const name = process.argv[2] ?? "install";
const job = jobs[name];
if (job === undefined) {
  console.error(`setup: there is no job called ${name}; there are ${Object.keys(jobs).join(", ")}`);
  process.exit(2);
}
installNodePackages();
installDebianPackages(job.packages);
if (job.run !== null) {
  const flags = ["--disable-warning=ExperimentalWarning", ...job.run, ...process.argv.slice(3)];
  const given = name === "start" ? allowedEnvironment() : process.env;
  const env = { ...given, PATH: `${dirname(pinned)}:${join(root, "node_modules", ".bin")}:${process.env.PATH}` };
  const done = spawnSync(pinned, flags, { cwd: root, stdio: "inherit", env });
  if (done.error) throw done.error;
  process.exit(done.status ?? 1);
}

/** What a program that takes a passphrase may have of our environment: the launcher's list, and GW_*. */
function allowedEnvironment() {
  const allowed = readFileSync(join(root, "bin", "environment"), "latin1").split("\n");
  return Object.fromEntries(
    Object.entries(process.env).filter(([key]) => key.startsWith("GW_") || allowed.includes(key)),
  );
}

function installNodePackages() {
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .update(readFileSync(join(root, "bin", "node-digests.json")))
    .digest("hex");
  const present = existsSync(stamp) && existsSync(pinned) ? readFileSync(stamp, "utf8") : "";
  if (present === wanted) return;
  requireWritable();
  console.error("setup: installing the npm packages and the pinned Node (once)");
  run(
    "npm",
    ["ci", "--no-audit", "--no-fund", "--loglevel=error"],
    "Check that npm can reach its registry, then run the command again.",
  );
  checkPinnedNode();
  const version = spawnSync(pinned, ["--version"], { encoding: "utf8" });
  if (version.status !== 0) {
    fail(
      `the pinned Node at ${pinned} does not start: ${version.error?.message ?? version.stderr}`,
      "Remove node_modules and run the command again.",
    );
  }
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
}

function requireWritable() {
  try {
    accessSync(root, constants.W_OK);
  } catch {
    fail(
      `you cannot write to ${root}, so nothing can be installed there`,
      "Clone it to a folder of your own, or have whoever owns this one run the command once.",
    );
  }
}

/**
 * The npm package `node` fetches the Node of this platform without a hash in the lock file. Ours stand in bin/node-digests.json,
 * and what does not match is never started.
 */
function checkPinnedNode() {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const platform = `${process.platform}-${process.arch}`;
  const table = JSON.parse(readFileSync(join(root, "bin", "node-digests.json"), "utf8"));
  const digest = table[dependencies.node]?.[platform];
  if (digest === undefined) {
    fail(
      `no digest of Node ${dependencies.node} for ${platform} is known, so it was not started`,
      "Start bin/gw with a Node of your own (24.15 or newer), after removing node_modules/node.",
    );
  }
  const found = createHash("sha256").update(readFileSync(pinned)).digest("hex");
  if (found === digest) return;
  fail(
    `${pinned} is not the Node that this release names (sha256 ${found}, wanted ${digest}), and was not started`,
    "Remove node_modules and run the command again; if it stays so, somebody changed it on the way: tell us.",
  );
}

function installDebianPackages(packages) {
  const missing = packages.filter((entry) => !existsSync(entry.command));
  if (missing.length === 0) return;
  const names = missing.map((entry) => entry.debian).join(" ");
  const mayInstall = process.getuid?.() === 0 && existsSync("/usr/bin/apt-get");
  if (!mayInstall) {
    for (const entry of missing) {
      console.error(
        `setup: ${entry.debian} is absent, so ${entry.for} will be skipped (as root: apt-get install ${entry.debian})`,
      );
    }
    return;
  }
  console.error(`setup: installing Debian's ${names} (once; their services are not started)`);
  const policy = "/usr/sbin/policy-rc.d";
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  if (missing.some((entry) => entry.debian === "postgresql")) wantNoCluster();
  try {
    const quiet = {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", UCF_FORCE_CONFFOLD: "1" },
    };
    spawnSync("apt-get", ["update", "-qq"], quiet);
    const done = spawnSync(
      "apt-get",
      ["install", "-y", "-qq", "--no-install-recommends", ...missing.map((entry) => entry.debian)],
      quiet,
    );
    if (done.status !== 0) {
      for (const entry of missing)
        console.error(`setup: ${entry.debian} could not be installed, so ${entry.for} will be skipped`);
    }
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
}

/** The package would make a database of its own beside the programs; the tests make theirs where they run. */
function wantNoCluster() {
  const settings = "/etc/postgresql-common/createcluster.conf";
  if (existsSync(settings)) return;
  mkdirSync(dirname(settings), { recursive: true });
  writeFileSync(settings, "create_main_cluster = false\n");
}

function run(command, args, hint) {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", "ignore", "inherit"] });
  if (done.error || done.status !== 0) fail(`${command} ${args.join(" ")} failed`, hint);
}

function fail(what, hint) {
  console.error(`setup: ${what}. ${hint}`);
  process.exit(1);
}
