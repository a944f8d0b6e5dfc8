import { createHmac, type KeyObject } from "node:crypto";
import type { Clock, Random, Sleep } from "../../../src/kernel/clock.ts";
import { isoTime } from "../../../src/kernel/clock.ts";
import type { PromotionPlan } from "./deployment/shelf.ts";
import type { Faults } from "./faults.ts";
import type { Identify } from "./identify.ts";
import type { MembershipPlan } from "./membership/shelf.ts";
import type { PlanShelf } from "./plan/shelf.ts";
import type { Signer } from "./signatures/verify.ts";
import type { Store } from "./store.ts";
import type { TokenKeys } from "./tokens/keys.ts";

/** What every part of the provider works with. One process owns the file. */
export interface Core {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly sleep: Sleep;
  readonly identify: Identify;
  readonly faults: Faults;
  readonly tokens: TokenKeys;
  /** Whose signed requests are taken. */
  readonly signers: readonly Signer[];
  readonly plans: PlanShelf<MembershipPlan>;
  readonly promotions: PlanShelf<PromotionPlan>;
  /** Seals cursors and plan tokens: what comes back was made here. */
  readonly macKey: KeyObject;
  /** The provider's own address, which links are written with; never the Host that a client sent. */
  readonly origin: string;
  readonly artifactFolder: string;
  /** Whether anybody takes webhooks: what nobody subscribed to is not written down. */
  subscribed(): boolean;
  /** Wakes the courier: something was committed that must be told outside. */
  published(): void;
  /** Named steps of an execution, for tests that stop the process there. */
  step(name: ExecuteStep): void;
}

export type ExecuteStep = "execute_applied" | "execute_committed";

export function nowIso(core: Pick<Core, "clock">): string {
  return isoTime(core.clock.wallMs());
}

export function macOf(core: Pick<Core, "macKey">, purpose: string, text: string): string {
  return createHmac("sha256", core.macKey).update(`${purpose}\n${text}`).digest("base64url");
}
