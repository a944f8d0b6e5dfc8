import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { breakRule } from "./mutants/find.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { findRoom, runRoom } from "./mutants/room.ts";
import { makeScratch } from "./mutants/scratch.ts";
import { mutants } from "./mutants/table.ts";
import { compileProduct } from "./suite/product.ts";
import { ownStand, unprivilegedStand } from "./suite/stand.ts";

/**
 * Breaks one rule at a time in a scratch copy and runs the tests that hold it. `npm run mutants [WORDS]`: with words, only
 * the rules that have them in their name. The tests must pass unbroken first, or a failure would prove nothing. As root they
 * run as an unprivileged uid, like the whole suite, and start the programs of the copy.
 *
 * `npm run mutants -- ROOM [--most N] [TESTS]` tries small changes of a room's sources instead, against the room's own tests
 * and those of `mutants/held-by.ts`, or those that are named. A room is a folder or a file below `src`, or below `packages`.
 */
const TEST_MS = 600_000;
const root = dirname(import.meta.dirname);
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { most: { type: "string", default: "200" } },
});
const [room = "", ...tests] = positionals;
if (room !== "" && existsSync(findRoom(root, room)))
  process.exit((await runRoom(root, { room, most: Number(values.most), tests })) ? 0 : 1);
const words = positionals.join(" ");
const chosen = mutants.filter(({ rule }) => rule.includes(words));
const lost = chosen.map((mutant) => breakRule(root, mutant)).filter((found) => typeof found === "string");
if (chosen.length === 0 || lost.length > 0) {
  console.error(chosen.length === 0 ? `mutants: no rule says "${words}"` : `mutants: ${lost.join("\nmutants: ")}`);
  process.exit(2);
}

const { folder: scratch, remove } = makeScratch(root);
const unbroken = new Map<string, readonly string[]>();
process.exitCode = 1;
try {
  let killed = 0;
  for (const mutant of chosen) if (await isKilled(mutant)) killed++;
  console.log(`${killed} of ${chosen.length} killed`);
  process.exitCode = killed === chosen.length ? 0 : 1;
} finally {
  remove();
}

async function isKilled(mutant: Mutant): Promise<boolean> {
  const { tests, title, rule } = mutant;
  const name = [...tests, title].join(" ");
  const before = unbroken.get(name) ?? (await runTests(tests, title));
  unbroken.set(name, before);
  const failed = before.length > 0 ? before : await runBroken(mutant);
  const told = before.length > 0 ? "FAILS WITH NOTHING BROKEN" : failed.length > 0 ? "killed  " : "SURVIVED";
  console.log([`${told} ${rule}`, ...failed.slice(0, 3)].join("\n           "));
  return before.length === 0 && failed.length > 0;
}

async function runBroken(mutant: Mutant): Promise<readonly string[]> {
  const path = join(scratch, mutant.file);
  const before = readFileSync(path, "utf8");
  const found = breakRule(scratch, mutant);
  if (typeof found === "string") throw new Error(found);
  writeFileSync(path, found.source);
  try {
    return await runTests(mutant.tests, mutant.title);
  } finally {
    writeFileSync(path, before);
  }
}

/** The names of the tests that fail, or what stands for them where the file did not even start. */
async function runTests(tests: readonly string[], title: string | undefined): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), "gw-mutants-run-"));
  chmodSync(folder, 0o755);
  const compiled = tests.some((file) => file.startsWith("test/"));
  const product = compiled
    ? await compileProduct(scratch, join(folder, "product"))
    : { program: join(scratch, "bin", "gw") };
  // Like the suite: what needs several users runs as whoever started this, everything else without privileges.
  const own = process.getuid?.() !== 0 || tests.some((file) => file.endsWith(".host.test.ts"));
  const stand = own ? ownStand(scratch, product) : unprivilegedStand(scratch, product, folder);
  const argv = [
    ...stand.command,
    stand.node,
    "--disable-warning=ExperimentalWarning",
    `--import=${join(stand.clone, "scripts", "suite", "cheap-kdf.ts")}`,
    ...["--test", "--test-reporter=tap", "--test-force-exit"],
    ...(title === undefined ? [] : [`--test-name-pattern=${title.replaceAll(/[^\w ]/g, "\\$&")}`]),
    ...tests,
  ];
  const done = spawnSync(argv[0] ?? "", argv.slice(1), {
    cwd: scratch,
    encoding: "utf8",
    timeout: TEST_MS,
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, ...stand.env },
  });
  rmSync(folder, { recursive: true, force: true });
  // A test that was skipped proves nothing, neither before nor after.
  if (done.status === 0) return /^# pass 0$/m.test(done.stdout) ? ["no test ran"] : [];
  const names = [...done.stdout.matchAll(/^ *not ok \d+ - (.+)$/gm)].map(([, name]) => name ?? "");
  const failed = names.filter((name) => !name.endsWith(".test.ts"));
  return failed.length > 0 ? failed : [done.error?.message ?? `exit ${done.status ?? done.signal}`];
}
