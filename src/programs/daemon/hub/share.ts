import type { Gateway } from "../../../gateway/gateway.ts";
import { type StateKeeper, startState } from "../../../hub/state/state.ts";
import type { Clock, Random, Sleep } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { Denied } from "../../../kernel/failure.ts";
import { mayLend, openHeld, sealHeld } from "../../../vault/held-secret.ts";
import { rawPublicOf } from "../../../vault/keys.ts";
import type { Trust } from "../trust.ts";
import type { OpenCompartment } from "../unlocked.ts";
import { limitSeal } from "./limits.ts";
import { isHome, readableTo, type SecretGuard, STATE_PURPOSE, sharedIn, takenOver } from "./state.ts";
import type { Way } from "./way.ts";

interface SharingParts {
  readonly clock: Clock;
  readonly sleep: Sleep;
  readonly random: Random;
  /** What is in force now. */
  readonly state: { readonly trust: Trust; readonly compartment: OpenCompartment | null };
  readonly worker: string;
  readonly fleet: Gateway["fleet"];
  tell(trouble: Denied): void;
}

/** What is for some gateways alone stays that on the hub. */
export function guardSecrets(state: { readonly trust: Trust }, random: Random, way: () => Way | null): SecretGuard {
  return {
    hide(secret) {
      const lending = way()?.lending ?? null;
      const own = lending === null ? null : rawPublicOf(lending);
      return sealHeld(state.trust.vault, secret, own, random)?.toString("base64") ?? null;
    },
    show(id, sealed) {
      const lending = way()?.lending ?? null;
      if (lending === null) return null;
      using opened = openHeld(lending, state.trust.vault.vaultId, id, Buffer.from(sealed, "base64"));
      return opened?.use((bytes) => bytes.toString("utf8")) ?? null;
    },
  };
}

/** Keeps on the hub what this host has under way, for as long as its state is open: it is told from there. */
export function shareState(
  { membership, identity, connect, notes }: Way,
  opened: OpenCompartment,
  guard: SecretGuard,
  { clock, sleep, random, state, worker, fleet, tell }: SharingParts,
): StateKeeper {
  const { hubId, gateway } = membership;
  return startState({
    ...{ hubId, gateway, vaultId: state.trust.vault.vaultId, identity, clock, sleep, connect },
    seal: limitSeal(opened.service.deriveStateKey(STATE_PURPOSE), random),
    isOpen: () => state.compartment === opened,
    ...sharedIn(opened.store, worker, guard),
    operators: () => state.trust.vault.operators.map(({ approverKey }) => approverKey),
    recall: notes.term,
    lastTerm: notes.lastTerm,
    remember: notes.rememberTerm,
    onTaken: fleet.release,
    awaited: fleet.awaited,
    onTold: (holder, by, rows) => fleet.learnEndings(holder, by, takenOver(rows, guard)),
    has: fleet.hasAdopted,
    isHome,
    requireReadable: readableTo(guard),
    // Both clocks beside the database's: what the other wrote down is moved to ours.
    onAdopted: ({ aheadMs, nowMs, rows, ...left }, operator) =>
      fleet.adopt(
        {
          ...left,
          rows: takenOver(rows, guard),
          aheadMs: within(aheadMs - (clock.wallMs() - nowMs)),
          mayLend: (label) => mayLend(state.trust.vault, label, left.gateway),
        },
        operator,
      ),
    onTrouble: tell,
  });
}

/** What the database says of the time moves nothing further than clocks may be apart. */
const within = (ms: number): number => Math.max(-defaults.hubClockMs, Math.min(ms, defaults.hubClockMs));
