import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join, relative } from "node:path";

/**
 * The whole suite: checks first, then the tests. As root every `*.test.ts` runs as an unprivileged uid, because root sees
 * everything and would prove nothing; `*.host.test.ts` need the invoking user and run apart.
 */
const root = dirname(import.meta.dirname);
const UNPRIVILEGED = 64123;
const CONCURRENCY = 4;
/** More files than this are no accident of a crowded machine. */
const MOST_AGAIN = 8;
/** Those that start real programs and wait for them come first: begun last, they would keep one core for minutes. */
const LONG = /^test\/(crash|watch|e2e|attack|mcp|run|upgrade|conformance|demo|ssh)/;
const asRoot = process.getuid?.() === 0;
const only = process.argv.slice(2);

if (only.length === 0) must("npm", ["run", "--silent", "check"]);

const files = only.length > 0 ? only : listTests();
const plain = files.filter((file) => !file.endsWith(".host.test.ts"));
const host = files.filter((file) => file.endsWith(".host.test.ts"));

const here: Stand = { command: [], node: process.execPath, cwd: root, env: {} };
const failed = [runTests(plain, asRoot ? dropRoot() : here), runTests(host, here)].some((status) => status !== 0);
process.exit(failed ? 1 : 0);

interface Stand {
  readonly command: readonly string[];
  readonly node: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs the files together; those with a failure run once more, alone. What fails only beside others on a crowded machine is
 * named, what fails alone fails the run.
 */
function runTests(tests: readonly string[], stand: Stand): number {
  if (tests.length === 0) return 0;
  const list = join(mkdtempSync(join(tmpdir(), "gw-test-failed-")), "files");
  writeFileSync(list, "");
  chmodSync(dirname(list), 0o777);
  chmodSync(list, 0o666);
  const status = runFiles(tests, stand, CONCURRENCY, list);
  const failed = readFileSync(list, "utf8").split("\n").filter(Boolean);
  if (status === 0 || failed.length === 0 || failed.length > MOST_AGAIN) return status;
  console.error(
    `\nfailed beside the others, so they run once more alone:\n${failed.map((file) => `  ${file}`).join("\n")}\n`,
  );
  return runFiles(failed, stand, 1, null);
}

function runFiles(tests: readonly string[], stand: Stand, concurrency: number, failedList: string | null): number {
  const reporters =
    failedList === null
      ? []
      : [
          "--test-reporter=spec",
          "--test-reporter-destination=stdout",
          `--test-reporter=${join(import.meta.dirname, "failed-files.mjs")}`,
          `--test-reporter-destination=${failedList}`,
        ];
  const argv = [
    ...stand.command,
    stand.node,
    "--disable-warning=ExperimentalWarning",
    "--test",
    ...reporters,
    `--test-concurrency=${concurrency}`,
    "--test-timeout=240000",
    ...tests,
  ];
  const done = spawnSync(argv[0] ?? "", argv.slice(1), {
    cwd: stand.cwd,
    stdio: ["ignore", "inherit", "inherit"],
    env: { ...process.env, ...stand.env },
  });
  if (done.error) throw done.error;
  return done.status ?? 1;
}

/** Drops to an unprivileged uid; where that uid cannot reach the clone, in a private mount namespace that shows it elsewhere. */
function dropRoot(): Stand {
  const home = mkdtempSync(join(tmpdir(), "gw-test-home-"));
  spawnSync("chown", [`${UNPRIVILEGED}:${UNPRIVILEGED}`, home]);
  const env = {
    HOME: home,
    USER: "gw-test",
    LOGNAME: "gw-test",
    XDG_STATE_HOME: join(home, "state"),
    // Hundreds of processes load the same sources: their types are stripped once.
    NODE_COMPILE_CACHE: join(home, "compiled"),
  };
  const drop = ["setpriv", `--reuid=${UNPRIVILEGED}`, `--regid=${UNPRIVILEGED}`, "--clear-groups", "--"];
  const reach = spawnSync(drop[0] ?? "", [
    ...drop.slice(1),
    "test",
    "-r",
    join(root, "package.json"),
    "-a",
    "-x",
    process.execPath,
  ]);
  if (reach.status === 0) return { command: drop, node: process.execPath, cwd: root, env };
  const view = mkdtempSync(join(tmpdir(), "gw-test-view-"));
  const clone = join(view, basename(root));
  spawnSync("chmod", ["755", view]);
  mkdirSync(clone);
  mkdirSync(join(view, "shared"));
  const shared = join(dirname(root), "shared");
  const script = `mount --bind "$1" "$2" && { [ ! -d "$3" ] || mount --bind "$3" "$4"; } && cd "$2" && shift 4 && exec "$@"`;
  return {
    command: [
      "unshare",
      "--mount",
      "--propagation=private",
      "sh",
      "-c",
      script,
      "sh",
      root,
      clone,
      shared,
      join(view, "shared"),
      ...drop,
    ],
    node: join(clone, relative(root, process.execPath)),
    cwd: root,
    env,
  };
}

function listTests(): string[] {
  const found = ["src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .sort(),
  );
  return [...found.filter((file) => LONG.test(file)), ...found.filter((file) => !LONG.test(file))];
}

function must(command: string, args: readonly string[]): void {
  const done = spawnSync(command, args, { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
}
