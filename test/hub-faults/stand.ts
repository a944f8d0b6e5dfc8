import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { answerJson, consequentialPack } from "../support/consequential.ts";
import {
  call,
  type Gateway,
  type Home,
  type Members,
  makeFolder,
  openPlane,
  openRun,
  type Plane,
  type Reply,
  until,
} from "../support/home.ts";
import { QuickHome } from "../support/operator-key.ts";
import { makePartition, type Partition } from "../support/partition.ts";
import { type Cluster, makeCluster } from "../support/postgres.ts";
import { startProvider, type TestProvider } from "../support/provider.ts";
import { idIn, idOf } from "../support/reply.ts";

const ACTIONS = ["acme.report.create", "acme.thing.change", "acme.thing.get"];
// A caller has few runs open at once: each ends soon by itself.
const BUDGET = { attempts: 5_000, side_effects: 1_000, duration_seconds: 240 };

export interface Host {
  readonly name: string;
  readonly home: Home;
  gateway: Gateway;
  agent: Plane;
  run: string;
  /** Whether its date is set by a file beside its home, through its restarts too. */
  ownClock: boolean;
}

/** What an effect came to: `outcome` or the code by which it was refused. */
export interface Told {
  readonly id: string;
  readonly as: string;
  readonly text: string;
}

/**
 * Two gateways or more of one vault as real processes, everything shared and before the answer, a limit that counts each effect, and one
 * way to the database that all of them take.
 */
export interface FleetStand {
  /** The server that takes writes now. */
  cluster: Cluster;
  readonly way: Partition;
  readonly hosts: readonly Host[];
  readonly web1: Host;
  readonly web2: Host;
  readonly provider: TestProvider;
  url(user: string): string;
  restart(host: Host): Promise<void>;
  kill(host: Host): Promise<void>;
  /** Sets its date so many seconds ahead. */
  skew(host: Host, seconds: number): Promise<void>;
  change(host: Host, id: string): Promise<Told>;
  /** Opens a session anew, as its agent does when the one before is spent. */
  openSession(host: Host): Promise<void>;
  /** The same, once its gateway can. */
  opensSessions(host: Host): Promise<void>;
  /** How often the provider was asked for it. */
  sent(id: string): number;
  /** Called when the provider has an effect; it answers when that is through. */
  onEffect(act: ((id: string) => unknown) | null): void;
  /** From now on the provider takes effects and answers none; what was held so is never answered. */
  hold(holds: boolean): void;
  /** Resolves once an effect of this host is taken by the provider and told as done. */
  works(host: Host): Promise<Told>;
  close(): Promise<void>;
}

/** A gateway that has loaded it goes by a date that is set beside its home. */
const SET_CLOCK = join(import.meta.dirname, "..", "support", "set-clock.ts");
const clockOf = ({ folder }: Home): string => `${folder}.clock`;

/** A question whose asker was cut off would stand before all that come later. */
async function denyAll(home: Home): Promise<void> {
  const { code, out } = await home.operator(["approvals", "--json"]);
  const cards = code === 0 ? (JSON.parse(out) as readonly Members[]) : [];
  for (const card of cards)
    await home.operator(["deny", idOf(card, "approval_id"), "--reason", "nobody asks any more"]);
}

export async function makeFleet(programs: string, more: readonly string[] = [], ownClock = false): Promise<FleetStand> {
  const [cluster, provider] = await Promise.all([makeCluster(programs, makeFolder()), startProvider()]);
  const way = await makePartition(cluster);
  const url = (user: string): string => `postgres://${user}@/postgres?host=${way.folder}&port=${cluster.port}`;
  const things = new Map<string, string>();
  let told: ((id: string) => unknown) | null = null;
  let holds = false;
  const held: ServerResponse[] = [];
  provider.answer(async ({ method, url: path, body }, response) => {
    const id = path.slice("/v1/things/".length);
    if (method === "POST") {
      things.set(id, String((JSON.parse(body) as Members)["name"]));
      await told?.(id);
      if (holds) return void held.push(response);
    }
    answerJson(response, 200, { id, name: things.get(id) ?? null });
  });
  const first = await new QuickHome(makeFolder()).init();
  await first.addCredential("acme-token", provider.origin);
  await first.trustPack("acme", consequentialPack(provider.origin));
  assert.equal((await first.run(["hub", "init", cluster.url("owner")])).code, 0);
  const names = ["web2", ...more];
  await cluster.sql("create role ada login in role gw_operator");
  for (const name of ["web1", ...names]) await cluster.sql(`create role ${name} login in role gw_gateway`);
  const begin = async (name: string, home: Home): Promise<Host> => {
    if (ownClock) writeFileSync(clockOf(home), "0");
    const gateway = ownClock ? await home.upWith(SET_CLOCK) : await home.up();
    await home.must(["hub", "join", url(name), "--name", name, "--unlock-by-hub"]);
    const agent = openPlane(home.agentSocket);
    return { name, home, gateway, agent, run: "", ownClock };
  };
  const web1 = await begin("web1", first);
  await first.must(["hub", "limit", "things", "--counts", "side_effects", "--pack", "acme", "--a-day", "100000"]);
  await first.must(["hub", "set", "--log", "before_answer", "--operations", "shared"]);
  const others: Host[] = [];
  for (const name of names) {
    others.push(await begin(name, new QuickHome(makeFolder()).carryFrom(first, "packs")));
    await until("all have the same policy", async () => {
      const all = await Promise.all([web1, ...others].map((host) => host.home.status()));
      return new Set(all.map((one) => one["policy_version"])).size === 1;
    });
  }
  const hosts = [web1, ...others];
  const [web2 = web1] = others;

  let counted = 0;
  const opening = new Map<Host, Promise<void>>();
  // A caller has one card shown at a time: whoever asks meanwhile waits for that one, and leaves none behind that nobody would answer.
  const openSession = (host: Host): Promise<void> => {
    const made =
      opening.get(host) ??
      openRun(host.home, host.agent, ACTIONS, BUDGET)
        .then((run) => {
          host.run = run;
        })
        .catch(async (error: unknown) => {
          await denyAll(host.home);
          throw error;
        })
        .finally(() => opening.delete(host));
    opening.set(host, made);
    return made;
  };
  const opensSessions = async (host: Host): Promise<void> => {
    let wrong: unknown;
    const opens = (): Promise<boolean> =>
      openSession(host).then(
        () => true,
        (error: unknown) => {
          wrong = error;
          return false;
        },
      );
    await until(`${host.name} opens sessions`, opens, 120_000).catch((error: Error) => {
      throw new Error(error.message, { cause: wrong });
    });
  };
  const outcomeOf = ({ body }: Reply): string => String(body["outcome"] ?? body["code"]);
  const change = async (host: Host, id: string): Promise<Told> => {
    const first = await call(host.agent, host.run, "acme.thing.change", { id, name: `named ${id}` });
    // An agent is kept waiting for half a minute at most, and asks again for what is not over by then.
    const over = async (): Promise<Reply | false> => {
      const now = await host.agent.ask("GET", idIn(first, "status_path"));
      return now.status !== 202 && now;
    };
    const reply = first.status === 202 ? await until("it is told", over) : first;
    return { id, as: outcomeOf(reply), text: reply.text };
  };
  const stand: FleetStand = {
    ...{ cluster, way, hosts, web1, web2, provider, url, openSession, opensSessions, change },
    async restart(host) {
      host.gateway = host.ownClock ? await host.home.upWith(SET_CLOCK) : await host.home.up();
      host.agent.close();
      host.agent = openPlane(host.home.agentSocket);
      await opensSessions(host);
    },
    async kill(host) {
      process.kill(host.gateway.pid, "SIGKILL");
      await host.gateway.exited;
    },
    async skew(host, seconds) {
      writeFileSync(clockOf(host.home), String(seconds));
      if (host.ownClock) return;
      host.ownClock = true;
      await stand.kill(host);
      await stand.restart(host);
    },
    sent: (id) =>
      provider.received.filter(({ method, url: path }) => method === "POST" && path.endsWith(`/${id}`)).length,
    onEffect(act) {
      told = act;
    },
    hold(next) {
      holds = next;
      for (const response of held.splice(0)) response.destroy();
    },
    works: (host) =>
      until(
        `effects of ${host.name} go on`,
        async () => {
          const done = await change(host, `w${++counted}`);
          if (/exhausted|run_ended/.test(done.as)) await openSession(host);
          return done.as === "success" && done;
        },
        120_000,
      ),
    async close() {
      for (const response of held) response.destroy();
      for (const { agent, gateway } of hosts) {
        agent.close();
        await gateway.end();
      }
      way.close();
      await provider.close();
      await stand.cluster.stop();
    },
  };
  for (const host of hosts) await openSession(host);
  return stand;
}
