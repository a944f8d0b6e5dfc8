import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { allScopes, type Reference, startReference } from "../packages/reference/src/start.ts";
import { requireServerOf } from "../src/adapters/platform/server.ts";
import { signAttestation } from "../src/audit/attestation.ts";
import { rawPublicOf } from "../src/audit/keys/raw.ts";
import type { Clock, Random, Sleep } from "../src/kernel/clock.ts";
import { installation } from "../src/kernel/installation.ts";
import { makeHome, type PackToTrust } from "../src/programs/start/make-home.ts";
import { startGateway } from "../src/programs/start-gateway.ts";
import { signersOf } from "../src/surfaces/cli/audit/commands.ts";
import type { Reading } from "../src/surfaces/cli/audit/show.ts";
import type { GatewayProcess } from "../src/surfaces/cli/commands/deps.ts";
import { connectOperator, type OperatorClient } from "../src/surfaces/client/operator.ts";
import { findPlace } from "../src/surfaces/place/find.ts";
import { openHome } from "../src/vault/files/home.ts";
import { makeFolder } from "../src/vault/files/make-folder.ts";
import { type OpenOperator, unlockOperator } from "../src/vault/operator.ts";
import { generatePassphrase } from "../src/vault/passphrase/generate.ts";
import { Astray } from "./astray.ts";
import { type DemoHost, startDemoHost } from "./host/host.ts";
import { yearAgo } from "./year-ago.ts";

const GW = join(installation, "bin", "gw");
const HOUR_MS = 3_600_000;
const CONTROL = "control";
/** Nobody in the story takes this long; a demo that hangs is one that failed. */
const PLAYER_MS = 120_000;

/** Everything the scenes play with: a provider, a gateway process, an operator's keys, and agents on demand. */
export interface Stage {
  readonly home: string;
  /** Where `gw` is, for scripts of an agent. */
  readonly program: string;
  readonly operator: OperatorClient;
  /** The public key of the operator, as hex: whoever verifies the log pins it. */
  readonly operatorKey: string;
  /** What the operator reads the log with, and whose signatures count. */
  readonly reading: Reading;
  readonly clock: Pick<Clock, "wallMs">;
  readonly sleep: Sleep;
  /** Runs `gw` as a process of its own. */
  gw(args: readonly string[], input?: "open", folder?: string): Player;
  /** Of the provider, for tools that know nothing of gw. */
  readonly origin: string;
  /** An agent that stays: it answers orders until it is stopped. */
  agent(): Player;
  /** A host to act on over SSH, or why there is none. */
  readonly host: DemoHost | string;
  /** Makes the provider misbehave on its next request. */
  arm(fault: string, endpoint: string): Promise<void>;
  /** The operator vouches for what the gateway has written. */
  attest(): Promise<void>;
  /** A clean stop, so that the log is whole on disk. */
  stopGateway(): Promise<void>;
  close(): Promise<void>;
}

/** What a gateway's life is played with. */
export type Ground = Pick<Stage, "operator" | "sleep" | "agent">;

export interface Player {
  readonly pid: number | undefined;
  readonly ended: Promise<Ended>;
  send(line: string): void;
  /** The next line of its standard output. */
  line(): Promise<string>;
  out(): string;
  err(): string;
  stop(): void;
}

export interface Ended {
  readonly exit: number;
  readonly out: string;
  readonly err: string;
}

export interface StagePorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
}

/** The home is a year old: `longAgo` is played under a gateway of that time, the scenes under one of now. */
export async function setStage(
  home: string,
  ports: StagePorts,
  longAgo: (ground: Ground) => Promise<void>,
): Promise<Stage> {
  makeFolder(join(home, "provider"));
  const file = join(home, "provider", "reference.db");
  const provider = await startReference({ port: 0, file, faults: true, ...ports });
  const players = new Set<ChildProcess>();
  let gateway: GatewayProcess | undefined;
  let keys: OpenOperator | undefined;
  let operator: OperatorClient | undefined;
  const host = await startDemoHost();
  const standingHost = typeof host === "string" ? null : host;

  const stopGateway = async (): Promise<void> => {
    operator?.close();
    gateway?.stop();
    await gateway?.stopped;
  };
  const close = async (): Promise<void> => {
    for (const player of players) player.kill("SIGKILL");
    await stopGateway();
    keys?.wipe();
    await standingHost?.close();
    await provider.close();
  };
  const past = yearAgo(ports.clock);
  const agent = (): Player =>
    play(players, [process.execPath, "--disable-warning=ExperimentalWarning", fileHere("agent"), home], "open");

  try {
    using passphrase = generatePassphrase(ports.random);
    const keyFile = join(home, "service.key");
    const packFile = join(home, "provider", "pack.yaml");
    writeFileSync(packFile, impatient(readFileSync(join(installation, "packs", "reference.yaml"), "utf8")), {
      mode: 0o600,
    });
    const token = await tokenOf(provider, allScopes);
    const also = [
      { bytes: guardedPack(provider.origin), token: await tokenOf(provider, ["projects:read"]), eachUse: true },
      {
        bytes: boxedPack(provider.origin),
        token: await tokenOf(provider, ["projects:read", "releases:write"]),
        eachUse: false,
      },
      ...(standingHost === null ? [] : [hostPack(standingHost)]),
    ];
    await makeHome(
      { folder: home, passphrase, origin: provider.origin, token, packFile, keyFile, also },
      { ...ports, clock: past },
    );
    const vault = openHome(home, ports.random).readVault();
    if (vault.requestKey !== null) standingHost?.pin(vault.requestKey.publicKey);
    keys = await unlockOperator(vault, undefined, passphrase);
    const { operator: door } = await findPlace({ home, config: undefined }, requireServerOf);
    gateway = await startGateway(home, keyFile, undefined, fileHere("old-gateway"));
    operator = await connectOperator(door, keys, past);
    await longAgo({ operator, sleep: ports.sleep, agent });
    await vouch(operator, keys, past);
    await stopGateway();
    gateway = await startGateway(home, keyFile);
    operator = await connectOperator(door, keys, ports.clock);
  } catch (error) {
    await close();
    throw error;
  }
  const standing = { keys, operator };
  const control = await tokenOf(provider, [CONTROL]);

  return {
    home,
    program: GW,
    operator: standing.operator,
    operatorKey: rawPublicOf("ed25519", standing.keys.approver.key).toString("hex"),
    reading: readingOf(home, standing.keys, ports),
    clock: ports.clock,
    sleep: ports.sleep,
    host,
    origin: provider.origin,
    gw: (args, input, folder) => play(players, [GW, ...args], input, folder),
    agent,
    async arm(fault, endpoint) {
      const headers = { authorization: `Bearer ${control}`, "content-type": "application/json" };
      const body = JSON.stringify({ fault, endpoint, times: 1 });
      const reply = await fetch(`${provider.origin}/control/faults`, { method: "POST", headers, body });
      if (!reply.ok) throw new Astray(`the provider does not take the fault ${fault}: ${reply.status}`);
    },
    attest: () => vouch(standing.operator, standing.keys, ports.clock),
    stopGateway,
    close,
  };
}

async function vouch(operator: OperatorClient, { name, approver }: OpenOperator, clock: Clock): Promise<void> {
  const offer = await operator.offerAttestation();
  await operator.attest(signAttestation(offer, name, approver.key, Math.floor(clock.wallMs() / 1000)));
}

function play(players: Set<ChildProcess>, command: readonly string[], input?: "open", folder?: string): Player {
  const [program = "", ...args] = command;
  // An agent has no secret in its environment, and none of ours.
  const { PATH, HOME, TMPDIR, LANG } = process.env;
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    ...(folder === undefined ? {} : { cwd: folder }),
    env: { PATH, HOME, LANG, ...(TMPDIR === undefined ? {} : { TMPDIR }) },
  });
  players.add(child);
  const limit = setTimeout(() => child.kill("SIGKILL"), PLAYER_MS);
  const text = { out: "", err: "" };
  let read = 0;
  let wake = (): void => undefined;
  child.stdin.on("error", () => undefined);
  if (input === undefined) child.stdin.end();
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text.out += chunk;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    text.err += chunk;
  });
  const ended = new Promise<Ended>((done) => {
    const end = (exit: number): void => {
      clearTimeout(limit);
      players.delete(child);
      done({ exit, ...text });
      wake();
    };
    child.once("error", () => end(127));
    child.once("close", (code) => end(code ?? 137));
  });
  const nextLine = (): string | undefined => {
    const at = text.out.indexOf("\n", read);
    if (at < 0) return undefined;
    const line = text.out.slice(read, at);
    read = at + 1;
    return line;
  };
  return {
    pid: child.pid,
    ended,
    send: (line) => void child.stdin.write(`${line}\n`),
    async line() {
      for (;;) {
        const line = nextLine();
        if (line !== undefined) return line;
        if (!players.has(child)) throw new Astray(`${program} ended without a word more: ${text.err}`);
        await new Promise<void>((resolved) => {
          wake = resolved;
        });
      }
    },
    out: () => text.out,
    err: () => text.err,
    stop: () => void child.kill("SIGTERM"),
  };
}

/** A program of the demo's own. */
function fileHere(name: string): string {
  return join(import.meta.dirname, `${name}.${import.meta.filename.endsWith(".ts") ? "ts" : "js"}`);
}

function tokenOf(provider: Reference, scopes: readonly string[]): Promise<string> {
  return provider.issueToken({ actor: "gw", tenant: "acme", scopes, expiresInMs: HOUR_MS });
}

function hostPack({ pack, key, server }: DemoHost): PackToTrust {
  return { bytes: pack, token: key.use(String), eachUse: false, hostKey: server.hostKey };
}

/** One action gives up soon, so that nobody waits for the scene in which the provider does not answer. */
function impatient(pack: string): string {
  return pack.replace("  report.create:\n", "  report.create:\n    limits: { timeout_s: 4 }\n");
}

/** The same provider with a credential that asks for each use. */
function guardedPack(origin: string): Buffer {
  return Buffer.from(`format: gw.pack/v1
pack: guarded
provider:
  origin: ${origin}
  credential: guarded-key
  auth: { scheme: bearer }
  version: { header: X-API-Version, value: "2026-04-01" }
actions:
  project.get:
    effect: read
    request: { method: GET, path: "/v1/projects/{project_id}" }
    input: { project_id: { in: path, type: string, maxLength: 128 } }
`);
}

/** For unchanged tools in a box: a read that a session covers, and a write that a person is asked about. */
function boxedPack(origin: string): Buffer {
  return Buffer.from(`format: gw.pack/v1
pack: boxed
provider:
  origin: ${origin}
  credential: boxed-key
  auth: { scheme: bearer }
  version: { header: X-API-Version, value: "2026-04-01" }
  idempotency: { header: Idempotency-Key, window_s: 2592000 }
actions:
  project.get:
    effect: read
    request: { method: GET, path: "/v1/projects/{project_id}" }
    input: { project_id: { in: path, type: string, maxLength: 128 } }
  release.record:
    effect: create
    needs: { approval: each_use }
    request: { method: POST, path: /v1/releases, body: application/json }
    input:
      operation_id: { in: body, type: string, maxLength: 128 }
      service: { in: body, type: string, maxLength: 128 }
      artifact: { in: body, type: string, pattern: "^sha256:[0-9a-f]{64}$", maxLength: 71 }
      environment: { in: body, enum: [staging, production] }
`);
}

function readingOf(home: string, { readingKey }: OpenOperator, { random }: StagePorts): Reading {
  return { readingKey, signers: signersOf(openHome(home, random)) };
}
