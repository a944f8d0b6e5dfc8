import { demoPack, Home, makeFolder, openPlane, openRun, type Plane } from "../test/support/home.ts";
import { findPostgres, makeCluster } from "../test/support/postgres.ts";
import { startProvider } from "../test/support/provider.ts";
import { type Bench, median, type Row } from "./bench.ts";

const SECONDS = 2;
const ROUNDS = 2;
/** A run has a thousand side effects at most, and some are on their way when it is noticed. */
const MOST = 950;
const CALLERS = [1, 16] as const;

type Kind = "read" | "write";

interface Measured {
  readonly rate: number;
  readonly p50: number;
}

/**
 * Reads and writes of one gateway without a hub, with one that nobody waits for, with one that every answer waits for, and with a
 * limit of the fleet that counts each. Same machine, same disk; the database does not flush.
 */
export const bench: Bench = {
  name: "hub",
  async run(emit) {
    const programs = findPostgres();
    if (programs === null || process.getuid?.() === 0) {
      console.error("hub: left out, since Postgres is absent or this is root, whom it refuses");
      return;
    }
    const [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
    const home = await new Home(makeFolder()).init();
    await home.addCredential("demo-token", provider.origin);
    await home.trustPack("demo", demoPack(provider.origin));
    const gateway = await home.up();
    const plane = openPlane(home.agentSocket);
    try {
      const alone = await measureAll(home, plane);
      await home.run(["hub", "init", cluster.url("owner")]);
      await cluster.sql("create role web1 login in role gw_gateway");
      await home.must(["hub", "join", cluster.url("web1"), "--name", "web1"]);
      report(emit, "hub, log behind", await measureAll(home, plane), alone);
      await home.must(["hub", "set", "--log", "before_answer"]);
      report(emit, "hub, before the answer", await measureAll(home, plane), alone);
      await home.must(["hub", "set", "--log", "behind"]);
      await home.must(["hub", "limit", "all", "--counts", "attempts", "--pack", "demo", "--a-day", "1000000000"]);
      report(emit, "hub, counted by a limit", await measureAll(home, plane), alone);
    } finally {
      plane.close();
      await gateway.end();
      await provider.close();
      await cluster.stop();
    }
  },
};

function report(
  emit: (row: Row) => void,
  how: string,
  measured: ReadonlyMap<string, Measured>,
  alone: ReadonlyMap<string, Measured>,
): void {
  for (const [what, { rate, p50 }] of measured) {
    const before = alone.get(what) ?? { rate: Number.NaN, p50: Number.NaN };
    emit({ case: `${what}: ${how}`, value: rate, unit: "1/s", beside: "without a hub", ratio: rate / before.rate });
    emit({
      case: `${what}: ${how}, added p50`,
      value: p50 - before.p50,
      unit: "ms",
      beside: "without a hub",
      ratio: p50 / before.p50,
    });
  }
}

async function measureAll(home: Home, plane: Plane): Promise<ReadonlyMap<string, Measured>> {
  const all = new Map<string, Measured>();
  for (const kind of ["read", "write"] as const)
    for (const callers of CALLERS) {
      const rounds: Measured[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(home, plane, kind, callers));
      const of = (value: keyof Measured): number => median(rounds.map((one) => one[value]));
      all.set(`${kind}s, ${callers} callers`, { rate: of("rate"), p50: of("p50") });
    }
  return all;
}

let made = 0;

async function measure(home: Home, plane: Plane, kind: Kind, callers: number): Promise<Measured> {
  const budget = { attempts: 10_000, side_effects: 1_000 };
  const run = await openRun(home, plane, ["demo.thing.get", "demo.thing.make"], budget);
  const times: number[] = [];
  const begun = performance.now();
  const until = begun + SECONDS * 1_000;
  const once = async (): Promise<void> => {
    const ask =
      kind === "read"
        ? { action: "demo.thing.get", input: { id: "7" } }
        : { action: "demo.thing.make", input: { name: `thing ${made++}` } };
    const start = performance.now();
    const reply = await plane.ask("POST", `/v1/runs/${run}/calls`, ask, { prefer: "wait=30" });
    if (reply.body["outcome"] !== "success") throw new Error(`${reply.status} ${reply.text.slice(0, 300)}`);
    times.push(performance.now() - start);
  };
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < until && times.length < MOST) await once();
    }),
  );
  return { rate: times.length / ((performance.now() - begun) / 1_000), p50: median(times) };
}
