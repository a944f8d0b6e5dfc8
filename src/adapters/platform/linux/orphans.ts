import { readdirSync, readFileSync } from "node:fs";
import { becomeSubreaper } from "./harden.ts";
import { loadLibc } from "./libc.ts";

const WNOHANG = 1;

/** Processes whose parents died and that came to this one, because it keeps them. */
export interface Orphans {
  /** How many live or unburied processes there are below this one, but for `own`. */
  count(own: number): number;
  close(): void;
}

/**
 * Keeps orphans below this process, so that a double fork does not lose its way home, and buries them when they end:
 * Node waits for the processes that it started itself and for no other. `own` is the one that it started.
 */
export function keepOrphans(own: () => number | undefined): Orphans {
  becomeSubreaper();
  const bury = (): void => {
    const status = Buffer.alloc(4);
    for (const pid of listChildren()) if (pid !== own()) loadLibc().waitpid(pid, status, WNOHANG);
  };
  process.on("SIGCHLD", bury);
  return {
    count(started) {
      bury();
      return listChildren().filter((pid) => pid !== started).length;
    },
    close: () => void process.off("SIGCHLD", bury),
  };
}

/** Empty where the kernel was built without the list: then orphans are buried when this process ends. */
function listChildren(): readonly number[] {
  const pids: number[] = [];
  for (const thread of readdirSync("/proc/self/task")) {
    try {
      const text = readFileSync(`/proc/self/task/${thread}/children`, "latin1");
      for (const pid of text.split(" ")) if (pid !== "") pids.push(Number(pid));
    } catch {
      // The thread ended, or the kernel has no such list.
    }
  }
  return pids;
}
