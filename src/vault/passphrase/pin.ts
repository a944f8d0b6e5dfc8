import { timingSafeEqual } from "node:crypto";
import type { Random } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Secret } from "../../kernel/secret.ts";
import { currentKdf, deriveBytes, KDF_SALT_BYTES, type KdfParameters } from "../kdf.ts";

/**
 * The PIN that `gw watch` asks before an approval in guard-rail mode. It stops typed-in keys, not a person with the
 * files: it lives inside the operator compartment, where the passphrase was already needed.
 */
export interface PinVerifier {
  readonly kdf: KdfParameters;
  readonly tag: Buffer;
}

/** How many wrong PINs in a row; after the last one only the passphrase resets it. */
export interface PinGuard {
  readonly wrong: number;
}

export type PinOutcome =
  | { readonly kind: "accepted"; readonly guard: PinGuard }
  | { readonly kind: "wrong"; readonly guard: PinGuard; readonly left: number }
  | { readonly kind: "passphrase_needed"; readonly guard: PinGuard };

export const FRESH_PIN_GUARD: PinGuard = { wrong: 0 };

/** Pure: once the limit is reached even a right PIN is not accepted. */
export function decidePin(guard: PinGuard, right: boolean): PinOutcome {
  if (needsPassphrase(guard)) return { kind: "passphrase_needed", guard };
  if (right) return { kind: "accepted", guard: FRESH_PIN_GUARD };
  const next = { wrong: guard.wrong + 1 };
  if (needsPassphrase(next)) return { kind: "passphrase_needed", guard: next };
  return { kind: "wrong", guard: next, left: defaults.pinWrong - next.wrong };
}

export function needsPassphrase(guard: PinGuard): boolean {
  return guard.wrong >= defaults.pinWrong;
}

export function checkNewPin(pin: Secret): void {
  const digits = pin.use((bytes) => bytes.every((byte) => byte >= 0x30 && byte <= 0x39));
  if (!digits || pin.byteLength < defaults.pinDigits || pin.byteLength > defaults.pinDigitsMax) {
    throw new Denied("pin_invalid", `A PIN is ${defaults.pinDigits} to ${defaults.pinDigitsMax} digits.`);
  }
}

export async function makePin(pin: Secret, random: Random): Promise<PinVerifier> {
  checkNewPin(pin);
  const kdf = currentKdf(random.bytes(KDF_SALT_BYTES));
  return { kdf, tag: await deriveBytes(pin, kdf) };
}

export async function checkPin(verifier: PinVerifier, pin: Secret): Promise<boolean> {
  const tag = await deriveBytes(pin, verifier.kdf);
  return timingSafeEqual(tag, verifier.tag);
}
