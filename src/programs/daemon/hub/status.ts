import { counterOf, describeFleetLimit } from "../../../conventions/budget/fleet-limit.ts";
import type { LimitKeeper } from "../../../hub/limits.ts";
import type { Queue } from "../../../hub/queue.ts";
import type { Shipper } from "../../../hub/ship.ts";
import type { StateKeeper } from "../../../hub/state/state.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import type { HubMembership, HubPolicy } from "../../../vault/policy/policy.ts";
import type { Following } from "./follow.ts";
import { wrongWith } from "./gate.ts";
import type { HubWaiting } from "./waiting.ts";

/** What there is of the way to the hub now. */
interface HubParts {
  readonly joined: HubMembership | null;
  readonly shipper: Shipper | null;
  readonly keeper: StateKeeper | null;
  readonly queue: Queue | null;
  readonly limits: LimitKeeper | null;
  readonly waiting: HubWaiting | null;
  readonly following: Following | null;
  readonly trouble: Denied | null;
}

/** How the gateway is with the hub that policy names, as `gw status` has it. */
export function hubStatus({ hubId, rules, gateways }: HubPolicy, parts: HubParts): JsonObject {
  const { joined, shipper, keeper, queue, limits, waiting, following, trouble } = parts;
  const now = shipper?.status() ?? null;
  // One of this vault that signed policy does not name any more has left, whatever the hub said before.
  const fleet = (now?.fleet ?? []).filter(
    (one) => !one.ofVault || gateways.some(({ gateway }) => gateway === one.gateway),
  );
  const kept = keeper?.status() ?? null;
  const away = shipper === null ? null : wrongWith(shipper, rules.operations === "shared");
  const wrong = away ?? kept?.trouble ?? trouble ?? queue?.trouble() ?? following?.trouble() ?? null;
  return {
    hub_id: hubId,
    gateway: joined?.gateway ?? null,
    waits_for_unlock: now === null && trouble === null,
    asks: waiting?.status() ?? null,
    unlock_by_hub: (joined?.waiting ?? waiting?.status() ?? null) !== null,
    reachable_ms: away === null ? (now?.reachableMs ?? null) : null,
    tick: now?.tick ?? null,
    behind: now?.behind ?? null,
    gateways: now === null ? null : fleet.length,
    silent: fleet
      .filter(({ seconds }) => seconds * 1_000 >= defaults.hubSilentMs)
      .map(({ gateway, seconds }) => ({ gateway, seconds: Math.round(seconds) })),
    limits: rules.limits.map((limit) => ({
      name: limit.name,
      says: describeFleetLimit(limit),
      used: limits?.known().find(({ counter }) => counter === counterOf(limit))?.used ?? null,
    })),
    signed: following === null ? null : { ...following.shown() },
    operations: kept === null ? null : { term: kept.term, rows: kept.rows, waiting: kept.waiting },
    trouble: wrong === null ? null : { code: wrong.code, message: wrong.message },
  };
}
