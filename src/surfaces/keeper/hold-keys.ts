import { sign } from "node:crypto";
import { type LoginStatement, type Signed, signStatement } from "../../conventions/approval/decision.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import { type Compartment, writeCompartment } from "../../vault/compartment.ts";
import { privateKeyOf } from "../../vault/keys.ts";
import { checkPin, decidePin, FRESH_PIN_GUARD } from "../../vault/passphrase/pin.ts";

/** Whose keys they are. */
export interface KeyHolder {
  readonly operator: string;
  readonly keyId: string;
  readonly vaultId: string;
}

export interface KeeperClock {
  /** Counts suspend. */
  bootMs(): number;
  /** Stands still in suspend. */
  runningMs(): number;
}

/** What `gw login` keeps. Reading is free; everything else needs the PIN, and the keys are gone when any of the ends has come. */
export interface HeldKeys {
  readonly holder: KeyHolder;
  readonly hasPin: boolean;
  leftMs(): number;
  /** True while the keys are there; wipes them when the time is over or the machine slept. */
  look(): boolean;
  signReading(vaultId: string, challenge: string): Signed<LoginStatement>;
  /** The raw key that opens the log. */
  readingKey(): Buffer;
  /** All of it, for one command that the person confirmed. */
  open(pin: Secret): Promise<Buffer>;
  wipe(): void;
}

export function holdKeys(holder: KeyHolder, compartment: Compartment, forMs: number, clock: KeeperClock): HeldKeys {
  const overAt = clock.bootMs() + forMs;
  const gap = clock.bootMs() - clock.runningMs();
  let kept: Compartment | null = compartment;
  let guard = FRESH_PIN_GUARD;

  function wipe(): void {
    kept?.wipe();
    kept = null;
  }

  function look(): boolean {
    const slept = clock.bootMs() - clock.runningMs() - gap > defaults.loginSleptMs;
    if (slept || clock.bootMs() >= overAt) wipe();
    return kept !== null;
  }

  function keys(): Compartment {
    look();
    if (kept === null) throw new Denied("login_over", "This login has ended. Log in again: gw login");
    return kept;
  }

  return {
    holder,
    hasPin: compartment.pin !== null,
    leftMs: () => Math.max(0, overAt - clock.bootMs()),
    look,
    signReading(vaultId, challenge) {
      const { approver } = keys();
      if (vaultId !== holder.vaultId) throw new Denied("vault_foreign", "This login is for another vault.");
      const who = { operator: holder.operator, operator_key_id: holder.keyId } as const;
      const statement = { format: "gw.login/v1", vault_id: vaultId, challenge, ...who, reads_only: true } as const;
      return signStatement(statement, { sign: (bytes) => sign(null, bytes, privateKeyOf("ed25519", approver)) });
    },
    readingKey: () => Buffer.from(keys().reading),
    async open(pin) {
      const { pin: verifier } = keys();
      if (verifier === null) throw new Denied("pin_wrong", "This operator has no PIN: gw operator pin sets one.");
      const right = await checkPin(verifier, pin);
      // Many may be checked at once: those that are wrong count against those that are still under way.
      const answer = decidePin(guard, right);
      guard = answer.guard;
      if (answer.kind === "accepted") return writeCompartment(keys());
      if (answer.kind === "wrong") {
        const left = answer.left === 1 ? "1 try is left" : `${answer.left} tries are left`;
        throw new Denied("pin_wrong", `That is not the PIN; ${left}.`);
      }
      wipe();
      throw new Denied("login_over", "Too many wrong PINs: the keys are gone. Log in again: gw login");
    },
    wipe,
  };
}
