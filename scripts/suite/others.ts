import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

export const TICKS_PER_S = 100;
const LOOK_MS = 2_000;
/** Fields of the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
const BUSY = [0, 1, 2, 5, 6, 7];

/** A process as /proc/PID/stat tells it. */
export interface Seen {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly session: number;
  readonly startedAt: number;
  /** User and system time of its own, and of those that it waited for. */
  readonly ticks: number;
  /** That part of it which is of those that it waited for. */
  readonly waited: number;
}

/** The machine at one moment: what it worked since it started, and who is there. */
export interface Look {
  readonly busy: number;
  readonly processes: readonly Seen[];
}

/**
 * Which part of the machine's processors others had since this was called, 0 to 1: what was used, without what this process and those
 * that it started used, however they left it. Null where the kernel does not say.
 */
export function watchOthers(): () => number | null {
  const beganAt = performance.now();
  const first = look();
  if (first === null) return () => null;
  const tally = countOthers(process.pid, first);
  let others = 0;
  const again = (): void => {
    const now = look();
    if (now !== null) others += tally(now);
  };
  const timer = setInterval(again, LOOK_MS).unref();
  return () => {
    clearInterval(timer);
    again();
    return others / (((performance.now() - beganAt) / 1_000) * TICKS_PER_S * availableParallelism());
  };
}

/** Told look after look; says what others worked since the look before. */
export function countOthers(self: number, first: Look): (now: Look) => number {
  let before = { busy: first.busy, ours: oursIn(first, self, new Map()) };
  return ({ busy, processes }) => {
    const ours = oursIn({ busy, processes }, self, before.ours);
    const there = (one: Seen): boolean => ours.get(one.pid)?.startedAt === one.startedAt;
    const gone = [...before.ours.values()].filter((one) => !there(one));
    // Whoever waited for one that ended has its time. Nobody has, where its parent went with it or it had none of ours.
    const unclaimed = gone.filter(({ parent }) => !ours.has(parent));
    const spent = sum(ours.values()) - sum(before.ours.values()) + sum(unclaimed);
    const worked = busy - before.busy;
    before = { busy, ours };
    return worked - Math.min(Math.max(spent, 0), worked);
  };
}

/** This process, whom it and its own started, and whoever was one of them once, or is led by one: such a process may have another parent now. */
function oursIn({ processes }: Look, self: number, before: ReadonlyMap<number, Seen>): ReadonlyMap<number, Seen> {
  const ours = new Map<number, Seen>();
  const led = ({ pid, group, session }: Seen): boolean =>
    [group, session].some((leader) => leader !== self && leader !== pid && (ours.has(leader) || before.has(leader)));
  // A parent may have the higher number: once more until nobody is found.
  for (let found = -1; found !== ours.size; ) {
    found = ours.size;
    for (const one of processes) {
      const known = before.get(one.pid)?.startedAt === one.startedAt;
      if (one.pid === self || known || ours.has(one.parent) || led(one)) ours.set(one.pid, one);
    }
  }
  return ours;
}

function sum(processes: Iterable<Seen>): number {
  return [...processes].reduce((total, { ticks }) => total + ticks, 0);
}

function look(): Look | null {
  try {
    const [machine = ""] = readFileSync("/proc/stat", "latin1").split("\n");
    const fields = machine.split(/ +/).slice(1).map(Number);
    const busy = BUSY.reduce((total, index) => total + (fields[index] ?? 0), 0);
    const pids = readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name));
    return { busy, processes: pids.flatMap((pid) => see(Number(pid))) };
  } catch {
    return null;
  }
}

/** None, if it has gone meanwhile. */
export function see(pid: number): readonly Seen[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // After its name, which may hold anything: state, parent, group, session; the four times; when it started.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const at = (index: number): number => Number(fields[index] ?? 0);
    const waited = at(13) + at(14);
    const ticks = at(11) + at(12) + waited;
    return [{ pid, parent: at(1), group: at(2), session: at(3), startedAt: at(19), ticks, waited }];
  } catch {
    return [];
  }
}
