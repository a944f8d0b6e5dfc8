import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { watchCost } from "./suite/cost.ts";
import { fetchPostgres } from "./suite/embedded-postgres.ts";
import { keepInMemory } from "./suite/memory.ts";
import { makeOneFile } from "./suite/one-file.ts";
import { watchOthers } from "./suite/others.ts";
import { compileProduct } from "./suite/product.ts";
import type { Failure } from "./suite/run-files.ts";
import { ownStand, type Stand, unprivilegedStand } from "./suite/stand.ts";

/**
 * The whole suite: the tests, and the checks beside them. As root every `*.test.ts` runs as an unprivileged uid, because root sees
 * everything and would prove nothing; `*.host.test.ts` need the invoking user and run in a group of their own.
 */
const root = dirname(import.meta.dirname);
/** Each starts programs of its own: five of them beside three kept sixteen processes waiting for two processors, and every limit near. */
const CONCURRENCY = 3;
/** Beside those: tests of whole machines. */
const HOST_CONCURRENCY = 3;
/** In the place of those, when they are through. */
const LEFT_CONCURRENCY = 2;
/** More files than this are no accident of a crowded machine. */
const MOST_AGAIN = 8;
/** With so much of the machine in the hands of others it is crowded, and what passes alone is forgiven. */
const CROWDED = 0.25;
/** The dearest first, then what starts real programs and waits for them: begun last, they would keep one core for minutes. */
const DEAREST = [
  ...["package-debian.host", "package.host", "dedicated.host", "hub-adopt.host", "suite.host", "hub-console.host"],
  ...["hub.host", "hub-fleet.host", "hub-turns.host", "demo.host"],
  ...[
    "crash-steps",
    "console",
    "console-work",
    "console-home",
    "e2e-restore",
    "contain-programs",
    "attack-rollback",
    "caller-identity",
    "watch-operations",
    "watch-terminal",
    "e2e-up",
    "mcp-clients",
    "client-mirror",
    "supply-chain",
  ],
].map((name) => `test/${name}.test.ts`);
const LONG =
  /^(packages\/\w+\/test|test\/(attack|audit|caller|console|contain|crash|demo|e2e|fault|hub|mcp|package|readme|reverse|run|ssh|upgrade|watch))/;
/** These leave their process as they found it, so that one runs them all; but for the one that wants a key derivation of its own. */
const PURE = /^(src\/(audit|console|conventions|gateway|hub|kernel|surfaces|vault)|packages\/\w+\/src)\/(?!kdf\.test)/;
/** As do these, which ask the machine, a store or a listener, and are done sooner than a process of their own would have started. */
const SMALL =
  /^(src\/(adapters\/(platform\/((examine|group-members|local-sources)\.|macos\/|linux\/((connection|evidence|interpreter|waiting)\.|image\/(?!inspect)))|store|transport\/ssh)|programs\/(?!daemon\/stop-on-signal)|receiver)\/?|demo\/host\/find-key|test\/(audit-vectors|conventions|docs-requests|house|mutants|package-bytes|suite-(cost|digest|others|together)|threat-model))/;
/** As do these, with gateways and providers within it: alone, each would spend a third of its time on its start. */
const WITHIN =
  /^(packages\/\w+\/test\/(?!crash|packed)|src\/adapters\/transport\/http\/(?!connections|tls)|test\/(agent-door|audit-(faults|journals|log)|fault-matrix|gateway-|mcp-(?!clients|conformance)|pack-import|packs|reverse-properties|upgrade-(?!cli|live|narrow|trust)))/;
/** What tests make is gone at once: room for it, and a tenth of the time of the files that run together is not spent on collecting it. */
const ROOMY = "--max-semi-space-size=64";
/** The check runs it. */
const CHECKED = "test/architecture.test.ts";
const GIVE_UP_MS = 15_000;
/** Says at the end what each file cost. */
const COST = "--cost";
type Out = "inherit" | number;
const asRoot = process.getuid?.() === 0;
const only = process.argv.slice(2).filter((word) => word !== COST);
/** Who asks what a file costs is told of that file. */
const alone = only.length > 0 && process.argv.includes(COST);
const together = (file: string): boolean => !alone && (PURE.test(file) || WITHIN.test(file) || SMALL.test(file));

/** Everything that the run itself writes; gone when it ends, however that is. */
const folder = mkdtempSync(join(tmpdir(), "gw-suite-"));
chmodSync(folder, 0o755);
// What is made here is for other users to read.
process.umask(0o022);
process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
const running = new Map<ChildProcess, Promise<unknown>>();
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, giveUp);

const files = only.length > 0 ? only.map((file) => relative(root, join(process.cwd(), file))) : listTests();
const plain = files.filter((file) => !file.endsWith(".host.test.ts"));
const host = files.filter((file) => file.endsWith(".host.test.ts"));

// Where Debian has none, the hub's tests have one of their own.
if (host.some((file) => file.includes("/hub")) && !existsSync("/usr/lib/postgresql")) fetchPostgres();

const shareOfOthers = watchOthers();
const costs = process.argv.includes(COST) ? watchCost() : () => "";
const later = {
  check: tellLater("check"),
  together: tellLater("together"),
  beside: tellLater("beside"),
  host: tellLater("host"),
  left: tellLater("left"),
};
const checked =
  only.length > 0 ? Promise.resolve(0) : start(["npm", "run", "--silent", "check"], later.check.place, process.env);
const oneFile = join(folder, "one-file");
mkdirSync(oneFile);
const [product] = await Promise.all([compileProduct(root, join(folder, "product")), makeOneFile(root, files, oneFile)]);
const own = ownStand(root, product);
const stand = asRoot ? unprivilegedStand(root, product, folder) : own;
const single = plain.filter((file) => !together(file));
const left = host.length > 0 ? atTheEnd(single) : [];
const machines = runTogether(host, own, String(HOST_CONCURRENCY), plain.length > 0 ? later.host.place : "inherit");
const first = runTogether(
  single.filter((file) => !left.includes(file)),
  stand,
  String(CONCURRENCY),
);
const rounds = [
  first,
  // Where the machines were until now is room for a part of what would be left for the end.
  Promise.race([machines, first]).then(() => runTogether(left, stand, String(LEFT_CONCURRENCY), later.left.place)),
  runTogether(inTurns(0), stand, "together", later.together.place),
  runTogether(inTurns(1), stand, "together", later.beside.place),
  machines,
] as const;
// All groups have ended before a file of one runs again.
const [apart, behind, joint, beside, hosts] = await Promise.all(rounds);
const check = await checked;
const share = shareOfOthers();
const cost = costs();
for (const { tell } of Object.values(later)) tell();
const ended = [
  await runAgain(apart, stand),
  await runAgain(behind, stand),
  await runAgain(joint, stand),
  await runAgain(beside, stand),
  await runAgain(hosts, own),
];
for (const line of ended.flatMap(({ says }) => says)) console.error(line);
if (cost !== "") console.log(cost);
if (check !== 0) console.error("\nnpm run check failed: its lines stand above\n");
process.exit(check === 0 && ended.every(({ status }) => status === 0) ? 0 : 1);

/** Lines of what runs beside others: told in one piece when those are through, so that nobody's stand among another's. */
function tellLater(name: string): { readonly place: number; tell(): void } {
  const file = join(folder, `${name}.lines`);
  const place = openSync(file, "w");
  const tell = (): void => {
    closeSync(place);
    process.stdout.write(readFileSync(file));
  };
  return { place, tell };
}

/** One process for all that run together would be at it when all others are through: it has one of the processors at most. */
function inTurns(which: 0 | 1): readonly string[] {
  return plain.filter(together).filter((_, at) => at % 2 === which);
}

/** Every other file of the last quarter: as much as two can do while three do what is between. */
function atTheEnd(all: readonly string[]): readonly string[] {
  return all.slice(Math.ceil((all.length * 3) / 4)).filter((_, at) => at % 2 === 0);
}

/** How a group ended, what failed in it, and which of its files are worth a second try. */
interface Round {
  readonly status: number;
  readonly failures: readonly Failure[];
  readonly again: readonly string[];
}

async function runTogether(
  tests: readonly string[],
  where: Stand,
  atOnce: string,
  out: Out = "inherit",
): Promise<Round> {
  if (tests.length === 0) return { status: 0, failures: [], again: [] };
  const list = join(mkdtempSync(join(folder, "failed-")), "list");
  writeFileSync(list, "[]");
  chmodSync(dirname(list), 0o755);
  chmodSync(list, 0o666);
  const program = join(where.clone, "scripts", "suite", "run-files.ts");
  const before = ["tell-all.ts", "cheap-kdf.ts", "from-one-file.ts"].map(
    (name) => `--import=${join(where.clone, "scripts", "suite", name)}`,
  );
  const flags = ["--disable-warning=ExperimentalWarning", ROOMY, ...before];
  const node = [...keepInMemory(), ...where.command, where.node, ...flags];
  const env = { ...process.env, ...where.env, GW_TEST_ONE_FILE: oneFile };
  const status = await start([...node, program, list, atOnce, ...tests], out, env);
  // A test may run in a clone of its own: its file is known by the end of its path. What is not known at all stays failed.
  const failures = JSON.parse(readFileSync(list, "utf8")) as readonly Failure[];
  const known = failures.map((failure) => tests.find((file) => `/${failure.file}`.endsWith(`/${file}`)));
  const again = [...new Set(known.filter((file) => file !== undefined))];
  return { status, failures, again: known.includes(undefined) || again.length > MOST_AGAIN ? [] : again };
}

/**
 * Files with a failure run once more, alone. What fails only beside others is a race: it is named at the end with what failed, and
 * fails the run, unless others crowded the machine meanwhile. With GW_TEST_STRICT=1 it always does.
 */
async function runAgain(round: Round, where: Stand): Promise<{ readonly status: number; says: readonly string[] }> {
  const { status, failures, again } = round;
  if (status === 0 || again.length === 0) return { status, says: [] };
  const named = again.map((file) => `  ${file}`).join("\n");
  console.error(`\nfailed beside the others, so they run once more alone:\n${named}\n`);
  const alone = await runTogether(again, where, "1");
  if (alone.status !== 0) return { status, says: [] };
  const forgiven = process.env["GW_TEST_STRICT"] !== "1" && share !== null && share > CROWDED;
  const percent = share === null ? "an unknown part" : `${Math.round(share * 100)} %`;
  return {
    status: forgiven ? 0 : status,
    says: [
      `\npassed alone, failed beside the others (a fault to look for):\n${named}`,
      ...failures.map(({ test, error }) => `\n  ✖ ${test}\n${error.replaceAll(/^/gm, "    ")}`),
      `\n${forgiven ? "forgiven" : "this fails the run"}: others had ${percent} of the processors meanwhile\n`,
    ],
  };
}

async function start(argv: readonly string[], out: Out, env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(argv[0] ?? "", argv.slice(1), { cwd: root, stdio: ["ignore", out, out], env });
  const exit = once(child, "exit") as Promise<[number | null]>;
  running.set(child, exit);
  const [status] = await exit;
  running.delete(child);
  return status ?? 1;
}

/** What runs is ended before its folder goes, or it would write there again. */
async function giveUp(): Promise<void> {
  for (const child of running.keys()) child.kill();
  await Promise.race([Promise.allSettled(running.values()), sleep(GIVE_UP_MS)]);
  process.exit(1);
}

function listTests(): string[] {
  const found: readonly string[] = ["src", "packages", "demo", "test"].flatMap((name) =>
    readdirSync(join(root, name), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(".test.ts"))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((file) => file !== CHECKED)
      .sort(),
  );
  const dear = DEAREST.filter((file) => found.includes(file));
  const others = found.filter((file) => !dear.includes(file));
  return [...dear, ...others.filter((file) => LONG.test(file)), ...others.filter((file) => !LONG.test(file))];
}
