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
/** What a command wrote before it ended is read to the end; what it left running may hold the terminal open for ever. */
const DRAIN_MS = 200;
/** As a session leader without a terminal, whoever opens one first gets it as its own. */
const TAKE_TERMINAL = 'exec 0<>"$0" 1>&0 2>&0 || exit 126; exec "$@"';

/** How a command is held that is started in a box. */
export interface Held {
  /** Takes the signals that go to the command. */
  signal(signal: NodeJS.Signals): void;
}

/** Starts the command: on a terminal of its own when there is one, else with our input and output as they are. */
export function startCommand(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  ports: CommandPorts,
  held?: Held,
): RunningCommand {
  return ports.openPty !== null && isOnTerminal(ports)
    ? startOnPty(command, env, ports.openPty(), ports.sleep, held)
    : startShared(command, env, held);
}

/** Whether it gets a terminal of its own. */
export function isOnTerminal({ openPty }: Pick<CommandPorts, "openPty">): boolean {
  return process.stdin.isTTY === true && process.stdout.isTTY === true && openPty !== null;
}

function startShared(command: readonly string[], env: NodeJS.ProcessEnv, held?: Held): RunningCommand {
  const [name = "", ...rest] = command;
  // What is in a box has a process group of its own, which the terminal sends nothing to.
  const shares = process.stdin.isTTY === true && held === undefined;
  const send: Held["signal"] = held?.signal ?? ((signal) => void child.kill(signal));
  const restore = passSignals(send, (signal) => shares && FROM_TERMINAL.includes(signal));
  const child = spawn(name, rest, { env, stdio: stdioOf("inherit", held) });
  return { child, pid: child.pid, ended: endOf(child).finally(restore) };
}

/** What builds a box is spoken to over a channel of its own. */
function stdioOf(each: "inherit" | "ignore", held: Held | undefined): StdioOptions {
  return held === undefined ? each : [each, each, each, "ipc"];
}

function startOnPty(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  pty: CommandPty,
  sleep: Sleep,
  held?: Held,
): RunningCommand {
  const { stdin, stdout } = process;
  const fit = (): void => pty.resize(stdout.columns, stdout.rows);
  fit();
  const closed = new Promise<void>((resolve) => {
    pty.stream.on("error", () => resolve()).on("close", () => resolve());
  });
  const restoreSignals = passSignals(held?.signal ?? ((signal) => void child.kill(signal)), () => false);
  const child = spawn("/bin/sh", ["-c", TAKE_TERMINAL, pty.path, ...command], {
    env,
    detached: true,
    stdio: stdioOf("ignore", held),
  });
  pty.stream.pipe(stdout, { end: false });
  stdin.setRawMode(true);
  stdin.pipe(pty.stream);
  stdout.on("resize", fit);
  const ended = endOf(child).then(async (end) => {
    await Promise.race([closed, sleep.sleep(DRAIN_MS)]);
    return end;
  });
  return {
    child,
    pid: child.pid,
    ended: ended.finally(() => {
      restoreSignals();
      stdout.off("resize", fit);
      stdin.unpipe(pty.stream);
      stdin.setRawMode(false);
      stdin.pause();
      pty.stream.unpipe(stdout);
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
