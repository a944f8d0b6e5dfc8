import {
  amountOf,
  type Countable,
  counterOf,
  describeFleetLimit,
  type FleetLimit,
  isCounted,
} from "../../../conventions/budget/fleet-limit.ts";
import type { Counted, HubGate } from "../../../gateway/ports.ts";
import type { LimitKeeper } from "../../../hub/limits.ts";
import type { Shipper } from "../../../hub/ship.ts";
import { type Sleep, Waker } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { HubRules } from "../../../vault/policy/policy.ts";

interface Taken {
  readonly limit: FleetLimit;
  readonly amount: number;
  /** Null where nothing was taken: an earlier send of the same call reserved its money. */
  readonly day: string | null;
}

interface GateParts {
  readonly log: { head(): { readonly frame: number } };
  readonly sleep: Sleep;
  /** As signed policy has them now; null where it names no hub. */
  rules(): HubRules | null;
  /** Null while there is none, such as before the first unlock. */
  shipper(): Pick<Shipper, "reach" | "silentMs" | "status"> | null;
  limits(): LimitKeeper | null;
  /** Resolves once the hub has the intent of this attempt, where it has to. Denied otherwise. */
  arrived(attemptId: string): Promise<void>;
}

/** What signed policy does not let happen without the hub. Where it asks for nothing, nobody waits for anything. */
export function createHubGate({ log, sleep, rules, shipper, limits, arrived }: GateParts): HubGate {
  const holdsAnswers = (): boolean => rules()?.log === "before_answer";

  /** Undefined for not yet. */
  async function reach(frame: number): Promise<boolean | undefined> {
    const stop = new Waker();
    const late = sleep.sleep(defaults.hubWaitMs, stop).then(() => undefined);
    try {
      return await Promise.race([shipper()?.reach(frame) ?? Promise.resolve(false), late]);
    } finally {
      stop.wake();
    }
  }

  function isAway(shares: boolean): boolean {
    const now = shipper();
    return now === null || now.silentMs() === null || wrongWith(now, shares) !== null;
  }

  /** From the hub's last word to this gateway, and by a clock that nobody sets. Before its first word there is none. */
  function isInGrace(): boolean {
    return (shipper()?.silentMs() ?? Infinity) < (rules()?.graceS ?? 0) * 1_000;
  }

  async function take(limit: FleetLimit, amount: number): Promise<string> {
    const keeper = limits();
    if (keeper === null) throw away(" What the limits of the fleet count needs it. Nothing was sent.");
    const day = await keeper.take({ counter: counterOf(limit), most: limit.aDay, amount });
    if (day !== null) return day;
    throw new Denied(
      "fleet_limit_reached",
      `The limit ${limit.name} is reached: ${describeFleetLimit(limit)}, of all gateways together. Nothing was sent. The day ends at midnight UTC.`,
    );
  }

  /** What cannot be given back now stays taken for the day. */
  function change({ limit, day }: Taken, amount: number): void {
    // What was not taken is not given back; what it costs beyond that counts on the day on which it is known.
    if (amount === 0 || (day === null && amount < 0)) return;
    void limits()
      ?.take({ counter: counterOf(limit), most: Infinity, amount, ...(day === null ? {} : { day }) })
      .catch(() => undefined);
  }

  async function countEach(limits: readonly FleetLimit[], send: Countable): Promise<Counted> {
    const taken: Taken[] = [];
    const giveBack = (): void => {
      for (const one of taken) change(one, -one.amount);
    };
    for (const limit of limits) {
      const amount = amountOf(limit, send);
      try {
        taken.push({ limit, amount, day: amount === 0 ? null : await take(limit, amount) });
      } catch (error) {
        giveBack();
        throw error;
      }
    }
    return {
      giveBack,
      settle(cents) {
        for (const one of taken) if (one.limit.counts === "spend_cents") change(one, cents);
      },
    };
  }

  return {
    admit({ sideEffect, standing }) {
      const shares = sideEffect && rules()?.operations === "shared";
      if ((!holdsAnswers() && !shares) || !isAway(shares) || (standing && !sideEffect && isInGrace())) return;
      throw away(
        `${sideEffect || !standing ? "" : " The time for which reads go on without it is over."} Nothing was sent.`,
      );
    },
    async beforeSend({ frame }, attemptId) {
      const [there] = await Promise.all([holdsAnswers() ? reach(frame) : true, arrived(attemptId)]);
      if (there !== true) throw away(" What was about to be sent could not be put on record there, so nothing was.");
      // One that slept since its intent may have been taken over.
      if (rules()?.operations === "shared" && (shipper()?.silentMs() ?? Infinity) >= mostSilentMs(true))
        throw away(
          " It has not heard of this gateway for too long, and another may have taken over. Nothing was sent.",
        );
    },
    count(send) {
      const counting = rules()?.limits.filter((limit) => isCounted(limit, send)) ?? [];
      return counting.length === 0 ? null : countEach(counting, send);
    },
    holdsAnswers,
    async beforeAnswer(sideEffect) {
      const { frame } = log.head();
      // An effect cannot be taken back: its answer waits for the hub, or until policy no longer asks for that.
      while (holdsAnswers() && (await reach(frame)) !== true) {
        if (!sideEffect && isInGrace()) return;
        if (!sideEffect && isAway(false))
          throw away(" It was read, and is not told: the record of it could not be put there.");
        await sleep.sleep(defaults.hubAgainMs);
      }
    },
  };
}

/** For how long the hub may take no word before what needs it is refused. Nobody takes over from a gateway that it heard a moment ago. */
const mostSilentMs = (shares: boolean): number => (shares ? defaults.hubSilentMs / 2 : defaults.hubSilentMs);

/** Why what needs the hub is refused now, as `gw status` says it too. */
export function wrongWith(shipper: Pick<Shipper, "silentMs" | "status">, shares: boolean): Denied | null {
  const silentMs = shipper.silentMs() ?? 0;
  const { trouble } = shipper.status();
  if (trouble !== null || silentMs < mostSilentMs(shares)) return trouble;
  return new Denied(
    "hub_unreachable",
    `The hub's database has taken no word of this gateway for ${Math.floor(silentMs / 1_000)} seconds.`,
  );
}

function away(more: string): Denied {
  return new Denied(
    "hub_unreachable",
    `The hub does not answer, and signed policy lets nothing of this happen without it.${more} Try again when gw status shows the hub.`,
  );
}
