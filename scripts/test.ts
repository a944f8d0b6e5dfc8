import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { compileProduct } from "./suite/product.ts";
import { ownStand, type Stand, unprivilegedStand } from "./suite/stand.ts";

/**
 * The whole suite: checks first, then the tests. As root every `*.test.ts` runs as an unprivileged uid, because root sees
 * everything and would prove nothing; `*.host.test.ts` need the invoking user and run in a group of their own.
 */
const root = dirname(import.meta.dirname);
const CONCURRENCY = 4;
/** Beside those: tests of whole machines wait more than they work. */
const HOST_CONCURRENCY = 2;
/** More files than this are no accident of a crowded machine. */
const MOST_AGAIN = 8;
/** Those that start real programs and wait for them come first: begun last, they would keep one core for minutes. */
const LONG =
  /^(packages|test\/(attack|audit|conformance|console|contain|crash|demo|e2e|fault|mcp|readme|reverse|run|ssh|upgrade|watch))/;
/** These leave their process as they found it, so that one runs them all; but for the one that wants a key derivation of its own. */
const PURE = /^src\/(audit|console|conventions|gateway|hub|kernel|reference|surfaces|vault)\/(?!kdf\.test)/;
type Out = "inherit" | number;
const asRoot = process.getuid?.() === 0;
const only = process.argv.slice(2);

if (only.length === 0) must("npm", ["run", "--silent", "check"]);

const files = only.length > 0 ? only.map((file) => relative(root, join(process.cwd(), file))) : listTests();
const plain = files.filter((file) => !file.endsWith(".host.test.ts"));
const host = files.filter((file) => file.endsWith(".host.test.ts"));

const product = await compileProduct(root);
const own = ownStand(root, product);
const stand = asRoot ? unprivilegedStand(root, product) : own;
const later = { pure: tellLater(), host: tellLater() };
const rounds = [
  runTogether(
    plain.filter((file) => !PURE.test(file)),
    stand,
    [`--test-concurrency=${CONCURRENCY}`],
  ),
  runTogether(
    plain.filter((file) => PURE.test(file)),
    stand,
    ["--test-isolation=none"],
    later.pure.place,
  ),
  runTogether(host, own, [`--test-concurrency=${HOST_CONCURRENCY}`], plain.length > 0 ? later.host.place : "inherit"),
] as const;
// All groups have ended before a file of one runs again.
const [others, pure, hosts] = await Promise.all(rounds);
for (const { tell } of Object.values(later)) tell();
const failed = [await runAgain(others, stand), await runAgain(pure, stand), await runAgain(hosts, own)].some(
  (status) => status !== 0,
);
stand.remove();
product.remove();
process.exit(failed ? 1 : 0);

/** Lines of what runs beside others: told in one piece when those are through, so that nobody's stand among another's. */
function tellLater(): { readonly place: number; tell(): void } {
  const folder = mkdtempSync(join(tmpdir(), "gw-test-told-"));
  const file = join(folder, "lines");
  const place = openSync(file, "w");
  const tell = (): void => {
    closeSync(place);
    process.stdout.write(readFileSync(file));
    rmSync(folder, { recursive: true });
  };
  return { place, tell };
}

/** How a group ended, and which of its files are worth a second try. */
interface Round {
  readonly status: number;
  readonly again: readonly string[];
}

async function runTogether(
  tests: readonly string[],
  where: Stand,
  together: readonly string[],
  out: Out = "inherit",
): Promise<Round> {
  if (tests.length === 0) return { status: 0, again: [] };
  const list = join(mkdtempSync(join(tmpdir(), "gw-test-failed-")), "files");
  writeFileSync(list, "");
  chmodSync(dirname(list), 0o777);
  chmodSync(list, 0o666);
  const reporters = [
    "--test-reporter=spec",
    "--test-reporter-destination=stdout",
    `--test-reporter=${join(where.clone, "scripts", "suite", "failed-files.ts")}`,
    `--test-reporter-destination=${list}`,
  ];
  const status = await runFiles(tests, where, [...together, ...reporters], out);
  // A test may run in a clone of its own: its file is known by the end of its path. What is not known at all stays failed.
  const told = readFileSync(list, "utf8").split("\n").slice(0, -1);
  const known = told.map((path) => tests.find((file) => path.endsWith(`/${file}`)));
  const again = [...new Set(known.filter((file) => file !== undefined))];
  return { status, again: known.includes(undefined) || again.length > MOST_AGAIN ? [] : again };
}

/**
 * Files with a failure run once more, alone. What fails only beside others on a crowded machine is named, what fails alone fails the
 * run; with GW_TEST_STRICT=1 both do.
 */
async function runAgain({ status, again }: Round, where: Stand): Promise<number> {
  if (status === 0 || again.length === 0) return status;
  console.error(
    `\nfailed beside the others, so they run once more alone:\n${again.map((file) => `  ${file}`).join("\n")}\n`,
  );
  const alone = await runFiles(again, where, ["--test-concurrency=1"], "inherit");
  if (alone === 0)
    console.error(`\npassed alone, failed beside the others (a fault to look for):\n  ${again.join("\n  ")}\n`);
  return process.env["GW_TEST_STRICT"] === "1" ? status : alone;
}

async function runFiles(tests: readonly string[], where: Stand, how: readonly string[], out: Out): Promise<number> {
  const argv = [
    ...where.command,
    where.node,
    "--disable-warning=ExperimentalWarning",
    `--import=${join(where.clone, "scripts", "suite", "cheap-kdf.ts")}`,
    "--test",
    ...how,
    "--test-timeout=240000",
    // A failed test may leave something open, and must not keep the whole run waiting for it.
    "--test-force-exit",
    ...tests,
  ];
  const env = { ...process.env, ...where.env };
  const child = spawn(argv[0] ?? "", argv.slice(1), { cwd: root, stdio: ["ignore", out, out], env });
  const [status] = (await once(child, "exit")) as [number | null];
  return status ?? 1;
}

function listTests(): string[] {
  const found = ["src", "packages", "test"].flatMap((folder) =>
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
