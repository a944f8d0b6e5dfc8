import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { createLinuxCallers } from "../src/adapters/platform/linux/callers.ts";
import type { VerifiedConnection } from "../src/adapters/platform/linux/connection.ts";
import { type CallerPolicy, createEvidenceReader } from "../src/adapters/platform/linux/evidence.ts";
import { listenVerified } from "../src/adapters/platform/linux/listener.ts";
import type { CallerPlatform, LiveCaller } from "../src/conventions/caller/port.ts";

/** A real listener with real processes around it. Everything started here is ended by `close`. */
export interface Stage {
  readonly folder: string;
  readonly socket: string;
  readonly attackerPath: string;
  readonly callers: CallerPlatform;
  /** The next connection that has not been taken yet, in order of arrival. */
  next(): Promise<Arrival>;
  start(command?: readonly string[]): Attacker;
  close(): void;
}

export interface Arrival {
  readonly connection: VerifiedConnection;
  readonly caller: Promise<LiveCaller>;
}

export interface Attacker {
  readonly process: ChildProcessWithoutNullStreams;
  /** Sends a command and gives the answer; throws unless it begins with "ok". */
  say(command: string): Promise<string>;
  /** Sends a command that has no answer, such as a successful exec. */
  tell(command: string): void;
}

export const noPolicy: CallerPolicy = { enrolled: new Map(), sigstore: null, imaKeys: [] };

/** Undefined when the attacker can be built; otherwise why the attacks cannot be run here. */
export const cannotAttack: string | undefined = (() => {
  if (process.platform !== "linux") return "the attacks are written for Linux";
  if (process.getuid?.() === 0) return "root sees everything and would prove nothing; run as an unprivileged user";
  if (spawnSync("cc", ["--version"]).error !== undefined) return "no C compiler to build the attacker with";
  return undefined;
})();

export const asAttack = cannotAttack === undefined ? {} : { skip: cannotAttack };

let built: string | undefined;

export function buildAttacker(): string {
  if (built !== undefined && existsSync(built)) return built;
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  built = join(folder, "attacker");
  const source = join(import.meta.dirname, "fixtures", "attacker.c");
  const done = spawnSync("cc", ["-O1", "-pthread", "-o", built, source], { encoding: "utf8" });
  if (done.status !== 0) throw new Error(done.stderr);
  return built;
}

export interface StageOptions {
  readonly askKernelForExec?: boolean;
  readonly policy?: () => CallerPolicy;
  /** A copy of the attacker, for whoever changes the file. */
  readonly ownImage?: boolean;
}

/** What was found out about an image is kept from stage to stage, as a gateway keeps it: looking at one takes a worker. */
const readEvidence = createEvidenceReader(() => noPolicy);

export function openStage(options: StageOptions = {}): Stage {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const attackerPath = options.ownImage ? join(folder, "attacker") : buildAttacker();
  if (options.ownImage) copyFileSync(buildAttacker(), attackerPath);
  const socket = join(folder, "agent.sock");
  const callers = createLinuxCallers({
    readEvidence: options.policy === undefined ? readEvidence : createEvidenceReader(options.policy),
    askKernelForExec: options.askKernelForExec ?? true,
  });
  const arrived: Arrival[] = [];
  const waiting: ((arrival: Arrival) => void)[] = [];
  const listener = listenVerified({
    path: socket,
    mode: 0o600,
    callers,
    accept(connection, caller) {
      const arrival = { connection, caller };
      const taker = waiting.shift();
      if (taker === undefined) arrived.push(arrival);
      else taker(arrival);
    },
  });
  const started: ChildProcessWithoutNullStreams[] = [];
  return {
    folder,
    socket,
    attackerPath,
    callers,
    next() {
      const ready = arrived.shift();
      return ready === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(ready);
    },
    start(command = [attackerPath]) {
      const attacker = startAttacker(command);
      started.push(attacker.process);
      return attacker;
    },
    close() {
      // The whole group: forked and cloned children of an attacker outlive it otherwise.
      for (const { pid } of started) if (pid !== undefined) killGroup(pid);
      for (const connection of listener.connections) connection.destroy();
      listener.close();
      callers.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export function startAttacker(command: readonly string[]): Attacker {
  const child = spawn(command[0] ?? "", command.slice(1), { detached: true, stdio: ["pipe", "pipe", "pipe"] });
  const answers: string[] = [];
  const waiting: ((answer: string) => void)[] = [];
  createInterface(child.stdout).on("line", (line) => {
    const taker = waiting.shift();
    if (taker === undefined) answers.push(line);
    else taker(line);
  });
  child.stdin.on("error", () => undefined);
  return {
    process: child,
    async say(command) {
      child.stdin.write(`${command}\n`);
      const ready = answers.shift();
      const answer = ready ?? (await new Promise<string>((resolve) => waiting.push(resolve)));
      if (!answer.startsWith("ok")) throw new Error(`${command}: ${answer}`);
      return answer;
    },
    tell(command) {
      child.stdin.write(`${command}\n`);
    },
  };
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}
