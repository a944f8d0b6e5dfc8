import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { GATEWAY_FLAGS, gatewayEnvironment } from "../src/programs/start-gateway.ts";
import { findPostgres, makeCluster } from "../test/support/postgres.ts";
import { type Bench, median } from "./bench.ts";
import { startApprover } from "./calls/approver.ts";
import { type BenchHome, makeHome } from "./calls/home.ts";

const here = join(import.meta.dirname, "calls");
const root = join(import.meta.dirname, "..");
const [SECONDS, WARM_SECONDS, ROUNDS] = [3, 4, 2];
const run = promisify(execFile);

interface Load {
  readonly rate: number;
  readonly calls: number;
  readonly cpuUs: number;
  readonly p50: number;
  /** Of the database, which is another process and elsewhere another machine. */
  readonly databaseUs: number;
}

/** A gateway that stands alone, and one that shares on a hub what it has under way, in turns of one run. */
async function measure(emit: Parameters<Bench["run"]>[0], programs: string): Promise<void> {
  const children: ChildProcess[] = [];
  const close: (() => unknown)[] = [];
  const approvers: ReturnType<typeof startApprover>[] = [];
  const start = (args: readonly string[], env = process.env): ChildProcess => {
    const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...args], {
      stdio: ["ignore", "pipe", "inherit", "ipc"],
      env,
    });
    children.push(child);
    return child;
  };
  const up = async ({ folder, keyFile }: BenchHome): Promise<ChildProcess> => {
    const program = join(root, "src/programs/gateway.ts");
    const gateway = start([...GATEWAY_FLAGS, program, folder, "--key-file", keyFile], gatewayEnvironment());
    await firstLine(gateway);
    return gateway;
  };
  const folder = mkdtempSync(join(tmpdir(), "gw-bench-"));
  chmodSync(folder, 0o755);
  const server = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
  const cluster = await makeCluster(programs, folder, server, { fsync: true });
  close.push(() => rmSync(folder, { recursive: true, force: true }));
  close.push(() => cluster.stop());
  try {
    const origin = `http://127.0.0.1:${await firstLine(start([join(here, "provider.ts")]))}`;
    const homes = [await makeHome(origin), await makeHome(origin)] as const;
    close.push(...homes.map((home) => home.remove));
    const [alone, joined] = homes;
    const gateways = [await up(alone), await up(joined)] as const;
    const gw = (...args: readonly string[]) =>
      run(join(root, "bin/gw"), [...args, "--home", joined.folder], {
        env: { ...process.env, XDG_STATE_HOME: join(joined.folder, "../state") },
      });
    await gw("hub", "init", cluster.url("owner"));
    await cluster.sql("create role web1 login in role gw_gateway");
    const operator = ["--passphrase-file", joined.passphraseFile];
    await gw("hub", "join", cluster.url("web1"), "--name", "web1", ...operator);
    await gw("hub", "set", "--operations", "shared", ...operator);
    approvers.push(...homes.map((home) => startApprover(home)));

    for (const what of ["reads", "side effects"] as const) {
      const effects = what === "side effects";
      const turn = async (concurrency: number, seconds: number): Promise<readonly [Load, Load]> => {
        const loads = [];
        for (const [at, { folder: home }] of homes.entries()) {
          const before = databaseTicks(cluster.folder);
          const done = await load(join(home, "agent.sock"), gateways[at], { concurrency, effects, seconds });
          const databaseUs = ((databaseTicks(cluster.folder) - before) * US_PER_TICK) / done.calls;
          loads.push({ ...done, databaseUs });
        }
        return loads as [Load, Load];
      };
      await turn(64, WARM_SECONDS);
      for (const concurrency of [1, 64]) {
        const rounds: (readonly [Load, Load])[] = [];
        for (let round = 0; round < ROUNDS; round++) rounds.push(await turn(concurrency, SECONDS));
        const of = (at: 0 | 1, value: keyof Load): number => median(rounds.map((one) => one[at][value]));
        const rows = [
          ["per second", "rate", "1/s"],
          ["median", "p50", "ms"],
          ["processor time of one", "cpuUs", "µs"],
        ] as const;
        for (const [name, value, unit] of rows)
          emit({
            case: `${what} with a hub, ${name}, ${concurrency} callers`,
            ...{ value: of(1, value), unit, beside: `without: ${of(0, value).toFixed(2)} ${unit}` },
            ratio: of(1, value) / of(0, value),
          });
        emit({
          case: `${what} with a hub, processor time of the database for one, ${concurrency} callers`,
          ...{ value: of(1, "databaseUs"), unit: "µs", beside: `the gateway itself: ${of(1, "cpuUs").toFixed(2)} µs` },
          ratio: of(1, "databaseUs") / of(1, "cpuUs"),
        });
      }
    }
  } finally {
    for (const one of approvers) await one.stop();
    // A gateway that stops gives its last frames to the hub: what it reads them from is not removed before.
    await Promise.all(children.map(endOf));
    for (const one of close.reverse()) await one();
  }
}

async function endOf(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  await exited;
}

/** Linux counts processor time in hundredths of a second. */
const US_PER_TICK = 10_000;

/** Of the server and all that it started. */
function databaseTicks(folder: string): number {
  const server = readFileSync(join(folder, "data", "postmaster.pid"), "utf8").split("\n")[0];
  let ticks = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^[0-9]+$/.test(name))) {
    const fields = statOf(pid);
    if (fields !== null && (pid === server || fields[1] === server)) ticks += Number(fields[11]) + Number(fields[12]);
  }
  return ticks;
}

/** From its state on, the third field; null for who ended meanwhile. */
function statOf(pid: string): readonly string[] | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return null;
  }
}

async function load(
  socketPath: string,
  server: ChildProcess | undefined,
  how: object,
): Promise<Omit<Load, "databaseUs">> {
  const job = JSON.stringify({ target: { socketPath }, ...how, gateway: true, pid: server?.pid ?? null });
  const { stdout } = await run(process.execPath, [join(here, "load.ts"), job]);
  return JSON.parse(stdout) as Omit<Load, "databaseUs">;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8").split("\n")[0] ?? ""));
    child.once("exit", (code) => reject(new Error(`a bench process ended with ${code}`)));
  });
}

export const bench: Bench = {
  name: "hub",
  async run(emit) {
    const programs = findPostgres();
    if (programs === null) console.error("hub: there is no Postgres; nothing was measured");
    else await measure(emit, programs);
  },
};
