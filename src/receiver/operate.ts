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
    let settled = false;
    const settle = (end: WorkEnd): void => {
      if (settled) return;
      settled = true;
      for (const timer of timers) clearTimeout(timer);
      child.stdout.destroy();
      child.stderr.destroy();
      resolve(end);
    };
    const later = (ms: number, action: () => void) => timers.push(setTimeout(action, ms));
    const signalGroup = (signal: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // Gone already, or not ours to end.
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
      child.on("close", end);
      later(OUTPUT_GRACE_MS, end);
    });
  });
}
