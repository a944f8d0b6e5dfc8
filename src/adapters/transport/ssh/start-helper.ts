import { type ChildProcess, spawn } from "node:child_process";
import type { Duplex, Readable, Writable } from "node:stream";
import type { ClientOrder } from "../../../conventions/ssh/client-options.ts";
import { parseStrictJson } from "../../../conventions/ssh/strict-json.ts";
import { isJsonObject } from "../../../kernel/json.ts";

/** How gw-ssh is started: a program and its first arguments, such as the pinned Node, its flags and the program file. */
export interface HelperProgram {
  readonly command: string;
  readonly arguments: readonly string[];
}

/** gw-ssh and the client under it, in a process group of their own. */
export interface RunningHelper {
  readonly pid: number;
  readonly input: Writable;
  readonly output: Readable;
  readonly diagnostics: Readable;
  lives(): boolean;
  /** Ends the helper and the client, whoever of them is left. */
  kill(): void;
  /** What the helper reported, once it and the client are gone and everything they wrote was read. Never rejects. */
  readonly ended: Promise<HelperReport>;
}

export type HelperReport =
  | { readonly kind: "exited"; readonly status: number | null; readonly signal: string | null }
  | { readonly kind: "failed"; readonly detail: string }
  | { readonly kind: "lost" };

const REPORT_BYTES_MAX = 4_096;

/** A helper that was started and waits for its order. */
export interface WaitingHelper {
  lives(): boolean;
  kill(): void;
  /** Whether the event loop must stay alive for it: not while it only waits. */
  hold(held: boolean): void;
  follow(order: ClientOrder): RunningHelper;
}

/** A text says why it could not be started. */
export function startHelper(program: HelperProgram): WaitingHelper | string {
  const child = spawn(program.command, program.arguments, {
    // Nothing of the gateway's environment goes on: no agent, no proxy, no askpass, no loader or Node variables.
    env: {},
    cwd: "/",
    stdio: ["pipe", "pipe", "pipe", "pipe"],
    // A session of its own has no terminal that could be asked, and its group can be ended as one.
    detached: true,
  });
  const { pid, stdin, stdout, stderr } = child;
  const channel = child.stdio[3] as Duplex | null | undefined;
  const ended = readReport(child, channel);
  if (pid === undefined || stdin === null || stdout === null || stderr === null || !channel) {
    return `${program.command} cannot be started`;
  }
  // The other end may close at any time; what that means is decided from what was read and reported.
  for (const stream of [stdin, stdout, stderr, channel]) stream.on("error", () => {});
  const lives = () => child.exitCode === null && child.signalCode === null;
  const killGroup = () => {
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // The group is already empty.
    }
  };
  // A client whose helper was killed would go on alone. Its group still bears the helper's number.
  child.once("exit", killGroup);
  const kill = () => {
    if (lives()) killGroup();
  };
  return {
    lives,
    kill,
    hold(held) {
      // Node makes its pipes from sockets, which can let the loop go.
      const parts = [child, stdin, stdout, stderr, channel] as unknown as { ref(): void; unref(): void }[];
      for (const part of parts) held ? part.ref() : part.unref();
    },
    follow(order) {
      channel.write(`${JSON.stringify(order)}\n`);
      return { pid, input: stdin, output: stdout, diagnostics: stderr, lives, kill, ended };
    },
  };
}

function readReport(child: ChildProcess, reports: Duplex | null | undefined): Promise<HelperReport> {
  return new Promise((resolve) => {
    let text = "";
    reports?.on("data", (chunk: Buffer) => {
      if (text.length < REPORT_BYTES_MAX) text += chunk.toString("latin1");
    });
    child.once("error", (error) => resolve({ kind: "failed", detail: `gw-ssh cannot be started: ${error.message}` }));
    // `close` comes when the process is gone and its pipes are at their end.
    child.once("close", (status) => {
      const lost: HelperReport =
        status === 2 ? { kind: "failed", detail: "gw-ssh refused its order" } : { kind: "lost" };
      resolve(findReport(text) ?? lost);
    });
  });
}

function findReport(text: string): HelperReport | undefined {
  for (const line of text.split("\n").slice(0, -1)) {
    const value = parseStrictJson(line);
    if (!isJsonObject(value)) continue;
    const { status = null, signal = null, error } = value;
    if (typeof error === "string") return { kind: "failed", detail: `the OpenSSH client cannot be started: ${error}` };
    if (value["status"] === undefined) continue;
    return {
      kind: "exited",
      status: typeof status === "number" ? status : null,
      signal: typeof signal === "string" ? signal : null,
    };
  }
  return undefined;
}
