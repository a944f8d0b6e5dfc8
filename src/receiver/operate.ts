import { spawn } from "node:child_process";
import { OUTPUT_CHUNK_BYTES, type OutputFrame } from "../conventions/ssh/frames.ts";

/** Runs one fixed program with an argument array: no shell, no input, a fixed environment, bounds on time and output. */
export interface Work {
  readonly executable: string;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly outputBytes: number;
  /** sudo runs it: SIGTERM is handed on, but SIGKILL would end sudo and leave what it raised running. */
  readonly elevated: boolean;
}

export type WorkEnd =
  | {
      readonly kind: "ended";
      readonly exitStatus: number | null;
      readonly signal: string | null;
      readonly timedOut: boolean;
      readonly truncated: boolean;
    }
  /** Its time is over and it cannot be ended, or sudo was killed: whether what it raised still runs cannot be known. */
  | { readonly kind: "abandoned" };

const KILL_GRACE_MS = 2_000;
/** A program that ended may have left others that hold its output open; they are not waited for. */
const OUTPUT_GRACE_MS = 250;
/** How often a program that ended at its time limit is looked at for what it left of its group. */
const GROUP_LOOK_MS = 50;

export function operate(work: Work, onOutput: (frame: OutputFrame) => void): Promise<WorkEnd> {
  return new Promise((resolve) => {
    const child = spawn(work.executable, work.argv, {
      cwd: work.cwd,
      env: work.environment,
      stdio: ["ignore", "pipe", "pipe"],
      shell: false,
      // A group of its own, so that everything it started ends with it when its time is over.
      detached: true,
    });
    const timers: NodeJS.Timeout[] = [];
    let left = work.outputBytes;
    let truncated = false;
    let timedOut = false;
    let killed = false;
    let settled = false;
    const clearTimers = (): void => {
      for (const timer of timers) clearTimeout(timer);
    };
    const settle = (end: WorkEnd): void => {
      if (settled) return;
      settled = true;
      clearTimers();
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(end);
    };
    const later = (ms: number, action: () => void) => timers.push(setTimeout(action, ms));
    /** False where nothing is left of it, or nothing that is ours to end. Signal 0 only looks. */
    const signalGroup = (signal: NodeJS.Signals | 0): boolean => {
      try {
        return child.pid !== undefined && process.kill(-child.pid, signal);
      } catch {
        return false;
      }
    };
    for (const stream of ["stdout", "stderr"] as const) {
      child[stream].on("error", () => {});
      child[stream].on("data", (data: Buffer) => {
        const kept = data.subarray(0, left);
        left -= kept.length;
        truncated ||= kept.length < data.length;
        for (let at = 0; at < kept.length; at += OUTPUT_CHUNK_BYTES) {
          onOutput({ kind: "output", stream, data: kept.subarray(at, at + OUTPUT_CHUNK_BYTES) });
        }
      });
    }
    later(work.timeoutMs, () => {
      timedOut = true;
      signalGroup("SIGTERM");
      later(KILL_GRACE_MS, () => {
        if (work.elevated) return settle({ kind: "abandoned" });
        killed = true;
        signalGroup("SIGKILL");
        later(KILL_GRACE_MS, () => settle({ kind: "abandoned" }));
      });
    });
    // What cannot be started ran nothing; shells have long called that 127.
    child.on("error", () =>
      settle({ kind: "ended", exitStatus: 127, signal: null, timedOut: false, truncated: false }),
    );
    child.on("exit", (exitStatus, signal) => {
      const lost = work.elevated && signal === "SIGKILL";
      const end = () =>
        settle(lost ? { kind: "abandoned" } : { kind: "ended", exitStatus, signal, timedOut, truncated });
      const endSoon = (): void => {
        // What it started may not have listened to the first signal: the second is for that too.
        if (timedOut && !work.elevated && !killed && signalGroup(0)) return void later(GROUP_LOOK_MS, endSoon);
        // It ended, and is not late for what it left its output to.
        clearTimers();
        child.on("close", end);
        later(OUTPUT_GRACE_MS, end);
      };
      endSoon();
    });
  });
}
