import { type ChildProcess, execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { placeProduct } from "../scripts/place-product.ts";
import { GATEWAY_FLAGS, gatewayEnvironment } from "../src/programs/start-gateway.ts";
import { type Bench, median, type Row } from "./bench.ts";
import { startApprover } from "./calls/approver.ts";
import { makeHome, TOKEN } from "./calls/home.ts";
import { measureSync } from "./sync.ts";

const here = join(import.meta.dirname, "calls");
const root = join(import.meta.dirname, "..");
const SECONDS = 3;
const ROUNDS = 2;

interface Load {
  readonly rate: number;
  /** All that were made, also those before anything was measured. */
  readonly calls: number;
  /** What a call took of the process that served it: it holds also where other work shares the machine. */
  readonly cpuUs: number;
  readonly p50: number;
  readonly p99: number;
}

interface Round {
  readonly proxy: Load;
  readonly ours: Load;
  readonly nginx: Load | null;
}

/** The first thousands of calls are compilation, of either side: they are made before anything is measured. */
const WARM_SECONDS = 8;
/** After so many reads the gateway's memory is looked at. One load is no more than a run may have. */
const READS = 100_000;
const LOAD_SECONDS = 60;

/** Mediated reads and side effects through the agent socket, durable log on, beside a bare proxy and beside nginx in the same run. */
export const bench: Bench = {
  name: "calls",
  async run(emit) {
    // As it is installed: few files, in which a call goes from one room to the next without looking the module up.
    const product = mkdtempSync(join(tmpdir(), "gw-product-"));
    await placeProduct(root, product);
    const children: ChildProcess[] = [];
    const provider = start(children, "provider.ts", []);
    const providerPort = Number(await firstLine(provider));
    const origin = `http://127.0.0.1:${providerPort}`;
    const proxy = start(children, "proxy.ts", [origin, TOKEN]);
    const proxyPort = Number(await firstLine(proxy));
    const nginx = await startNginx(children, origin);
    const home = await makeHome(origin);
    let approver: ReturnType<typeof startApprover> | undefined;
    try {
      const gateway = spawn(
        process.execPath,
        [...GATEWAY_FLAGS, join(product, "dist/src/programs/gateway.js"), home.folder, "--key-file", home.keyFile],
        { stdio: ["ignore", "pipe", "inherit"], env: gatewayEnvironment() },
      );
      children.push(gateway);
      await firstLine(gateway);
      const idleKib = residentKib(gateway);
      approver = startApprover(home);
      const syncMs = measureSync(home.folder);
      const socketPath = join(home.folder, "agent.sock");
      let calls = 0;
      const throughOurs = async (how: How): Promise<Load> => {
        const measured = await load({ socketPath }, how, gateway);
        calls += measured.calls;
        return measured;
      };
      const reportMemory = (after: string): void => {
        const kib = residentKib(gateway);
        emit({
          case: `memory of the gateway after ${after}`,
          value: kib / 1_024,
          unit: "MiB",
          beside: `before the first: ${(idleKib / 1_024).toFixed(0)} MiB`,
          ratio: kib / idleKib,
        });
      };
      for (const what of ["reads", "side effects"] as const) {
        const effects = what === "side effects";
        await load({ port: proxyPort }, { concurrency: 64, effects, seconds: WARM_SECONDS }, proxy);
        await throughOurs({ concurrency: 64, effects, seconds: WARM_SECONDS });
        for (const concurrency of [1, 16, 64]) {
          const rounds: Round[] = [];
          const how = { concurrency, effects, seconds: SECONDS };
          for (let round = 0; round < ROUNDS; round++) {
            rounds.push({
              proxy: await load({ port: proxyPort }, how, proxy),
              ours: await throughOurs(how),
              nginx: nginx === null ? null : await load({ port: nginx.port }, how, null),
            });
          }
          report(emit, what, concurrency, rounds, syncMs);
        }
        if (effects) continue;
        while (calls < READS) await throughOurs({ concurrency: 64, effects, seconds: LOAD_SECONDS });
        reportMemory(`${READS.toLocaleString("en")} reads`);
      }
      reportMemory("all of them");
    } finally {
      await approver?.stop();
      for (const child of children) child.kill("SIGTERM");
      nginx?.remove();
      home.remove();
      rmSync(product, { recursive: true, force: true });
    }
  },
};

function report(
  emit: (row: Row) => void,
  what: string,
  concurrency: number,
  rounds: readonly Round[],
  syncMs: number,
): void {
  const of = (road: "proxy" | "ours" | "nginx", value: keyof Load): number =>
    median(rounds.flatMap((round) => round[road]?.[value] ?? []));
  const rate = of("ours", "rate");
  emit({
    case: `${what} per second, ${concurrency} callers`,
    value: rate,
    unit: "1/s",
    beside: "Fastify+undici proxy",
    ratio: rate / of("proxy", "rate"),
  });
  if (rounds[0]?.nginx != null) {
    emit({
      case: `${what} per second, ${concurrency} callers`,
      value: rate,
      unit: "1/s",
      beside: "nginx",
      ratio: rate / of("nginx", "rate"),
    });
  }
  const cpuUs = (road: "proxy" | "ours"): number => median(rounds.map((round) => round[road].cpuUs));
  emit({
    case: `processor time of one, ${what}, ${concurrency} callers`,
    value: cpuUs("ours"),
    unit: "µs",
    beside: "Fastify+undici proxy",
    ratio: cpuUs("ours") / cpuUs("proxy"),
  });
  for (const share of ["p50", "p99"] as const) {
    const added = of("ours", share) - of("proxy", share);
    emit({
      case: `added ${share}, ${what}, ${concurrency} callers`,
      value: added,
      unit: "ms",
      beside: `two log syncs + 1 ms = ${(2 * syncMs + 1).toFixed(2)} ms`,
      ratio: added / (2 * syncMs + 1),
    });
  }
}

interface How {
  readonly concurrency: number;
  readonly effects: boolean;
  readonly seconds: number;
}

async function load(target: object, how: How, server: ChildProcess | null): Promise<Load> {
  const job = JSON.stringify({ target, ...how, gateway: "socketPath" in target, pid: server?.pid ?? null });
  const { stdout } = await promisify(execFile)(process.execPath, [join(here, "load.ts"), job]);
  return JSON.parse(stdout) as Load;
}

function residentKib({ pid }: ChildProcess): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
}

function start(children: ChildProcess[], file: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(here, file), ...args], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  children.push(child);
  return child;
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => resolve(chunk.toString("utf8").split("\n")[0] ?? ""));
    child.once("exit", (code) => reject(new Error(`a bench process ended with ${code}`)));
  });
}

async function startNginx(children: ChildProcess[], origin: string): Promise<{ port: number; remove(): void } | null> {
  if (!existsSync("/usr/sbin/nginx")) {
    console.error("calls: nginx is absent, so that peer is left out");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "gw-nginx-"));
  const port = await freePort();
  const config = join(folder, "nginx.conf");
  writeFileSync(
    config,
    `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 512; }
http {
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
  upstream provider { server ${origin.slice("http://".length)}; keepalive 64; }
  server { listen 127.0.0.1:${port}; location / { proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Authorization "Bearer ${TOKEN}"; proxy_pass http://provider; } }
}`,
  );
  children.push(spawn("/usr/sbin/nginx", ["-c", config, "-p", folder], { stdio: ["ignore", "ignore", "inherit"] }));
  await new Promise((resolve) => setTimeout(resolve, 500));
  return { port, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
