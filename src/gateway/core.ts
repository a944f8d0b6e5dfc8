import type { Now } from "../conventions/budget/budget.ts";
import { type Ceilings, STANDARD_CEILINGS } from "../conventions/budget/ceilings.ts";
import { Denied } from "../kernel/failure.ts";
import type { CallbackNeeds } from "./callback/needs.ts";
import type { DiscoveryNeeds } from "./discovery/needs.ts";
import type { PlanNeeds } from "./plan/needs.ts";
import type { Credentials, LiveCaller, Ports } from "./ports.ts";
import type { RecordNeeds } from "./record/needs.ts";
import { payerOf } from "./record/written.ts";
import type { RollbackNeeds } from "./rollback/needs.ts";
import type { RunNeeds } from "./run/needs.ts";
import type { Waiting } from "./run/waiting.ts";
import type { TokenNeeds } from "./token/needs.ts";
import type { UpgradeNeeds } from "./upgrade/needs.ts";

/** All that the rooms ask for, which the gateway puts together once. A room takes what its own `needs.ts` says. */
export interface Core
  extends CallbackNeeds,
    DiscoveryNeeds,
    PlanNeeds,
    RecordNeeds,
    RollbackNeeds,
    RunNeeds,
    TokenNeeds,
    UpgradeNeeds {
  /** Calls that wait for a person to let their session begin. */
  readonly waiting: Waiting;
}

export function ceilingsOf(core: Pick<Core, "posture">): Ceilings {
  return core.posture().ceilings ?? STANDARD_CEILINGS;
}

export function now({ ports: { clock } }: { readonly ports: Pick<Ports, "clock"> }): Now {
  return { wallMs: clock.wallMs(), bootMs: clock.bootMs(), bootId: clock.bootId() };
}

/** In [0, 1): spreads what many would otherwise do at one moment. */
export function draw({ ports: { random } }: { readonly ports: Pick<Ports, "random"> }): number {
  return random.bytes(1).readUInt8(0) / 256;
}

/** New work needs room for its whole story; what began may still end in the reserve. */
export function requireSpace({ ports }: { readonly ports: Pick<Ports, "space"> }): void {
  if (ports.space?.low() !== true) return;
  throw new Denied(
    "disk_low",
    "The disk under the gateway's home is nearly full, and nothing new is begun. Nothing was sent.",
  );
}

/** A question writes down who asks: not for somebody who had as much written as fits a day before anybody said yes. */
export function requireVolume({ volume }: Pick<Core, "volume">, { uid }: Pick<LiveCaller, "uid">): void {
  if (volume.asks(payerOf(uid))) return;
  throw new Denied(
    "too_many_requests",
    `User ${uid} had as much written down in a day as fits before a person says yes. Go on with a run that stands; a little more fits every few seconds.`,
  );
}

export function requireUnlocked(core: Pick<Core, "credentials">): Credentials {
  const credentials = core.credentials();
  if (credentials === null) {
    throw new Denied("gateway_locked", "The gateway is locked. An operator unlocks it with: gw unlock");
  }
  return credentials;
}
