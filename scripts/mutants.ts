import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { breakRule } from "./mutants/find.ts";
import { type Mutant, mutants } from "./mutants/table.ts";

/**
 * Breaks one rule at a time in a scratch copy and runs the tests that hold it. `npm run mutants [WORDS]`: with words, only
 * the rules that have them in their name. The tests must pass unbroken first, or a failure would prove nothing.
 */
const TEST_MS = 600_000;
const root = dirname(import.meta.dirname);
const words = process.argv.slice(2).join(" ");
const chosen = mutants.filter(({ rule }) => rule.includes(words));
const lost = chosen.map((mutant) => breakRule(root, mutant)).filter((found) => typeof found === "string");
if (chosen.length === 0 || lost.length > 0) {
  console.error(chosen.length === 0 ? `mutants: no rule says "${words}"` : `mutants: ${lost.join("\nmutants: ")}`);
  process.exit(2);
}

const scratch = mkdtempSync(join(tmpdir(), "gw-mutants-"));
process.exitCode = 1;
try {
  for (const part of ["src", "test", "packs", "scripts", "docs", "bin", "package.json", "tsconfig.json"])
    cpSync(join(root, part), join(scratch, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(scratch, "node_modules"));
  const files = [...new Set(chosen.flatMap(({ tests }) => tests))];
  const broken = files.filter((file) => runTests([file]).failed.length > 0);
  if (broken.length > 0) console.error(`mutants: these fail with nothing broken: ${broken.join(", ")}`);
  else {
    const survived = chosen.filter((mutant) => survives(mutant));
    console.log(`${chosen.length - survived.length} of ${chosen.length} killed`);
    process.exitCode = survived.length === 0 ? 0 : 1;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

function survives(mutant: Mutant): boolean {
  const path = join(scratch, mutant.file);
  const before = readFileSync(path, "utf8");
  const found = breakRule(scratch, mutant);
  if (typeof found === "string") throw new Error(found);
  writeFileSync(path, found.source);
  const { failed } = runTests(mutant.tests);
  writeFileSync(path, before);
  console.log(`${failed.length > 0 ? "killed  " : "SURVIVED"} ${mutant.rule}`);
  for (const name of failed.slice(0, 3)) console.log(`           ${name}`);
  return failed.length === 0;
}

/** The names of the tests that fail, or what stands for them where the file did not even start. */
function runTests(tests: readonly string[]): { readonly failed: readonly string[] } {
  const flags = ["--disable-warning=ExperimentalWarning", "--test", "--test-reporter=tap"];
  const done = spawnSync(process.execPath, [...flags, ...tests], {
    cwd: scratch,
    encoding: "utf8",
    timeout: TEST_MS,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (done.status === 0) return { failed: [] };
  const names = [...done.stdout.matchAll(/^ *not ok \d+ - (.+)$/gm)].map(([, name]) => name ?? "");
  const own = names.filter((name) => !name.endsWith(".test.ts"));
  return { failed: own.length > 0 ? own : [done.error?.message ?? `exit ${done.status ?? done.signal}`] };
}
