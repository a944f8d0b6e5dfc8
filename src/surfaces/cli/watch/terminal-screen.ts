import { enterScreen, leaveScreen } from "./paint.ts";
import type { Size } from "./state.ts";

/** The person's terminal while it is ours alone. */
export interface WatchTerminal {
  size(): Size;
  open(events: TerminalEvents): void;
  write(text: string): void;
  /** Gives the terminal back as it was. May be called more than once. */
  close(): void;
}

export interface TerminalEvents {
  bytes(chunk: Buffer): void;
  resized(): void;
  /** It woke up after it was stopped, and what is on it is not ours any more. */
  woken(): void;
  /** Nobody is there any more, or we are told to stop. */
  ended(): void;
}

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The real one. It is restored on every way out: the end, a signal, an error nobody caught, and the exit itself. */
export function openWatchTerminal(): WatchTerminal {
  const { stdin, stdout } = process;
  let undo: (() => void) | null = null;

  function close(): void {
    undo?.();
    undo = null;
  }

  return {
    size: () => ({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }),
    write: (text) => void stdout.write(text),
    close,
    open({ bytes, resized, woken, ended }) {
      const wake = (): void => {
        stdin.setRawMode(true);
        stdout.write(enterScreen);
        woken();
      };
      const broken = (): void => {
        close();
        ended();
      };
      undo = () => {
        for (const signal of SIGNALS) process.off(signal, ended);
        process.off("SIGCONT", wake);
        process.off("exit", close);
        process.off("uncaughtExceptionMonitor", close);
        stdout.off("resize", resized);
        stdin.off("data", bytes).off("end", ended).off("close", ended);
        try {
          stdout.write(leaveScreen);
          stdin.setRawMode(false);
          stdin.pause();
        } catch {
          // A terminal that hung up has nothing left to restore.
        }
      };
      for (const signal of SIGNALS) process.on(signal, ended);
      process.on("SIGCONT", wake);
      process.on("exit", close);
      process.on("uncaughtExceptionMonitor", close);
      stdout.on("resize", resized);
      // These two stay: a hung-up terminal reports late, and an error without a listener would end us half-way.
      stdout.on("error", broken);
      stdin.on("error", broken);
      stdin.on("data", bytes).on("end", ended).on("close", ended);
      stdin.setRawMode(true);
      stdin.resume();
      stdout.write(enterScreen);
    },
  };
}
