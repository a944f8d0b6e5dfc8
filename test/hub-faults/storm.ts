import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type Json, type Members, makeFolder, until } from "../support/home.ts";
import { failOver, makeSynchronous } from "./faults.ts";
import type { FleetStand, Host } from "./stand.ts";
import { hubSteps } from "./steps.ts";

const CALLERS = 2;
const RAISE = 100;

export interface Weather {
  readonly calls: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly sent: number;
  readonly faults: Readonly<Record<string, number>>;
  /** Effects of which the hub could be asked, when the provider had them, how much of the log it has. */
  readonly witnessed: number;
}

interface Entry {
  readonly host: Host;
  readonly id: string;
  readonly as: string;
  readonly text: string;
}

/** Gateways that call without a break while they, the database and the way there fail; then everything is counted. */
export async function storm(stand: FleetStand, minutes: number, tell: (line: string) => void): Promise<Weather> {
  const entries: Entry[] = [];
  const faults: Record<string, number> = {};
  /** How far the hub had a host's log when the provider got an effect of it. */
  const onHub = new Map<string, number>();
  let limit = 0;
  let over = false;
  let number = 0;
  let raising: Promise<unknown> | null = null;
  const effects = (): number => stand.provider.received.filter(({ method }) => method === "POST").length;

  const raise = async (): Promise<void> => {
    // Before it is signed: whoever has it earlier is allowed it.
    limit = effects() + RAISE;
    const counts = ["--counts", "side_effects", "--pack", "acme", "--a-day", String(limit)];
    await stand.web1.home.operator(["hub", "limit", "things", ...counts]);
  };
  await raise();
  stand.onEffect(async (id) => {
    assert.ok(effects() <= limit, `effect ${effects()} of ${limit}`);
    const sent = await stand.cluster
      .sql<{ statement: string }>("select statement from gw_hub.log_head where gateway = $1", [id.split("-")[0]])
      .catch(() => []);
    if (sent[0] !== undefined) onHub.set(id, Number((JSON.parse(sent[0].statement) as Members)["next_frame"]));
  });

  async function work(host: Host): Promise<void> {
    while (!over) {
      const id = `${host.name}-${++number}`;
      const told = await stand.change(host, id).catch((error: unknown) => ({ as: "lost", text: String(error) }));
      entries.push({ host, id, ...told });
      if (told.as === "success") continue;
      if (told.as === "fleet_limit_reached") {
        raising ??= raise().finally(() => {
          raising = null;
        });
        await raising;
      } else if (/exhausted|run_ended|not_found/.test(told.as)) await stand.openSession(host).catch(() => undefined);
      await pause(100);
    }
  }

  const weather: readonly (readonly [name: string, weight: number, strike: () => Promise<void>])[] = [
    [
      "gateway killed",
      3,
      async () => {
        const host = oneOf(stand.hosts);
        await stand.kill(host);
        await stand.restart(host);
      },
    ],
    [
      "server crashed",
      2,
      async () => {
        await stand.cluster.kill();
        await pause(randomInt(1_500));
        await stand.cluster.start();
      },
    ],
    [
      "connection cut at a statement",
      5,
      async () => {
        const moment = randomInt(2) === 0 ? "before" : "after";
        const { text } = oneOf(hubSteps.slice(0, 4));
        await Promise.race([stand.way.at(oneOf(stand.hosts).name, text, moment), pause(5_000)]);
      },
    ],
    [
      "partition",
      2,
      async () => {
        stand.way.cut();
        await pause(randomInt(10) === 0 ? 30_000 : 2_000);
        stand.way.heal();
      },
    ],
    [
      "synchronous standby promoted",
      1,
      async () => {
        const old = stand.cluster;
        const second = await makeSynchronous(stand, makeFolder());
        await failOver(stand, second);
        // The way stands in the first one's folder.
        rmSync(join(old.folder, "data"), { recursive: true, force: true });
      },
    ],
  ];
  const many = weather.flatMap(([name, weight, strike]) =>
    Array.from({ length: weight }, () => [name, strike] as const),
  );

  const working = stand.hosts.flatMap((host) => Array.from({ length: CALLERS }, () => work(host)));
  const stopAt = performance.now() + minutes * 60_000;
  for (let said = performance.now(); performance.now() < stopAt; ) {
    await pause(500 + randomInt(4_000));
    const [name, strike] = oneOf(many);
    faults[name] = (faults[name] ?? 0) + 1;
    await strike();
    if (performance.now() - said < 60_000) continue;
    said = performance.now();
    tell(`${entries.length} calls, ${effects()} effects, ${JSON.stringify(faults)}`);
  }
  over = true;
  await Promise.all(working);
  limit = Infinity;
  stand.onEffect(null);
  await raise();
  for (const host of stand.hosts) await stand.works(host);
  for (const { id, as, text } of entries) {
    const sent = stand.sent(id);
    assert.ok(sent <= 1, `${id} was sent ${sent} times`);
    if (as === "success") assert.equal(sent, 1, `${id} was told as done`);
    else if (/^hub_|^fleet_|exhausted$/.test(as)) assert.equal(sent, 0, `${id} was refused and sent: ${text}`);
  }
  for (const host of stand.hosts) await proveLog(stand, host, onHub);
  await proveFleet(stand);
  const outcomes: Record<string, number> = {};
  for (const { as } of entries) outcomes[as] = (outcomes[as] ?? 0) + 1;
  return { calls: entries.length, outcomes, sent: effects(), faults, witnessed: onHub.size };
}

const oneOf = <One>(all: readonly One[]): One => all[randomInt(all.length)] as One;

/** The log of a host is whole, and when the provider had an effect, the frame of its intent was on the hub. */
async function proveLog(stand: FleetStand, { name, home }: Host, onHub: ReadonlyMap<string, number>): Promise<void> {
  const local = await home.verify();
  assert.equal(local.code, 0, `${name}: ${local.out}${local.err}`);
  const { out } = await home.must(["audit", "export", "--log", join(home.folder, "audit")]);
  const intents = new Map<string, number>();
  for (const line of out.split("\n")) {
    const id = /"path":"\/v1\/things\/([a-z0-9-]+)"/.exec(line)?.[1];
    if (id !== undefined && !intents.has(id))
      intents.set(id, Number((JSON.parse(line) as Record<string, Json>)["frame"]));
  }
  for (const [id, next] of onHub) {
    if (!id.startsWith(`${name}-`)) continue;
    const frame = intents.get(id);
    assert.ok(frame !== undefined && frame < next, `${id} left with its intent in frame ${frame}, the hub had ${next}`);
  }
  const sent = stand.provider.received.filter(({ method, url }) => method === "POST" && url.includes(`/${name}-`));
  for (const { url } of sent) assert.ok(intents.has(url.slice(url.lastIndexOf("/") + 1)), `${url} is not in the log`);
}

async function proveFleet(stand: FleetStand): Promise<void> {
  await until("all logs verify from the hub alone", async () => {
    const done = await stand.web1.home.run(["audit", "verify", "--hub", stand.url("ada"), "--json"], {
      env: { ...stand.web1.home.environment(), XDG_STATE_HOME: join(dirname(stand.web1.home.folder), "verifier") },
    });
    return done.code === 0;
  });
}
