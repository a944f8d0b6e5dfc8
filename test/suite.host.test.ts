import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

/** The suite's own runner, started by root in a folder that no other user can enter. */
const root = join(import.meta.dirname, "..");
const asRoot = process.getuid?.() === 0 ? {} : { skip: "only root drops to another uid" };
const PARTS = [
  "bin",
  "demo",
  "packages",
  "packs",
  "package.json",
  "scripts",
  "src",
  "tsconfig.json",
  "tsconfig.build.json",
];
/** With these a run makes one file of its sources. */
const BUNDLERS = ["@esbuild", "@oxc-parser", "@oxc-project", "esbuild", "oxc-parser"];
/** As the kernel calls a file system in memory, and far more free memory than the suite wants for one. */
const TMPFS = 0x01021994;
const AMPLE_BYTES = 12_000_000_000;
const PROBE = `
import assert from "node:assert/strict";
import { existsSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { test } from "node:test";
import { isoTime } from "../src/kernel/clock.ts";
test("this runs without root and sees what stands beside the clone", () => {
  assert.notEqual(process.getuid(), 0);
  assert.equal(existsSync("../shared/there"), process.env.WITH_SHARED === "yes");
});
// Long enough to be looked at more than once, however quick the machine is.
if (process.env.COSTLY === "yes") while (process.cpuUsage().user + process.cpuUsage().system < 800_000);
// More than a pipe holds, and more than the runner has read when the process ends itself.
if (process.env.MANY !== undefined) for (let n = 1; n <= Number(process.env.MANY); n++) test("quick " + n, () => {});
if (process.env.IN_MEMORY === "yes") test("what it writes is in memory", () => assert.equal(statfsSync(tmpdir()).type, ${TMPFS}));
test("the program is the compiled product", () => assert.ok(existsSync(process.env.GW_PROGRAM)));
if (process.env.FAILING === "yes") test("fails", () => isoTime(NaN));
if (process.env.FLAKY === "yes") test("fails the first time", () => {
  const again = existsSync(process.env.HOME + "/failed");
  writeFileSync(process.env.HOME + "/failed", "");
  assert.ok(again);
});
`;

test("what a test file tells is written before it goes on, more than a pipe holds too, though it ends itself at once", () => {
  const first = `--import=${join(root, "scripts", "suite", "tell-all.ts")}`;
  const tell = 'process.stdout.write("x".repeat(4_000_000) + "end"); process.exit()';
  const { stdout } = spawnSync(process.execPath, [first, "-e", tell], { encoding: "utf8", maxBuffer: 8_000_000 });
  assert.deepEqual([stdout.length, stdout.slice(-3)], [4_000_003, "end"]);
});

test("in a folder that others cannot enter the suite runs, with and without shared data beside it", asRoot, (t) => {
  const folder = mkdtempSync(join(tmpdir(), "gw-suite-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const clone = join(folder, "clone");
  mkdirSync(join(clone, "test"), { recursive: true });
  // Beside the folder that nobody enters: other users run what the suite puts there.
  const temporary = mkdtempSync(join(tmpdir(), "gw-suite-tmp-"));
  chmodSync(temporary, 0o755);
  t.after(() => rmSync(temporary, { recursive: true, force: true }));
  for (const part of PARTS) cpSync(join(root, part), join(clone, part), { recursive: true });
  // Taken from the run that this is part of, which compiled it as these would; all of the packages are needed to compile one.
  const { GW_PROGRAM } = process.env;
  const made: Readonly<Record<string, string>> = GW_PROGRAM === undefined ? {} : { GW_TEST_PRODUCT: GW_PROGRAM };
  const packages = join(clone, "node_modules");
  mkdirSync(packages);
  for (const name of GW_PROGRAM === undefined ? readdirSync(join(root, "node_modules")) : BUNDLERS)
    assert.equal(spawnSync("cp", ["-a", join(root, "node_modules", name), packages]).status, 0, name);
  writeFileSync(join(clone, "test", "probe.test.ts"), PROBE);
  const run = (env: Readonly<Record<string, string>>, more: readonly string[] = []) =>
    spawnSync(process.execPath, ["scripts/test.ts", ...more, "test/probe.test.ts"], {
      cwd: clone,
      encoding: "utf8",
      env: { PATH: process.env["PATH"], TMPDIR: temporary, ...env },
    });

  const ample = process.availableMemory() > AMPLE_BYTES;
  const without = run({ ...made, COSTLY: "yes", ...(ample ? { IN_MEMORY: "yes" } : {}) }, ["--cost"]);
  assert.equal(without.status, 0, without.stdout + without.stderr);
  // A row for the file: what was spent in all and by each program, and from when to when.
  const row = /^((?: +[0-9]+\.[0-9])+) {2}test\/probe\.test\.ts$/m.exec(without.stdout);
  const [total = 0, test = 0, ...rest] = row?.[1]?.trim().split(/ +/).map(Number) ?? [];
  assert.ok(total >= test && test > 0 && (rest.at(-1) ?? 0) > (rest.at(-2) ?? 0), without.stdout);
  mkdirSync(join(folder, "shared"));
  writeFileSync(join(folder, "shared", "there"), "");
  const many = 3_000;
  const failing = run({ ...made, WITH_SHARED: "yes", FAILING: "yes", MANY: String(many) });
  assert.equal(failing.status, 1);
  assert.match(failing.stderr, /once more alone:\n {2}test\/probe\.test\.ts/);
  // Whatever a file tells before it ends itself has arrived, of the first run and of the one alone.
  const told = [...failing.stdout.matchAll(/✔ quick (\d+) /g)].map(([, n]) => Number(n));
  const each = Array.from({ length: many }, (_, n) => n + 1);
  assert.deepEqual(told, [...each, ...each]);
  assert.equal(failing.stdout.match(new RegExp(`pass ${many + 2}\n`, "g"))?.length, 2);
  // The sources are loaded as one file; a failure names the source and its line.
  const clock = readFileSync(join(clone, "src", "kernel", "clock.ts"), "utf8").split("\n");
  const line = clock.findIndex((text) => text.includes("toISOString()")) + 1;
  assert.ok(failing.stdout.includes(`${join(clone, "src", "kernel", "clock.ts")}:${line}:`), failing.stdout);

  // What passes alone is a race: it is named at the end, with what failed, and fails the run.
  const flaky = run({ ...made, WITH_SHARED: "yes", FLAKY: "yes", GW_TEST_STRICT: "1" });
  assert.match(flaky.stderr, /passed alone, failed beside the others.*\n {2}test\/probe\.test\.ts\n/);
  assert.match(flaky.stderr, /✖ fails the first time\n {4}AssertionError[\s\S]*this fails the run: others had/);
  assert.equal(flaky.status, 1);

  // A run leaves nothing behind.
  assert.deepEqual(readdirSync(temporary), []);
});
