import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative } from "node:path";
import { type Change, changesOf } from "./change-code.ts";
import { findExplained } from "./explained.ts";
import { heldBy } from "./held-by.ts";
import { makeScratch, type Scratch } from "./scratch.ts";

/** A change that loops for ever is noticed as well: by then the tests would have ended many times over, on however busy a machine. */
const LEAST_MS = 60_000;
const TIMES_AS_LONG = 5;
const FAILED = /^ *not ok (?!.*# TODO)/;

export interface RoomOptions {
  /** A folder or a file below `src`, such as `conventions/plan`, or the sources of a package, such as `packages/request/src`. */
  readonly room: string;
  /** How many changes are tried; which ones they are depends on the sources alone. */
  readonly most: number;
  /** The tests that hold the room; where nothing is named, its own and those of `held-by.ts`. */
  readonly tests: readonly string[];
}

interface Tried extends Change {
  readonly file: string;
}

/** Tests that run in one process, and how long they may take. */
interface Group {
  readonly tests: readonly string[];
  readonly mostMs: number;
}

const running = new Set<ChildProcess>();

/** Tries small changes of a room's sources, one at a time, and prints those that no test notices. True where there are none. */
export async function runRoom(root: string, { room, most, tests }: RoomOptions): Promise<boolean> {
  const files = listSources(findRoom(root, room)).map((file) => relative(root, file));
  const own = files.filter((file) => file.endsWith(".test.ts"));
  const across = (heldBy[room] ?? []).map((file) => [file]);
  const held = tests.length > 0 ? [tests] : own.length > 0 ? [own, ...across] : across;
  const sources = files.filter((file) => !file.endsWith(".test.ts"));
  if (sources.length === 0 || held.length === 0) throw new Error(`${room}: no sources, or no tests that hold them`);
  const all = sources.flatMap((file) =>
    changesOf(file, readFileSync(join(root, file), "utf8")).map((change): Tried => ({ file, ...change })),
  );
  const open = all.filter((change) => findExplained(change) === undefined);
  const chosen = open.sort((a, b) => (lot(a) < lot(b) ? -1 : 1)).slice(0, most);
  // A change that loops for ever would go on after a run that somebody gives up.
  process.once("exit", () => {
    for (const child of running) endGroup(child);
  });
  const scratches = Array.from({ length: availableParallelism() }, () => makeScratch(root));
  try {
    const groups: Group[] = [];
    for (const tests of held) {
      const startMs = performance.now();
      if (await isNoticed(scratches[0] as Scratch, { tests, mostMs: 0 }))
        throw new Error(`${room}: its tests fail with nothing changed: ${tests.join(" ")}`);
      groups.push({ tests, mostMs: Math.max(LEAST_MS, TIMES_AS_LONG * (performance.now() - startMs)) });
    }
    const survivors: Tried[] = [];
    const queue = [...chosen];
    const work = async (scratch: Scratch): Promise<void> => {
      for (let next = queue.pop(); next !== undefined; next = queue.pop())
        if (!(await isNoticedIn(scratch, next, groups))) survivors.push(next);
    };
    await Promise.all(scratches.map(work));
    for (const { file, line, says } of survivors.sort(byPlace)) console.log(`SURVIVED ${file}:${line}: ${says}`);
    const noticed = chosen.length - survivors.length;
    const share = Math.round((100 * noticed) / Math.max(1, chosen.length));
    const explained = all.length - open.length;
    const told = explained === 0 ? "" : `, ${explained} of them explained in scripts/mutants/explained.ts`;
    console.log(`${room}: ${noticed} of ${chosen.length} noticed (${share} %), of ${all.length} that there are${told}`);
    return survivors.length === 0;
  } finally {
    for (const scratch of scratches) scratch.remove();
  }
}

async function isNoticedIn(
  scratch: Scratch,
  { file, start, end, becomes }: Tried,
  groups: readonly Group[],
): Promise<boolean> {
  const path = join(scratch.folder, file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, source.slice(0, start) + becomes + source.slice(end));
  try {
    for (const group of groups.flatMap((one) => nearestFirst(one, file)))
      if (await isNoticed(scratch, group)) return true;
    return false;
  } finally {
    writeFileSync(path, source);
  }
}

/** The test that stands beside the changed file notices most, and alone it is soon done. */
function nearestFirst({ tests, mostMs }: Group, file: string): readonly Group[] {
  const beside = file.replace(/\.ts$/, ".test.ts");
  if (tests.length < 2 || !tests.includes(beside)) return [{ tests, mostMs }];
  return [
    { tests: [beside], mostMs },
    { tests: tests.filter((test) => test !== beside), mostMs },
  ];
}

/** Whether a test fails, or is not done after `mostMs`; 0 for as long as it takes. The first that fails ends them. */
function isNoticed({ folder }: Scratch, { tests, mostMs }: Group): Promise<boolean> {
  const how = ["--disable-warning=ExperimentalWarning", "--max-old-space-size=1024", "--test", "--test-isolation=none"];
  const told = ["--test-reporter=tap", "--test-force-exit"];
  const argv = [...how, `--import=${join(folder, "scripts", "suite", "cheap-kdf.ts")}`, ...told, ...tests];
  const child = spawn(process.execPath, argv, {
    cwd: folder,
    stdio: ["ignore", "pipe", "ignore"],
    // All but the changed file was read and stripped of its types before.
    env: { ...process.env, NODE_COMPILE_CACHE: join(folder, "compiled"), TMPDIR: mkdtempSync(join(folder, "t")) },
    detached: true,
    timeout: Math.ceil(mostMs),
    killSignal: "SIGKILL",
  });
  running.add(child);
  let line = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    const lines = (line + text).split("\n");
    line = lines.pop() ?? "";
    if (lines.some((one) => FAILED.test(one))) endGroup(child);
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => {
      running.delete(child);
      endGroup(child);
      resolve(code !== 0);
    });
  });
}

/** With the programs that its tests started: what is ended in the middle cannot end them. */
function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** The order in which survivors are told: workers find them in any. */
function byPlace(a: Tried, b: Tried): number {
  return a.file.localeCompare(b.file) || a.start - b.start || a.says.localeCompare(b.says);
}

/** The order in which changes are drawn: spread over the room, and the same in every run. */
function lot({ file, start, becomes }: Tried): string {
  return createHash("sha256").update(`${file} ${start} ${becomes}`).digest("hex");
}

/** Where a room is: below `src`, or below the root where a package is named. */
export function findRoom(root: string, room: string): string {
  return join(root, room.startsWith("packages/") ? "" : "src", room);
}

function listSources(folder: string): readonly string[] {
  if (!statSync(folder).isDirectory()) {
    const test = folder.replace(/\.ts$/, ".test.ts");
    return existsSync(test) ? [folder, test] : [folder];
  }
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}
