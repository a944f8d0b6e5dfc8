import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { createClock, systemSleep } from "../src/adapters/platform/system.ts";
import { readHubAddress } from "../src/hub/address.ts";
import { Secret } from "../src/kernel/secret.ts";
import { GATEWAY_FLAGS, gatewayEnvironment } from "../src/programs/start-gateway.ts";
import type { CliDeps } from "../src/surfaces/cli/commands/deps.ts";
import { connectHubClient } from "../src/surfaces/cli/hub/watch-client.ts";
import type { ApprovalView } from "../src/surfaces/operator/answers.ts";
import { openHome } from "../src/vault/files/home.ts";
import { unlockOperator } from "../src/vault/operator.ts";
import { openPlane, type Plane, until, within } from "../test/support/home.ts";
import { type Cluster, findPostgres, makeCluster } from "../test/support/postgres.ts";
import { type Bench, median } from "./bench.ts";
import { type BenchHome, makeHome } from "./calls/home.ts";

const GATEWAYS = 10;
const ROUNDS = 9;
/** As long as a gateway that has looked waits before it looks again: nobody decides faster than that. */
const READ_MS = 400;
/** A step of making the fleet takes a second or two; on a machine that does much else, a minute. */
const STEP_LIMIT_MS = 120_000;
const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

interface Fleet {
  readonly homes: readonly string[];
  close(): Promise<void>;
}

/** Gateways of one vault, each the program itself in a process of its own, with a home and a login of its own. */
async function makeFleet(cluster: Cluster, first: BenchHome, folder: string): Promise<Fleet> {
  const children: ChildProcess[] = [];
  const homes: string[] = [];
  const close = async (): Promise<void> => {
    const open = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    const ended = open.map((child) => once(child, "exit"));
    for (const child of open) child.kill("SIGTERM");
    await Promise.all(ended);
  };
  try {
    for (let index = 1; index <= GATEWAYS; index++) {
      const name = `web${index}`;
      const home = index === 1 ? first.folder : join(folder, name);
      const before = homes.at(-1);
      if (before !== undefined) {
        mkdirSync(home, { mode: 0o700 });
        for (const file of ["vault.json", "policy.json", "packs"])
          cpSync(join(before, file), join(home, file), { recursive: true });
      }
      const program = [join(root, "src/programs/gateway.ts"), home, "--key-file", first.keyFile];
      const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...GATEWAY_FLAGS, ...program], {
        stdio: ["ignore", "pipe", "ignore", "ipc"],
        env: gatewayEnvironment(),
      });
      children.push(child);
      const up = once(child.stdout as NodeJS.ReadableStream, "data");
      const ended = once(child, "exit").then(() => Promise.reject(new Error(`${name} ended`)));
      await within(Promise.race([up, ended]), STEP_LIMIT_MS, `${name} is up`);
      const gw = (...args: readonly string[]) =>
        run(join(root, "bin/gw"), [...args, "--home", home], {
          timeout: STEP_LIMIT_MS,
          env: { ...process.env, XDG_STATE_HOME: join(folder, `state-${name}`) },
        });
      if (index === 1) await gw("hub", "init", cluster.url("owner"));
      await cluster.sql(`create role ${name} login in role gw_gateway`);
      await gw("hub", "join", cluster.url(name), "--name", name, "--passphrase-file", first.passphraseFile);
      homes.push(home);
    }
    return { homes, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Times {
  readonly shown: number[];
  readonly decided: number[];
  readonly revoked: number[];
}

/** What a person at a live screen waits for: the product's own client, of a question of the first host. */
async function measureOnce(
  client: Awaited<ReturnType<typeof connectHubClient>>,
  agent: Plane,
  times: Times,
): Promise<void> {
  const stop = new AbortController();
  const seen = new Map<string, { readonly view: ApprovalView; readonly atMs: number }>();
  const watching = (async () => {
    for await (const news of client.watch(stop.signal))
      if (news.kind === "approval" && news.view.card !== null)
        seen.set(news.view.approval_id, { view: news.view as ApprovalView, atMs: performance.now() });
  })();
  await pause(READ_MS);
  const askedMs = performance.now();
  const asked = await agent.ask("POST", "/v1/runs", { purpose: "a bench", actions: ["bench.thing.get"], budget: {} });
  if (asked.status !== 202) throw new Error(asked.text);
  const id = String(asked.body["approval_id"]);
  await until("the card was shown", () => seen.has(id));
  const { view, atMs } = seen.get(id) as { readonly view: ApprovalView; readonly atMs: number };
  times.shown.push(atMs - askedMs);
  stop.abort();
  await watching;
  await pause(READ_MS);
  let beganMs = performance.now();
  await client.decide(view, { decision: "approve", reason: null, narrow: null, ticket: null });
  times.decided.push(performance.now() - beganMs);
  // Whoever shows the session has to have said so: a revocation is told as done by its signed word.
  const session = async () => (await client.sessions()).find(({ run_id }) => run_id === asked.body["run_id"]);
  await until("the session is shown", async () => (await session()) !== undefined);
  await pause(READ_MS);
  const { session_id } = (await session()) ?? { session_id: "" };
  beganMs = performance.now();
  await client.revoke(session_id, "measured");
  times.revoked.push(performance.now() - beganMs);
}

async function measure(emit: Parameters<Bench["run"]>[0], programs: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  chmodSync(folder, 0o755);
  const server = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  const database = join(folder, "database");
  mkdirSync(database);
  const cluster = await makeCluster(programs, database, server, { connections: 120, fsync: true });
  const close: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true }), () => cluster.stop()];
  try {
    const first = await makeHome("http://127.0.0.1:9");
    close.push(first.remove);
    const fleet = await makeFleet(cluster, first, folder);
    close.push(fleet.close);
    await cluster.sql("create role ada login in role gw_operator");
    const random = { bytes: (length: number) => randomBytes(length) };
    const home = openHome(fleet.homes.at(-1) ?? "", random);
    using passphrase = Secret.fromText(readFileSync(first.passphraseFile, "utf8").trim());
    const operator = await unlockOperator(home.readVault(), undefined, passphrase);
    close.push(() => operator.wipe());
    const deps = { clock: createClock(), random, sleep: systemSleep, io: { err: () => undefined } };
    const login = { address: readHubAddress(cluster.url("ada")), password: null, authority: null };
    const client = await connectHubClient(login, { home, operator }, deps as unknown as CliDeps);
    close.push(() => client.close());
    const agent = openPlane(join(fleet.homes[0] ?? "", "agent.sock"));
    close.push(() => agent.close());
    const beside = await cluster.open("ada");
    close.push(() => beside.end());
    const trip: number[] = [];
    const times: Times = { shown: [], decided: [], revoked: [] };
    for (let round = 0; round <= ROUNDS; round++) {
      await measureOnce(client, agent, round === 0 ? { shown: [], decided: [], revoked: [] } : times);
      for (let count = 0; count < 20; count++) {
        const beganMs = performance.now();
        await beside.query("select 1");
        trip.push(performance.now() - beganMs);
      }
    }
    const tripMs = median(trip);
    const rows = [
      ["a question, until its card is opened elsewhere", times.shown],
      ["a signed yes, until its gateway has answered", times.decided],
      [`a revocation, until ${GATEWAYS} gateways have answered`, times.revoked],
    ] as const;
    for (const [name, all] of rows)
      emit({
        case: `${GATEWAYS} gateway processes: ${name}, p50`,
        ...{ value: median(all), unit: "ms", beside: `one round trip to that database: ${tripMs.toFixed(2)} ms` },
        ratio: median(all) / tripMs,
      });
  } finally {
    for (const one of close.reverse()) await one();
  }
}

export const bench: Bench = {
  name: "hub-fleet",
  async run(emit) {
    const programs = findPostgres();
    if (programs === null) console.error("hub-fleet: there is no Postgres; nothing was measured");
    else await measure(emit, programs);
  },
};
