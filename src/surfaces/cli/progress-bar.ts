import { performance } from "node:perf_hooks";
import type { CliIo } from "./io.ts";

export interface ProgressBar {
  readonly show: (done: number, total: number) => void;
  /** Leaves the line as if nothing had stood there. */
  readonly clear: () => void;
}

const SHOWN_AFTER_MS = 1_000;
const CELLS = 24;
const ENDINGS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * How far something is and how long it will take, in one line of the terminal, from its second second on. Whoever ends
 * the program meanwhile finds the line empty.
 */
export function progressBar(
  status: CliIo["status"] | null,
  nowMs: () => number = () => performance.now(),
): ProgressBar {
  const beganMs = nowMs();
  let shown = "";

  function clear(): void {
    if (shown === "") return;
    for (const signal of ENDINGS) process.off(signal, end);
    status?.("");
    shown = "";
  }

  /** With the listeners gone, the signal does what it would have done. */
  function end(signal: NodeJS.Signals): void {
    clear();
    process.kill(process.pid, signal);
  }

  return {
    show(done, total) {
      const tookMs = nowMs() - beganMs;
      if (status == null || tookMs < SHOWN_AFTER_MS || done <= 0 || total <= 0) return;
      const share = Math.min(1, done / total);
      const leftS = Math.ceil((tookMs / share - tookMs) / 1_000);
      const filled = Math.floor(share * CELLS);
      const cells = `${"█".repeat(filled)}${"░".repeat(CELLS - filled)}`;
      const text = `${cells} ${Math.floor(share * 100)} % of ${Math.ceil(total / 1_000_000)} MB, ${leftS} s left`;
      if (shown === "") for (const signal of ENDINGS) process.on(signal, end);
      if (text !== shown) status(text);
      shown = text;
    },
    clear,
  };
}

/** One bar over several pieces of work, one after the other, each of about so many bytes. */
export function spread(bar: ProgressBar, parts: readonly number[]): (part: number) => (done: number) => void {
  const total = parts.reduce((sum, bytes) => sum + bytes, 0);
  return (part) => {
    const before = parts.slice(0, part).reduce((sum, bytes) => sum + bytes, 0);
    return (done) => bar.show(before + Math.min(done, parts[part] ?? 0), total);
  };
}
