import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import {
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { Agent, type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { playCommand, programOf } from "../../scripts/suite/players.ts";
import { sharesProcess } from "./commands.ts";
import { idIn } from "./reply.ts";
import { whole } from "./whole.ts";

/**
 * A home in a folder of its own, the real programs as child processes, and plain HTTP on their sockets. Nothing of the
 * product is imported here: what these tests prove holds for the programs that a person starts.
 */
/** GW_PROGRAM names another build, such as an installed package. */
export const GW = process.env["GW_PROGRAM"] ?? join(dirname(dirname(import.meta.dirname)), "bin", "gw");
/** The one secret of every home, with characters that percent-encoding changes. */
export const SECRET = "s3cr3t/Token+of~the=Provider-0123456789";
export const PASSPHRASE = "correct horse battery staple in a test";

/** What the suite's processes compiled before; the launcher gives none to a program that holds keys. */
const { NODE_COMPILE_CACHE } = process.env;
const compiled = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE };

/** Root reads every file and every process, so that a test of a wall would prove nothing. */
export const asUser =
  process.platform !== "linux"
    ? { skip: "the real programs are tested on Linux" }
    : process.getuid?.() === 0
      ? { skip: "root passes every wall and would prove nothing; run as an unprivileged user" }
      : {};

export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
export type Members = { readonly [name: string]: Json };

export interface Exited {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly exited: Promise<Exited>;
  out(): string;
  err(): string;
  /** Kills what this started and all that it started; resolves when it is gone. */
  end(signal?: NodeJS.Signals): Promise<Exited>;
}

export interface Reply {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
  /** The body as an object; empty when there was none. */
  readonly body: Members;
}

/** HTTP over one local socket, from this very process: to the gateway this test is the caller. */
export interface Plane {
  ask(method: string, path: string, body?: Json, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  close(): void;
}

export interface Gateway extends Started {
  readonly pid: number;
}

const started = new Set<ChildProcess>();
const folders = new Set<string>();
process.once("exit", () => {
  for (const child of started) killGroup(child, "SIGKILL");
  // What was killed a moment ago may still end a write.
  for (const folder of folders) rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});

// A runner that gives up sends a signal, and what was started must not outlive that either.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.once(signal, () => process.exit(1));

/** Ends with this process at the latest. */
export function keep(child: ChildProcess): void {
  started.add(child);
}

export function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  folders.add(folder);
  return folder;
}

/** Whom a program runs as; only root can choose. */
export interface Identity {
  readonly uid: number;
  readonly gid: number;
}

export interface StartOptions {
  readonly input?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly as?: Identity | undefined;
  /** Of another operator's client, which remembers in a folder of its own what it saw. */
  readonly state?: string;
}

export function start(command: readonly string[], options: StartOptions = {}): Started {
  const child = spawn(command[0] ?? "", command.slice(1), {
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
    env: options.env ?? process.env,
    ...options.as,
  });
  started.add(child);
  let out = "";
  let err = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end(options.input ?? "");
  const exited = new Promise<Exited>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => {
      started.delete(child);
      resolve({ code, out, err });
    });
  });
  exited.catch(() => undefined);
  return {
    child,
    exited,
    out: () => out,
    err: () => err,
    end(signal = "SIGKILL") {
      killGroup(child, signal);
      return within(exited, PATIENCE_MS, `${command.join(" ")} does not end`);
    },
  };
}

/** Generous: nobody waits for it to pass, and a busy machine takes half a minute to start what one with nothing else to do starts in one second. */
export const PATIENCE_MS = 120_000;

/** Polls until `look` gives something other than undefined or false. */
export async function until<Found>(
  what: string,
  look: () => Found | undefined | false | Promise<Found | undefined | false>,
  limitMs = PATIENCE_MS,
): Promise<Found> {
  const stopAt = performance.now() + limitMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 100)) {
    const lookedAt = performance.now();
    const found = await look();
    if (found !== undefined && found !== false) return found;
    const now = performance.now();
    if (now > stopAt) return assert.fail(`waited ${limitMs} ms: ${what}`);
    // Whoever looks by a command leaves more time than it takes to what it looks for.
    await pause(Math.max(waitMs, Math.min(3 * (now - lookedAt), 500)));
  }
}

export async function within<Value>(work: Promise<Value>, limitMs: number, what: string): Promise<Value> {
  const stop = new AbortController();
  const late = pause(limitMs, undefined, { signal: stop.signal }).then(() => {
    throw new assert.AssertionError({ message: `waited ${limitMs} ms: ${what}` });
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    stop.abort();
    late.catch(() => undefined);
  }
}

/** The same over one connection that is never made anew: once it is closed, everything on it fails. */
export function holdPlane(socketPath: string): Plane {
  const held = connect(socketPath);
  held.on("error", () => undefined);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  return openPlane(socketPath, 1, Object.assign(agent, { createConnection: () => held }));
}

export function openPlane(
  socketPath: string,
  connections = 64,
  agent = new Agent({ keepAlive: true, maxSockets: connections }),
): Plane {
  return {
    ask(method, path, body, headers = {}) {
      const text = body === undefined ? null : JSON.stringify(body);
      const fields = {
        ...(text === null ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
        ...headers,
      };
      const work = new Promise<Reply>((resolve, reject) => {
        const sent = request({ socketPath, agent, method, path, headers: fields }, (response) => {
          const chunks: Buffer[] = [];
          response.on("data", (chunk: Buffer) => chunks.push(chunk));
          response.on("error", reject);
          response.on("end", () => resolve(replyOf(response, Buffer.concat(chunks).toString("utf8"))));
        });
        sent.on("error", reject);
        sent.end(text ?? undefined);
      });
      return within(work, PATIENCE_MS, `${method} ${path}`);
    },
    close: () => agent.destroy(),
  };
}

function replyOf(response: IncomingMessage, text: string): Reply {
  const isJson = (response.headers["content-type"] ?? "").includes("json") && text !== "";
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Members) : {},
  };
}

/**
 * The gateway's own process, with modules that it loads first. With the flag that clears freed memory Node compiles all of its own modules
 * anew, a quarter of a start: that it is asked for, e2e-day shows, and what it does, audit-blind.
 */
export function gatewayCommand(folder: string, modules: readonly string[] = []): readonly string[] {
  const flags = ["--disable-sigusr1", "--max-semi-space-size=64", ...(whole ? ["--clear-free-memory"] : [])];
  const first = modules.flatMap((module) => ["--import", module]);
  const quiet = "--disable-warning=ExperimentalWarning";
  return [process.execPath, ...flags, quiet, ...first, programOf(GW, "gateway"), folder];
}

export const gatewayEnvironment: NodeJS.ProcessEnv = { ...compiled, MALLOC_ARENA_MAX: "2" };

export class Home {
  readonly folder: string;
  readonly passphraseFile: string;
  readonly owner: Identity | undefined;
  #read: { readonly state: string; readonly events: readonly Members[] } | null = null;

  constructor(folder: string, owner?: Identity) {
    this.folder = join(folder, "home");
    this.passphraseFile = join(folder, "passphrase");
    this.owner = owner;
    writeFileSync(this.passphraseFile, `${PASSPHRASE}\n`, { mode: 0o600 });
    for (const path of [folder, this.passphraseFile]) if (owner !== undefined) chownSync(path, owner.uid, owner.gid);
  }

  /** Makes this another host of the vault, as docs/fleet.md says: with the two signed files of `from`, what is named beside, and nothing else. */
  carryFrom(from: Home, ...more: readonly string[]): this {
    mkdirSync(this.folder, { mode: 0o700, recursive: true });
    const names = ["vault.json", "policy.json", ...more];
    const { owner } = this;
    if (owner !== undefined) chownSync(this.folder, owner.uid, owner.gid);
    for (const name of names) {
      // In one step: a gateway that runs here locks itself when it meets half a policy.
      const made = join(this.folder, `.${name}`);
      cpSync(join(from.folder, name), made, { recursive: true });
      if (owner !== undefined) chownSync(made, owner.uid, owner.gid);
      renameSync(made, join(this.folder, name));
    }
    return this;
  }

  get agentSocket(): string {
    return join(this.folder, "agent.sock");
  }

  get operatorSocket(): string {
    return join(this.folder, "operator.sock");
  }

  /** Runs `gw` to its end, with no more environment than a person's shell has; in a process that it shares, where it can. */
  run(args: readonly string[], options: StartOptions = {}): Promise<Exited> {
    const { input = "", as: identity = this.owner } = options;
    // An environment of its own has to pass the launcher.
    const shared = options.env === undefined && sharesProcess(args);
    const order = {
      args: [...args, "--home", this.folder],
      env: this.environment(options.state),
      input,
      folder: process.cwd(),
    };
    const work = shared ? playCommand(GW, order, keep, { identity }) : this.start(args, options).exited;
    return within(work, PATIENCE_MS, `gw ${args.join(" ")}`);
  }

  start(args: readonly string[], options: StartOptions = {}): Started {
    const env = this.environment(options.state);
    return start([GW, ...args, "--home", this.folder], { env, as: this.owner, ...options });
  }

  /** Without a passphrase, and with a state folder of this home's own. */
  environment(state = `${this.folder}-state`): NodeJS.ProcessEnv {
    const { PATH, HOME, TMPDIR } = process.env;
    return { PATH, HOME, XDG_STATE_HOME: state, ...(TMPDIR === undefined ? {} : { TMPDIR }) };
  }

  /** A command of the operator, who has the passphrase. */
  operator(args: readonly string[], options: StartOptions = {}): Promise<Exited> {
    return this.run([...args, "--passphrase-file", this.passphraseFile], options);
  }

  /** Runs an operator's command that has to succeed. */
  async must(args: readonly string[], options: StartOptions = {}): Promise<Exited> {
    const done = await this.operator(args, options);
    assert.equal(done.code, 0, `gw ${args.join(" ")}: ${done.err}${done.out}`);
    return done;
  }

  async init(): Promise<this> {
    await this.must(["init", "--operator", "ada"]);
    return this;
  }

  async addCredential(label: string, origin: string, extra: readonly string[] = []): Promise<void> {
    const where = ["credential", "add", label, "--kind", "bearer", "--origin", origin];
    await this.must([...where, ...extra], { input: SECRET });
  }

  async trustPack(name: string, text: string, extra: readonly string[] = []): Promise<void> {
    const file = join(dirname(this.folder), `${name}.yaml`);
    writeFileSync(file, text);
    const added = await this.run(["pack", "add", file]);
    assert.equal(added.code, 0, added.err);
    await this.must(["pack", "trust", name, ...extra]);
  }

  /** Trusts a pack that goes where another one goes, by a finished review: the gateway must be up. */
  async trustBeside(name: string, text: string): Promise<void> {
    const file = join(dirname(this.folder), `${name}.yaml`);
    writeFileSync(file, text);
    assert.equal((await this.run(["pack", "add", file])).code, 0);
    const reviews = ["--without-evidence", "--reviews", join(dirname(this.folder), `${name}.reviews.yaml`)];
    const decide = ["upgrade", "decide", "--trust", name, ...reviews];
    const open = JSON.parse((await this.operator([...decide, "--json"])).out) as readonly Members[];
    const ids = open.filter(({ kind }) => kind !== "whole_review").map(({ id }) => String(id));
    await this.must([...decide, "--accept", "--reason", "a test", ...ids]);
    await this.must([...decide, "--finish", "--reason", "a test"]);
    await this.must(["pack", "trust", name, ...reviews]);
  }

  /**
   * Starts the gateway and unlocks it, as a machine does whose service it is: half the work of `gw up`, which is that of a person at a
   * terminal and is what runs where it is given more than an operator or that it stays locked, or in a campaign that is played whole.
   */
  async up(extra: readonly string[] = [], prefix: readonly string[] = []): Promise<Gateway> {
    const who = extra[0] === "--operator" && extra.length === 2 ? extra : [];
    const locked = extra[0] === "--locked" && extra.length === 1;
    if (whole || (extra.length > who.length && !locked) || prefix.length > 0) return this.upByHand(extra, prefix);
    return this.#serve([], who, locked);
  }

  /** The same, with modules that the gateway's process loads first. */
  upWith(...modules: readonly string[]): Promise<Gateway> {
    return this.#serve(modules, []);
  }

  async #serve(modules: readonly string[], who: readonly string[], locked = false): Promise<Gateway> {
    const command = gatewayCommand(this.folder, modules);
    const env = { ...this.environment(), ...gatewayEnvironment };
    const running = start(command, { env, as: this.owner });
    await this.#isUp(running, /^ready /m);
    const { pid, trouble } = await this.status();
    const gateway = { ...running, pid: Number(pid) };
    // What is in other trouble `gw up` does not unlock either.
    if (locked || (trouble !== null && !/rolled_back|forked/.test(JSON.stringify(trouble)))) return gateway;
    const unlocked = await this.operator(["unlock", "--first", ...who]);
    if (unlocked.code === 0) return gateway;
    await running.end("SIGTERM");
    return assert.fail(`gw unlock: ${unlocked.err}${unlocked.out}`);
  }

  /** `gw up` at a terminal, until it has said that it is up: two processes, the command's and the gateway's. */
  async upByHand(extra: readonly string[] = [], prefix: readonly string[] = []): Promise<Gateway> {
    const command = [...prefix, GW, "up", "--home", this.folder, "--passphrase-file", this.passphraseFile, ...extra];
    const running = start(command, { env: this.environment(), as: this.owner });
    await this.#isUp(running, /Approve with/);
    return { ...running, pid: Number((await this.status())["pid"]) };
  }

  async #isUp(running: Started, says: RegExp): Promise<void> {
    const isUp = (): boolean => {
      if (says.test(running.out())) return true;
      if (running.child.exitCode !== null) assert.fail(`the gateway ended: ${running.err()}${running.out()}`);
      return false;
    };
    await until("the gateway is up", isUp);
  }

  async status(): Promise<Members> {
    const plane = openPlane(this.operatorSocket);
    try {
      return (await plane.ask("GET", "/v1/status")).body;
    } finally {
      plane.close();
    }
  }

  /** The questions that wait, as the operator's command prints them; waits until there are `count`. */
  async approvals(count = 1): Promise<readonly Members[]> {
    await until(`${count} questions wait`, async () => Number((await this.status())["approvals_pending"]) >= count);
    return JSON.parse((await this.must(["approvals", "--json"])).out) as readonly Members[];
  }

  async approve(id: string, extra: readonly string[] = []): Promise<void> {
    await this.must(["approve", id, ...extra]);
  }

  /** Whether this build of `gw` has a command: some come later than others. */
  async knows(command: string): Promise<boolean> {
    return (await this.run([command, "--help"])).out.startsWith(`Usage: gw ${command}`);
  }

  verify(extra: readonly string[] = []): Promise<Exited> {
    return this.run(["audit", "verify", "--log", join(this.folder, "audit"), "--json", ...extra]);
  }

  /** The log as an operator reads it: every event of the kinds that are asked for, in order. A log that did not change is not read twice. */
  async events(...types: readonly string[]): Promise<readonly Members[]> {
    const log = join(this.folder, "audit");
    const state = stateOf(log);
    if (this.#read?.state !== state) {
      const { out } = await this.must(["audit", "export", "--log", log]);
      const lines = out.split("\n").filter((line) => line !== "");
      this.#read = { state, events: lines.map((line) => (JSON.parse(line) as { event?: Members }).event ?? {}) };
    }
    return this.#read.events.filter((event) => types.includes(String(event["event_type"])));
  }

  /** The Activity journal of a run: one entry an attempt, by its id. */
  async activity(run: string): Promise<readonly Members[]> {
    const shown = await this.must(["activity", "--run", run, "--json"]);
    return (JSON.parse(shown.out) as readonly Members[]).filter(({ kind }) => kind === "call");
  }

  /** A copy to do harm to. What only a living gateway has is left out; the log, the vault and the state come along. */
  copy(): Home {
    const twin = new Home(makeFolder());
    const lasts = (from: string): boolean => !/\.(sock|lock-journal|new|tmp)$/.test(from);
    cpSync(this.folder, twin.folder, { recursive: true, filter: lasts });
    return twin;
  }
}

/** What a pack that also buys has more. */
export const DEMO_PURCHASE = `  thing.buy:
    effect: purchase
    max_cost_cents: 25
    request: { method: POST, path: /v1/bought, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
`;

/** Changes with every file of a folder that is written, made or removed. */
function stateOf(folder: string): string {
  const files = readdirSync(folder).sort();
  return files.map((name) => [name, identityOf(join(folder, name))].join(" ")).join("\n");
}

function identityOf(file: string): string {
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? "gone" : [stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(":");
}

/** A pack with one action of each kind that these tests need. */
export function demoPack(origin: string, more = ""): string {
  return `format: gw.pack/v1
pack: demo
provider:
  origin: ${origin}
  credential: demo-token
  auth: { scheme: bearer }
  network: private
actions:
  thing.get:
    effect: read
    request: { method: GET, path: "/v1/things/{id}" }
    input:
      id: { in: path, type: string, maxLength: 64 }
  thing.make:
    effect: write
    request: { method: POST, path: /v1/things, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
  thing.burn:
    effect: write
    needs: { approval: each_use }
    request: { method: POST, path: /v1/burnt, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 64 }
${more}`;
}

/** An agent that is a process of its own, with nothing in its environment. */
export interface AgentProcess extends Plane {
  readonly pid: number;
  /** Replaces its image by a fresh one of the same program; the process stays. */
  replaceImage(): Promise<void>;
}

export async function startAgent(home: Home, image = process.execPath): Promise<AgentProcess> {
  const program = join(dirname(import.meta.dirname), "fixtures", "agent.mjs");
  const command = [image, "--disable-warning=ExperimentalWarning", program, home.agentSocket];
  const child = spawn(command[0] ?? "", command.slice(1), {
    detached: true,
    stdio: ["pipe", "pipe", "inherit"],
    env: {},
    ...home.owner,
  });
  started.add(child);
  child.once("close", () => started.delete(child));
  child.stdin.on("error", () => undefined);
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const next = async (what: string): Promise<Members> => {
    const { value, done } = await within(lines.next(), PATIENCE_MS, `the agent: ${what}`);
    assert.ok(done !== true, `the agent ended: ${what}`);
    return JSON.parse(value) as Members;
  };
  const { pid } = await next("start");
  return {
    pid: Number(pid),
    async ask(method, path, body, headers = {}) {
      child.stdin.write(`${JSON.stringify({ method, path, body, prefer: headers["prefer"] })}\n`);
      const answer = await next(`${method} ${path}`);
      const members = answer["body"] as Members;
      return { status: Number(answer["status"]), headers: {}, text: JSON.stringify(members), body: members };
    },
    async replaceImage() {
      child.stdin.write(`${JSON.stringify({ exec: true })}\n`);
      assert.equal((await next("exec"))["pid"], pid, "the same process");
    },
    close: () => killGroup(child, "SIGKILL"),
  };
}

/** An agent's part: opens a run, has it approved by the operator's command, and calls within it. */
export async function openRun(
  home: Home,
  plane: Plane,
  actions: readonly string[] = ["demo.thing.get", "demo.thing.make"],
  budget: Members = {},
  approveWith: readonly string[] = [],
): Promise<string> {
  const asked = await plane.ask("POST", "/v1/runs", { purpose: "to prove it", actions, budget });
  assert.equal(asked.status, 202, asked.text);
  await home.approve(idIn(asked, "approval_id"), approveWith);
  return idIn(asked, "run_id");
}

export function call(plane: Plane, run: string, action: string, input: Members, wait = 30): Promise<Reply> {
  return plane.ask("POST", `/v1/runs/${run}/calls`, { action, input }, { prefer: `wait=${wait}` });
}

/** The code that a command printed: the last line of the shape `code: what happened`. */
export function codeOf(done: Exited): string {
  const codes = [...done.err.matchAll(/^(?!warning)([a-z_]+): /gm)].map(([, code = ""]) => code);
  return codes.at(-1) ?? `no code in ${JSON.stringify(done)}`;
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, signal);
  } catch {
    // Already gone.
  }
}
