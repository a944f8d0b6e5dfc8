import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { Pool } from "undici";
import { type Bench, median } from "./bench.ts";
import type { BenchServer } from "./reference-server.ts";

const CALLERS = 16;
const ROUND_MS = 700;
const ROUNDS = 5;

export const bench: Bench = {
  name: "reference",
  async run(emit) {
    const servers = [await start("ours"), await start("peer")] as const;
    const pools = servers.map(({ server }) => new Pool(server.origin, { connections: CALLERS, pipelining: 1 }));
    const cases = {
      "list 20 projects": (index: number) => ask(pools[index], servers[index], "GET", "/v1/projects?limit=20"),
      promote: (index: number) => {
        const { releases = [] } = servers[index]?.server ?? {};
        const release = releases[Math.floor(Math.random() * releases.length)] ?? "";
        return ask(pools[index], servers[index], "POST", "/v1/deployments/promote", {
          environment: "staging",
          release,
        });
      },
    };
    try {
      for (const [name, call] of Object.entries(cases)) {
        const rates: readonly [number[], number[]] = [[], []];
        for (const index of [0, 1]) await load(() => call(index), ROUND_MS / 2);
        // Turn about, so that what else the machine does falls on both.
        for (let round = 0; round < ROUNDS; round++) {
          for (const index of [0, 1] as const) rates[index].push(await load(() => call(index), ROUND_MS));
        }
        const [ours, peer] = [median(rates[0]), median(rates[1])];
        emit({
          case: name,
          value: Math.round(ours),
          unit: "requests/s",
          beside: "bare Fastify, same SQL",
          ratio: ours / peer,
        });
      }
    } finally {
      await Promise.all(pools.map((pool) => pool.destroy()));
      for (const { child } of servers) {
        const gone = once(child, "exit");
        child.disconnect();
        await gone;
      }
    }
  },
};

interface Started {
  readonly child: ChildProcess;
  readonly server: BenchServer;
}

async function start(which: "ours" | "peer"): Promise<Started> {
  const env = { ...process.env, GW_BENCH_REFERENCE: which };
  const child = fork(join(import.meta.dirname, "reference-server.ts"), { env, execArgv: process.execArgv });
  const [server] = (await once(child, "message")) as [BenchServer];
  return { child, server };
}

async function ask(
  pool: Pool | undefined,
  started: Started | undefined,
  method: "GET" | "POST",
  path: string,
  body?: object,
): Promise<void> {
  const headers = {
    authorization: `Bearer ${started?.server.token}`,
    ...(body === undefined ? {} : { "content-type": "application/json", "idempotency-key": randomUUID() }),
  };
  const reply = await pool?.request({
    method,
    path,
    headers,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  await reply?.body.dump();
  if (reply?.statusCode !== 200 && reply?.statusCode !== 201)
    throw new Error(`${method} ${path}: ${reply?.statusCode}`);
}

/** Calls per second with a fixed number of callers, each waiting for its answer. */
async function load(call: () => Promise<void>, ms: number): Promise<number> {
  const start = performance.now();
  let calls = 0;
  const caller = async (): Promise<void> => {
    while (performance.now() - start < ms) {
      await call();
      calls++;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return calls / ((performance.now() - start) / 1000);
}
