import { type ChildProcess, type StdioOptions, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Duplex } from "node:stream";
import type { Sleep } from "../../../kernel/clock.ts";
import { startExits } from "./find-program.ts";

/** A pseudo terminal, where the machine has one to give. */
export interface CommandPty {
  readonly path: string;
  readonly stream: Duplex;
  resize(columns: number, rows: number): void;
}

export interface CommandPorts {
  readonly sleep: Sleep;
  /** Null where there is none: the command then shares the terminal. */
  openPty: (() => CommandPty) | null;
}

export interface Ended {
  /** As a shell says it: the status, or 128 and the number of the signal. */
  readonly exit: number;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started, when it could not. */
  readonly fault: string | null;
}

export interface RunningCommand {
  readonly child: ChildProcess;
  readonly pid: number | undefined;
  readonly ended: Promise<Ended>;
}

const FORWARDED = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2"] as const;
/** The terminal itself sends these to everybody who shares it. */
const FROM_TERMINAL: readonly string[] = ["SIGINT", "SIGQUIT"];
/** What a command wrote before it ended is read to the end, however slowly it is shown; what it left running may write for ever. */
const DRAIN_MS = 200;
const MOST_DRAINS = 50;
/** How a command is held that is started in a box. */
export interface Held {
  /** Takes the signals that go to the command. */
  signal(signal: NodeJS.Signals): void;
}

/** Starts the command: with a terminal of its own in the place of ours, and what goes elsewhere as it is. */
export function startCommand(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  ports: CommandPorts,
  held?: Held,
): RunningCommand {
  const { stdin, stdout, stderr } = process;
  const typed = stdin.isTTY === true && stdout.isTTY === true;
  // Whoever has a descriptor of our terminal reads what is typed on it, also behind our back: no box gets one.
  const shown = typed || (held !== undefined && (stdout.isTTY === true || stderr.isTTY === true));
  if (ports.openPty === null || !shown) return startShared(command, env, held);
  return startOnPty(command, env, { pty: ports.openPty(), typed }, ports.sleep, held);
}

function startShared(command: readonly string[], env: NodeJS.ProcessEnv, held?: Held): RunningCommand {
  const [name = "", ...rest] = command;
  const isTerminal = process.stdin.isTTY === true;
  const shares = isTerminal && held === undefined;
  const send: Held["signal"] = held?.signal ?? ((signal) => void child.kill(signal));
  const restore = passSignals(send, (signal) => shares && FROM_TERMINAL.includes(signal));
  const stdio = withChannel([isTerminal && !shares ? "ignore" : "inherit", "inherit", "inherit"], held);
  // A session of its own for what is in a box: a signal to its process group reaches nobody of ours.
  const child = spawn(name, rest, { env, stdio, detached: held !== undefined });
  return { child, pid: child.pid, ended: endOf(child).finally(restore) };
}

type Stream = "inherit" | "ignore";

/** What builds a box is spoken to over a channel of its own. */
function withChannel(streams: readonly Stream[], held: Held | undefined): StdioOptions {
  return held === undefined ? [...streams] : [...streams, "ipc"];
}

/** Ours, and whether what is typed here goes there too. */
interface OwnTerminal {
  readonly pty: CommandPty;
  readonly typed: boolean;
}

function startOnPty(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  { pty, typed }: OwnTerminal,
  sleep: Sleep,
  held?: Held,
): RunningCommand {
  const { stdin, stdout, stderr } = process;
  const screen = stdout.isTTY ? stdout : stderr;
  const fit = (): void => pty.resize(screen.columns, screen.rows);
  fit();
  const closed = new Promise<true>((resolve) => {
    pty.stream.on("error", () => resolve(true)).on("close", () => resolve(true));
  });
  const restoreSignals = passSignals(held?.signal ?? ((signal) => void child.kill(signal)), () => false);
  const taken = [typed, stdout.isTTY === true, stderr.isTTY === true];
  // As a session leader without a terminal, whoever opens one to read gets it as its own: there is nothing to read where nothing is typed.
  const opened = typed ? "<>" : ">";
  const take = `exec${taken.map((there, stream) => (there ? ` ${stream}${opened}"$0"` : "")).join("")} || exit 126; exec "$@"`;
  const ours: readonly Stream[] = [stdin, stdout, stderr].map(({ isTTY }) => (isTTY === true ? "ignore" : "inherit"));
  const child = spawn("/bin/sh", ["-c", take, pty.path, ...command], {
    env,
    detached: true,
    stdio: withChannel(ours, held),
  });
  pty.stream.pipe(screen, { end: false });
  if (typed) {
    stdin.setRawMode(true);
    stdin.pipe(pty.stream);
  }
  screen.on("resize", fit);
  let read = 0;
  pty.stream.on("data", (bytes: Buffer) => {
    read += bytes.length;
  });
  const ended = endOf(child).then(async (end) => {
    let before = -1;
    for (let drains = 0; drains < MOST_DRAINS && read !== before; drains++) {
      before = read;
      if (await Promise.race([closed, sleep.sleep(DRAIN_MS)])) break;
    }
    return end;
  });
  return {
    child,
    pid: child.pid,
    ended: ended.finally(() => {
      restoreSignals();
      screen.off("resize", fit);
      if (typed) {
        stdin.unpipe(pty.stream);
        stdin.setRawMode(false);
        stdin.pause();
      }
      pty.stream.unpipe(screen);
      pty.stream.destroy();
    }),
  };
}

/** Before the command is started: a signal in between would end us, and leave it running. */
function passSignals(send: Held["signal"], isShared: (signal: string) => boolean): () => void {
  const pass = (signal: NodeJS.Signals): void => {
    if (!isShared(signal)) send(signal);
  };
  for (const signal of FORWARDED) process.on(signal, pass);
  return () => {
    for (const signal of FORWARDED) process.off(signal, pass);
  };
}

function endOf(child: ChildProcess): Promise<Ended> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ exit: startExits.notExecutable, signal: null, fault: error.message }));
    child.once("exit", (code, signal) => {
      const exit = code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
      resolve({ exit, signal, fault: null });
    });
  });
}
