import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { type Change, changesOf } from "../scripts/mutants/change-code.ts";
import { explained, findExplained } from "../scripts/mutants/explained.ts";
import { breakRule } from "../scripts/mutants/find.ts";
import { heldBy } from "../scripts/mutants/held-by.ts";
import { findRoom } from "../scripts/mutants/room.ts";
import { mutants } from "../scripts/mutants/table.ts";
import { until } from "./support/home.ts";

const root = dirname(import.meta.dirname);

test("every rule that `npm run mutants` breaks still stands where its row says, exactly once, and its tests exist", () => {
  const lost = mutants.map((mutant) => breakRule(root, mutant)).filter((found) => typeof found === "string");
  assert.deepEqual(lost, []);
  const gone = mutants.flatMap(({ tests }) => tests).filter((file) => !existsSync(join(root, file)));
  assert.deepEqual(gone, []);
  const untitled = mutants
    .filter(
      ({ tests, title }) =>
        title !== undefined && !tests.some((file) => readFileSync(join(root, file), "utf8").includes(title)),
    )
    .map(({ title }) => title);
  assert.deepEqual(untitled, []);
  const rooms = Object.keys(heldBy).filter((room) => !existsSync(findRoom(root, room)));
  assert.deepEqual(rooms, []);
  const holding = Object.values(heldBy).flat();
  assert.deepEqual(
    holding.filter((file) => !existsSync(join(root, file))),
    [],
  );
  const named = mutants.map(({ rule }) => rule);
  assert.equal(new Set(named).size, named.length);
});

test("what is explained as no change of behaviour is still a change that a room's run would try", () => {
  const files = [...new Set(explained.map(({ file }) => file))];
  const tried = files.flatMap((file) => {
    const rowOf = (change: Change) => findExplained({ file, ...change });
    return changesOf(file, readFileSync(join(root, file), "utf8"), (change) => rowOf(change) !== undefined).map(rowOf);
  });
  assert.deepEqual(
    explained.filter((row) => !tried.includes(row)),
    [],
  );
});

test("small changes of a source are those that could be a mistake: no type, no name and no word of a message", () => {
  const source = `interface Limit { readonly most: 3 }
export function fits({ most }: Limit, used: number, words: string): boolean {
  if (!words.startsWith("a")) throw new Error("it does not begin with the letter a: " + words);
  return used < most && used as number >= 0;
}
`;
  const changes = changesOf("fits.ts", source);
  assert.deepEqual(
    changes.map(({ says }) => says),
    [
      '!words.startsWith("a") → true',
      '!words.startsWith("a") → false',
      '!words.startsWith("a") → words.startsWith("a")',
      "startsWith → endsWith",
      'throw new Error("it does not begin with the letter a: " +... → ;',
      "&& → ||",
      "< → <=",
      ">= → >",
      "0 → 1",
    ],
  );
  assert.deepEqual([...new Set(changes.map(({ line }) => line))], [3, 4]);
});

/** Also not while nobody has waited for it. */
function isRunning(pid: string): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  } catch {
    return false;
  }
}

test("npm run mutants -- ROOM names the changes that no test of the room notices, and only those, and leaves no loop behind when it is ended", async () => {
  const clone = mkdtempSync(join(tmpdir(), "gw-mutants-test-"));
  try {
    for (const part of ["src/room", "packages", "demo", "test", "packs", "docs", "bin"])
      mkdirSync(join(clone, part), { recursive: true });
    cpSync(join(root, "scripts"), join(clone, "scripts"), { recursive: true });
    for (const name of ["package.json", "package-lock.json", "tsconfig.json", "tsconfig.build.json", "README.md"])
      writeFileSync(join(clone, name), name === "package.json" ? '{ "type": "module" }' : "");
    symlinkSync(join(root, "node_modules"), join(clone, "node_modules"));
    writeFileSync(
      join(clone, "src", "room", "fits.ts"),
      "export const fits = (used: number) => used >= 0 && used < 3;\n",
    );
    const held = `import assert from "node:assert/strict"; import { test } from "node:test"; import { fits } from "./fits.ts";
test("fits", () => { assert.ok(fits(2) && !fits(3) && !fits(-1)); });`;
    writeFileSync(join(clone, "src", "room", "fits.test.ts"), held);
    const argv = ["--disable-warning=ExperimentalWarning", join(clone, "scripts", "mutants.ts"), "room"];
    const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
    assert.equal(status, 1, stderr);
    assert.deepEqual(stdout.split("\n").slice(0, -1), [
      "SURVIVED src/room/fits.ts:1: >= → >",
      "SURVIVED src/room/fits.ts:1: 0 → 1",
      "room: 3 of 5 noticed (60 %), of 5 that there are",
    ]);

    const told = join(clone, "looping");
    const loops = `import { writeFileSync } from "node:fs"; import { fits } from "./fits.ts";
if (fits(3)) { writeFileSync(${JSON.stringify(told)}, process.pid + "\\n", { flag: "a" }); for (;;); }`;
    writeFileSync(join(clone, "src", "room", "fits.test.ts"), loops);
    const tool = spawn(process.execPath, argv, { stdio: "ignore" });
    const ended = once(tool, "exit");
    await until("a change loops", () => existsSync(told) && readFileSync(told, "utf8").endsWith("\n"), 120_000);
    tool.kill("SIGTERM");
    await ended;
    const left = readFileSync(told, "utf8").trim().split("\n");
    await until("no loop is left", () => !left.some((pid) => isRunning(pid)));
  } finally {
    rmSync(clone, { recursive: true, force: true });
  }
});
