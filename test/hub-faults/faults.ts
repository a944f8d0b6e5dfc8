import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { type Members, makeFolder, until } from "../support/home.ts";
import type { Standby } from "../support/postgres.ts";
import type { FleetStand, Host } from "./stand.ts";
import { type HubStep, hubSteps } from "./steps.ts";

let rounds = 0;

/** What happens to the database, or to the way there, in a step; afterwards everything goes on by itself, or as `fault` says. */
export interface Fault {
  readonly name: string;
  play(stand: FleetStand, step: HubStep): Promise<void>;
}

/** With a trap for the step's statement on the way; fails where the step never comes that way. */
function trapped(
  name: string,
  moment: "before" | "after",
  act: (stand: FleetStand) => unknown,
  mend: (stand: FleetStand) => unknown,
): Fault {
  return {
    name,
    async play(stand, step) {
      let met = Promise.resolve();
      const check = step.provoke(stand, `x${++rounds}`, () => {
        met = stand.way.at("web1", step.text, moment, () => act(stand)).then(async () => void (await mend(stand)));
        met.catch(() => undefined);
      });
      const proven = await check;
      await met;
      await goesOn(stand);
      await proven();
    },
  };
}

/** Nobody had to do anything, nobody was restarted, and every log is whole. */
async function goesOn(stand: FleetStand): Promise<void> {
  await stand.works(stand.web1);
}

const partition = (seconds: number): Fault =>
  trapped(
    `a partition of ${seconds} s`,
    "before",
    ({ way }) => way.cut(),
    async ({ way }) => {
      await pause(seconds * 1_000);
      way.heal();
    },
  );

export async function failOver(stand: FleetStand, to: Standby): Promise<void> {
  await stand.cluster.kill();
  await to.promote();
  stand.cluster = to;
  stand.way.lead(to);
}

/** From then on nothing is acknowledged that the second server does not have. */
export async function makeSynchronous({ cluster }: FleetStand, folder: string): Promise<Standby> {
  const second = await cluster.standby(folder);
  await cluster.sql("alter system set synchronous_standby_names = 'standby'");
  await cluster.sql("select pg_reload_conf()");
  await until("it is synchronous", async () => {
    return (await cluster.sql("select from pg_stat_replication where sync_state = 'sync'")).length === 1;
  });
  // The view knows before the server waits: it is the checkpointer who has everybody wait, and it reads its settings before its work.
  await cluster.sql("checkpoint");
  return second;
}

export const troubleOf = async ({ home }: Host): Promise<string | null> => {
  const hub = (await home.status())["hub"] as Members;
  return ((hub["trouble"] as Members | null)?.["code"] as string | undefined) ?? null;
};

/** From its next session on, this login is told another time by the database than everybody else. */
async function jumpClock({ cluster }: FleetStand, login: string): Promise<void> {
  await cluster.sql("create schema if not exists odd");
  await cluster.sql("grant usage on schema odd to public");
  await cluster.sql(
    "create or replace function odd.clock_timestamp() returns timestamptz language sql volatile as $$ select pg_catalog.clock_timestamp() + interval '3 days' $$",
  );
  await cluster.sql(`alter role ${login} set search_path = odd, pg_catalog`);
}

async function mendClock({ cluster }: FleetStand, login: string): Promise<void> {
  await cluster.sql(`alter role ${login} reset search_path`);
  await cluster.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", [login]);
}

export const faults: readonly Fault[] = [
  trapped(
    "cut before the commit",
    "before",
    () => undefined,
    () => undefined,
  ),
  trapped(
    "cut after the commit",
    "after",
    () => undefined,
    () => undefined,
  ),
  trapped(
    "a crash of the server",
    "after",
    ({ cluster }) => cluster.kill(),
    ({ cluster }) => cluster.start(),
  ),
  {
    name: "a synchronous standby is promoted",
    async play(stand, step) {
      const second = await makeSynchronous(stand, makeFolder());
      const { play } = trapped(
        "",
        "after",
        () => failOver(stand, second),
        () => undefined,
      );
      await play(stand, step);
    },
  },
  {
    name: "a lagging standby is promoted",
    async play(stand, step) {
      const second = await stand.cluster.standby(makeFolder());
      await second.fallBehind();
      const proven = await step.provoke(stand, `x${++rounds}`, () => undefined);
      await proven();
      // Acknowledged by the first server, and nobody else has it.
      const kept = [await stand.works(stand.web1), await stand.works(stand.web2)];
      await failOver(stand, second);
      for (const host of [stand.web1, stand.web2]) {
        const before = stand.provider.received.length;
        await until("it knows", async () => (await troubleOf(host)) === "hub_rolled_back");
        const refused = await stand.change(host, `x${++rounds}`);
        assert.match(refused.text, /hub_/, refused.text);
        assert.equal(stand.provider.received.length, before, "nothing with an effect is sent");
      }
      for (const { home, name } of [stand.web1, stand.web2])
        await home.must(["hub", "join", stand.url(name), "--name", name, "--unlock-by-hub"]);
      await goesOn(stand);
      await stand.works(stand.web2);
      for (const { id } of kept) assert.equal(stand.sent(id), 1);
    },
  },
  {
    name: "a deadlock",
    async play(stand, step) {
      if (step.tables === null) return;
      const [first, second] = step.tables;
      const other = await stand.cluster.open("owner");
      let proven: (() => Promise<void>) | null = null;
      try {
        await until("the gateway is the one that is refused", async () => {
          const [before] = await stand.cluster.sql<{ deadlocks: string }>(
            "select sum(deadlocks) as deadlocks from pg_stat_database",
          );
          const lock = () =>
            other.query(
              `set deadlock_timeout = '1h'; set lock_timeout = '3s'; begin; lock table gw_hub.${second} in access exclusive mode`,
            );
          const work = step.provoke(stand, `x${++rounds}`, lock);
          work.catch(() => undefined);
          try {
            await until("it waits for the lock", async () => {
              return (
                (
                  await stand.cluster.sql(
                    `select from pg_locks where granted and relation = 'gw_hub.${first}'::regclass and mode = 'RowExclusiveLock' and pid in (select pid from pg_locks where not granted)`,
                  )
                ).length > 0
              );
            });
            await other.query(`lock table gw_hub.${first} in access exclusive mode`).catch(() => undefined);
          } finally {
            await other.query("rollback");
          }
          proven = await work;
          const [after] = await stand.cluster.sql<{ deadlocks: string }>(
            "select sum(deadlocks) as deadlocks from pg_stat_database",
          );
          if (Number(after?.deadlocks) > Number(before?.deadlocks)) return true;
          await proven();
          return false;
        });
      } finally {
        await other.end();
      }
      await goesOn(stand);
      await (proven as (() => Promise<void>) | null)?.();
    },
  },
  trapped(
    "the clock of the database jumps",
    "before",
    (stand) => jumpClock(stand, "web1"),
    async (stand) => {
      await pause(2_000);
      await mendClock(stand, "web1");
    },
  ),
  {
    // Each is within what is let pass, and they are further apart than that.
    name: "the clocks of two hosts are three minutes apart",
    async play(stand, step) {
      const { web1, web2 } = stand;
      await stand.skew(web1, 90);
      await stand.skew(web2, -90);
      try {
        const proven = await step.provoke(stand, `x${++rounds}`, () => undefined);
        await proven();
        for (const host of [web1, web2]) await stand.works(host);
      } finally {
        for (const host of [web1, web2]) await stand.skew(host, 0);
      }
      await goesOn(stand);
    },
  },
  partition(2),
  partition(30),
];

/** By name: one that is not there is an error. */
export async function playFault(stand: FleetStand, fault: string, step: string): Promise<void> {
  const [played, at] = [faults.find(({ name }) => name === fault), hubSteps.find(({ name }) => name === step)];
  assert.ok(played !== undefined && at !== undefined, `${fault}, in ${step}`);
  await played.play(stand, at);
}
