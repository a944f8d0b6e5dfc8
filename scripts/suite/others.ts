import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";

const TICKS_PER_S = 100;
/** Fields of the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal. */
const BUSY = [0, 1, 2, 5, 6, 7];
/** Of /proc/self/stat after the name: user and system time of this process, and of those that it waited for. */
const OWN = [11, 12, 13, 14];

/**
 * Which part of the machine's processors others had since this was called, 0 to 1: what was used, without what this process and those
 * that it started used. Null where the kernel does not say.
 */
export function watchOthers(): () => number | null {
  const begin = read();
  return () => {
    const end = read();
    if (begin === null || end === null) return null;
    const there = ((end.at - begin.at) / 1_000) * TICKS_PER_S * availableParallelism();
    return Math.max(0, (end.busy - begin.busy - (end.own - begin.own)) / there);
  };
}

function read(): { readonly at: number; readonly busy: number; readonly own: number } | null {
  try {
    const [machine = ""] = readFileSync("/proc/stat", "latin1").split("\n");
    const self = readFileSync("/proc/self/stat", "latin1");
    const sum = (fields: readonly string[], which: readonly number[]): number =>
      which.reduce((total, index) => total + Number(fields[index] ?? 0), 0);
    return {
      at: performance.now(),
      busy: sum(machine.split(/ +/).slice(1), BUSY),
      own: sum(self.slice(self.lastIndexOf(")") + 2).split(" "), OWN),
    };
  } catch {
    return null;
  }
}
