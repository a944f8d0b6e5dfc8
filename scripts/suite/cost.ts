import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { type Seen, see, TICKS_PER_S } from "./others.ts";
import { measureOften } from "./yardstick.ts";

/**
 * What each test file spends, by program: the processor time of its own process and of all that it starts. The kernel tells of a
 * process only while it is there, so all are looked at again and again; what was too short to be seen, whoever waited for it knows.
 */
const LOOK_MS = 200;
const FILE = /(?:^|\/)((?:src|packages|demo|test)\/[\w./-]*\.test\.ts)$/;
/** These name test files too, and are none. */
const RUNNER = /scripts\/(suite\/run-files|test)\.ts$/;
const OF_NO_FILE = "the run itself";
const OF_MANY = "files that run together";
/** The programs of a test, known by their command line. */
const PROGRAMS: readonly (readonly [string, RegExp])[] = [
  ["commands", /fixtures\/commands\.mjs/],
  ["gateway", /programs\/gateway\./],
  ["gw", /programs\/gw\.|\/bin\/gw\b/],
  ["postgres", /postgres|initdb/],
  ["chromium", /chromium/],
  ["sshd", /sshd/],
];
const COLUMNS = ["test", ...PROGRAMS.map(([name]) => name), "other", "unseen"];

interface Known extends Seen {
  readonly file: string;
  readonly part: string;
  /** What was seen of those that it waited for; what it waited for beyond that was too short to be seen. */
  readonly seen: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Looks until it is asked what it saw: the lines of a table, the dearest file first. */
export function watchCost(): () => string {
  const began = performance.now();
  const yardstick = measureOften();
  const gone: Known[] = [];
  let known: ReadonlyMap<number, Known> = new Map();
  const again = (): void => {
    const there = readdirSync("/proc").flatMap((name) => (/^[0-9]+$/.test(name) ? see(Number(name)) : []));
    const now = follow(known, there, performance.now() - began);
    gone.push(...[...known.values()].filter((one) => now.get(one.pid)?.startedAt !== one.startedAt));
    known = now;
  };
  again();
  const timer = setInterval(again, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
    again();
    const had = ((performance.now() - began) / 1_000) * availableParallelism();
    return table([...gone, ...known.values()], had, yardstick());
  };
}

/** What is known after a look at all who are `there`: of this process, and of whom it and its own started. */
export function follow(
  before: ReadonlyMap<number, Known>,
  there: readonly Seen[],
  nowMs: number,
): ReadonlyMap<number, Known> {
  const numbers = new Map(there.map((one) => [one.pid, one.startedAt]));
  const seen = seenOf(before, (one) => numbers.get(one.pid) !== one.startedAt);
  const known = new Map<number, Known>();
  // Whoever starts another was there before.
  for (const one of there.toSorted((left, right) => left.startedAt - right.startedAt || left.pid - right.pid)) {
    const last = before.get(one.pid);
    const same = last?.startedAt === one.startedAt ? last : undefined;
    const starter = [one.parent, one.group, one.session].find((pid) => pid !== one.pid && known.has(pid));
    const self = one.pid === process.pid;
    if (same === undefined && starter === undefined && !self) continue;
    const words = self ? [] : commandOf(one.pid);
    const own = fileOf(words);
    const inherited = same?.file ?? known.get(starter ?? -1)?.file ?? OF_NO_FILE;
    // One that has ended has no command line any more.
    const part = words.length === 0 ? (same?.part ?? "other") : own === undefined ? partOf(words.join(" ")) : "test";
    known.set(one.pid, {
      ...one,
      file: own ?? inherited,
      part,
      seen: same === undefined ? 0 : (seen.get(one.pid) ?? 0),
      firstMs: same?.firstMs ?? nowMs,
      lastMs: nowMs,
    });
  }
  return known;
}

/** What was seen of those that ended goes to whoever waited for them; where that one ended with them, to who waited for that one. */
function seenOf(before: ReadonlyMap<number, Known>, ended: (one: Known) => boolean): ReadonlyMap<number, number> {
  const seen = new Map([...before].map(([pid, one]) => [pid, one.seen]));
  // From the youngest. Counted from the start, as one may go between the look at whoever waits for it and the look at itself.
  for (const one of [...before.values()].reverse()) {
    const own = one.ticks + Math.max(0, (seen.get(one.pid) ?? 0) - one.waited);
    const waiting = seen.get(one.parent);
    if (ended(one) && waiting !== undefined) seen.set(one.parent, waiting + own);
  }
  return seen;
}

/** What it waited for, and nobody saw. */
export function unseenBy({ waited, seen }: Known): number {
  return Math.max(0, waited - seen);
}

function fileOf(words: readonly string[]): string | undefined {
  const runner = words.findIndex((word) => RUNNER.test(word));
  if (runner === -1) return FILE.exec(words.at(-1) ?? "")?.[1];
  // After the runner stands where it tells what failed, then how it runs them.
  return words[runner + 2] === "together" ? OF_MANY : undefined;
}

function commandOf(pid: number): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8")
      .split(/\0+/)
      .filter((word) => word !== "");
  } catch {
    return [];
  }
}

function partOf(command: string): string {
  return PROGRAMS.find(([, words]) => words.test(command))?.[0] ?? "other";
}

function table(processes: readonly Known[], had: number, yardstickMs: number): string {
  const files = Map.groupBy(processes, ({ file }) => file);
  const rows = [...files].map(([file, own]) => {
    const spent = new Map(COLUMNS.map((name) => [name, 0]));
    const add = (part: string, ticks: number): unknown => spent.set(part, (spent.get(part) ?? 0) + ticks);
    for (const one of own) {
      add(one.part, one.ticks - one.waited);
      add("unseen", unseenBy(one));
    }
    const from = Math.min(...own.map(({ firstMs }) => firstMs));
    const to = Math.max(...own.map(({ lastMs }) => lastMs));
    const total = [...spent.values()].reduce((sum, ticks) => sum + ticks, 0);
    return { file, total, from, to, spent: [...spent.values()] };
  });
  const seconds = (value: number): string => value.toFixed(1).padStart(9);
  const head = ["total", ...COLUMNS, "from", "to"].map((name) => name.padStart(9)).join("");
  const lines = rows
    .sort((one, other) => other.total - one.total)
    .map(({ file, total, from, to, spent }) => {
      const worked = [total, ...spent].map((ticks) => seconds(ticks / TICKS_PER_S));
      return `${worked.join("")}${[from, to].map((ms) => seconds(ms / 1_000)).join("")}  ${file}`;
    });
  const all = rows.reduce((sum, { total }) => sum + total, 0) / TICKS_PER_S;
  return [
    "",
    "processor seconds a file, by program, and when it ran",
    head,
    ...lines,
    `${seconds(all)}  in all, of ${had.toFixed(1)} that the processors had`,
    `${seconds(yardstickMs)}  milliseconds took a fixed piece of work meanwhile (median): set the seconds of two runs against each other by it`,
    "",
  ].join("\n");
}
