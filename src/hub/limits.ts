import type { Clock, Random, Sleep } from "../kernel/clock.ts";
import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { createAsker } from "./asker.ts";
import type { HubConnection } from "./connect.ts";
import {
  type LimitPlace,
  type LimitRow,
  type LimitSeal,
  type LimitState,
  readLimit,
  writeLimit,
} from "./limit-rows.ts";
import { HUB_SCHEMA } from "./schema.ts";

/** What this host remembers of a limit, so that it knows one that was put back. */
export interface RememberedLimit {
  readonly day: string;
  readonly version: number;
  readonly serial: number;
}

export interface LimitParts {
  readonly hubId: string;
  readonly gateway: string;
  readonly vaultId: string;
  readonly seal: LimitSeal;
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  connect(): Promise<HubConnection>;
  recall(name: string): RememberedLimit | null;
  remember(name: string, seen: RememberedLimit): Promise<void>;
}

export interface LimitAsk {
  /** What it is counted under. */
  readonly counter: string;
  /** What all gateways together may have taken, this included. */
  readonly most: number;
  /** Below zero gives back. */
  readonly amount: number;
  /** Counts for this day, or not at all once it is over. */
  readonly day?: string;
}

export interface LimitKeeper {
  /** The day that it counts for; null where it does not fit any more. Denied `hub_…` where nobody can say: then nothing was granted. */
  take(ask: LimitAsk): Promise<string | null>;
  /** What all gateways took on the last day that was looked at. */
  known(): readonly { readonly counter: string; readonly day: string; readonly used: number }[];
  close(): void;
}

interface Waiting extends LimitAsk {
  tell(day: string | null): void;
  fail(error: unknown): void;
}

interface Counter {
  readonly name: string;
  readonly queue: Waiting[];
  busy: boolean;
  seen: Seen | null;
}

/** Over which connection, too: another one may lead to a database with another clock. */
interface Seen {
  readonly day: string;
  readonly state: LimitState;
  readonly over: number;
}

/** The head once, and not beside every share. */
const LOOK = `select extract(epoch from clock_timestamp())::float8 * 1000 as now_ms, h.version, left(h.login, 63) as login,
    case when row_number() over (order by s.gateway) = 1 then substring(h.sealed from 1 for 1048576) end as head,
    s.gateway, s.serial, substring(s.sealed from 1 for 1024) as share
  from (select) one
  left join ${HUB_SCHEMA}.limit_head h on h.vault = $1 and h.name = $2 and h.day = $3
  left join ${HUB_SCHEMA}.limit_share s on s.vault = $1 and s.name = $2 and s.day = $3
  order by s.gateway limit ${defaults.hubGateways}`;

/** Head and share move together, from the version before and from no other: of two gateways that take at once, one looks again. */
const MOVE = `with head as (
  insert into ${HUB_SCHEMA}.limit_head as h (vault, name, day, version, sealed)
  select $1, $2, $3, $4::bigint, $5
   where $4::bigint = 1 or exists (select from ${HUB_SCHEMA}.limit_head where vault = $1 and name = $2 and day = $3)
  on conflict (vault, name, day) do update set version = $4::bigint, sealed = $5, login = current_user where h.version = $4::bigint - 1
  returning 1
), share as (
  insert into ${HUB_SCHEMA}.limit_share (vault, name, day, gateway, serial, sealed)
  select $1, $2, $3, $6, $7::bigint, $8 where exists (select from head)
  on conflict (vault, name, day, gateway) do update set serial = $7::bigint, sealed = $8
)
select exists (select from head) as moved`;

const DAY_MS = 86_400_000;

/** Counts what all gateways of one vault take on a day. What is in doubt counts as taken: never one too many. */
export function startLimits(parts: LimitParts): LimitKeeper {
  const { gateway, seal, clock, sleep, random } = parts;
  const counters = new Map<string, Counter>();
  let lost = 0;
  async function connect(): Promise<HubConnection> {
    const made = await parts.connect();
    made.onLost(() => {
      lost++;
    });
    return made;
  }
  const { ask, close } = createAsker(
    { connect, sleep },
    {
      over: "This gateway no longer counts on this hub. Nothing was sent.",
      late: "The hub did not answer in time, so that nothing could be counted there.",
    },
  );

  const placeOf = (name: string, day: string): LimitPlace => {
    const { hubId, vaultId } = parts;
    return { hubId, vaultId, name, day };
  };
  const keysOf = ({ vaultId, name, day }: LimitPlace): readonly string[] => [vaultId, seal.hide(name), day];

  /** The day is the later of our clock's and the database's, which have to agree: neither alone begins a new one. */
  async function look({ name }: Counter): Promise<{ readonly day: string; readonly state: LimitState }> {
    const remembered = parts.recall(name);
    for (let asked = laterOf(dayOf(clock.wallMs()), remembered?.day); ; ) {
      const place = placeOf(name, asked);
      const rows = await ask<LimitRow>(LOOK, keysOf(place), "limit");
      const hubMs = Number(rows[0]?.now_ms);
      const wallMs = clock.wallMs();
      if (!(Math.abs(hubMs - wallMs) <= defaults.hubClockMs)) throw clockOff(hubMs, wallMs);
      const day = laterOf(dayOf(Math.max(hubMs, wallMs)), remembered?.day);
      if (day !== asked) {
        asked = day;
        continue;
      }
      const state = readLimit(rows, place, gateway, seal);
      const known = remembered?.day === day ? remembered : null;
      if (known !== null && (state.version < known.version || state.own.serial < known.serial)) throw putBack(name);
      // Whoever was only refused has seen it too: what is gone after that grants nothing.
      if (state.version > (known?.version ?? 0))
        await parts.remember(name, { day, version: state.version, serial: state.own.serial });
      return { day, state };
    }
  }

  async function write(counter: Counter, { day, state, over }: Seen, used: number): Promise<boolean> {
    const { name } = counter;
    const place = placeOf(name, day);
    const { next, head, share } = writeLimit(state, used, place, gateway, seal);
    const values = [...keysOf(place), next.version, head, gateway, next.own.serial, share];
    const [row] = await ask<{ moved: boolean }>(MOVE, values, "take");
    if (row?.moved !== true) return false;
    counter.seen = { day, state: next, over };
    await parts.remember(name, { day, version: next.version, serial: next.own.serial });
    if (next.own.serial === 1) await sweep(day).catch(() => undefined);
    return true;
  }

  /** Own shares, and heads, of days that nobody asks for any more. */
  async function sweep(day: string): Promise<void> {
    const before = dayOf(Date.parse(day) - defaults.hubLimitDays * DAY_MS);
    const { vaultId } = parts;
    await ask(`delete from ${HUB_SCHEMA}.limit_share where vault = $1 and gateway = $2 and day < $3`, [
      vaultId,
      gateway,
      before,
    ]);
    await ask(`delete from ${HUB_SCHEMA}.limit_head where vault = $1 and day < $2`, [vaultId, before]);
  }

  /** All that came meanwhile is decided together, in the order in which it came. */
  async function decide(counter: Counter, batch: readonly Waiting[]): Promise<void> {
    const untilMs = clock.bootMs() + 2 * defaults.hubWaitMs;
    while (clock.bootMs() < untilMs) {
      const { seen } = counter;
      const cached = seen?.day === dayOf(clock.wallMs()) && seen.over === lost ? seen : null;
      counter.seen = null;
      // A connection that is lost from here on is not the one that this was seen over.
      const over = lost;
      const { day, state } = cached ?? (await look(counter));
      let { used } = state.own;
      const fits = batch.map(({ amount, most, day: only = day }) => {
        if (only !== day) return true;
        if (amount > 0 && state.others + used + amount > most) return false;
        used = Math.max(0, used + amount);
        return true;
      });
      // What was seen a while ago refuses nobody: somebody may have given back.
      if (cached !== null && fits.includes(false)) continue;
      if (used === state.own.used) counter.seen = { day, state, over };
      else if (!(await write(counter, { day, state, over }, used))) {
        await sleep.sleep((random.bytes(1)[0] ?? 0) % defaults.hubLimitSpreadMs);
        continue;
      }
      for (const [at, { tell }] of batch.entries()) tell(fits[at] === true ? day : null);
      return;
    }
    throw new Denied("hub_unreachable", "Too many gateways count at once for this one to get its turn. Try again.");
  }

  async function work(counter: Counter): Promise<void> {
    if (counter.busy) return;
    counter.busy = true;
    while (counter.queue.length > 0) {
      const batch = counter.queue.splice(0, defaults.hubLimitBatch);
      try {
        await decide(counter, batch);
      } catch (error) {
        // Whether it was written is not known: what is there is read the next time, and nobody was granted anything.
        counter.seen = null;
        for (const { fail } of batch) fail(error);
      }
    }
    counter.busy = false;
  }

  return {
    take: (asked) =>
      new Promise((tell, fail) => {
        const { counter: name } = asked;
        const counter = counters.get(name) ?? { name, queue: [], busy: false, seen: null };
        counters.set(name, counter);
        counter.queue.push({ ...asked, tell, fail });
        void work(counter);
      }),
    known: () =>
      [...counters.values()].flatMap(({ name, seen }) =>
        seen === null ? [] : [{ counter: name, day: seen.day, used: seen.state.others + seen.state.own.used }],
      ),
    close,
  };
}

function dayOf(ms: number): string {
  return isoTime(ms).slice(0, 10);
}

function laterOf(day: string, other: string | undefined): string {
  return other !== undefined && other > day ? other : day;
}

function putBack(name: string): Denied {
  return new Denied(
    "hub_rolled_back",
    `The hub shows less of the limit ${name} than this gateway saw. Nothing that it counts is sent today. Find out what happened to the database; then sign that you know: gw hub join URL, with the same name.`,
  );
}

function clockOff(hubMs: number, wallMs: number): Denied {
  return new Denied(
    "hub_clock_off",
    `The clock of the hub's database and of this host are ${Math.round(Math.abs(hubMs - wallMs) / 1000)} s apart, so that they may not agree on the day. Set the wrong one right.`,
  );
}
