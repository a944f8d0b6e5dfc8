import type { Random } from "../kernel/clock.ts";
import { Fault } from "../kernel/failure.ts";
import { BOX_OVERHEAD_BYTES } from "./box.ts";
import { KDF_SALT_BYTES } from "./kdf.ts";
import { RAW_KEY_BYTES } from "./keys.ts";
import type { PinVerifier } from "./passphrase/pin.ts";

/** What an operator's passphrase opens, as raw private keys. Short-lived: `wipe` as soon as key objects are made. */
export interface Compartment {
  readonly approver: Buffer;
  readonly reading: Buffer;
  readonly wrapping: Buffer;
  readonly pin: PinVerifier | null;
  wipe(): void;
}

const FORMAT = 1;
const KEYS_END = 1 + 3 * RAW_KEY_BYTES;
const PIN_BYTES = 4 + 1 + 1 + KDF_SALT_BYTES + 32;

export function drawCompartment(random: Random): Compartment {
  return compartmentOf(random.bytes(RAW_KEY_BYTES), random.bytes(RAW_KEY_BYTES), random.bytes(RAW_KEY_BYTES), null);
}

export function compartmentOf(
  approver: Buffer,
  reading: Buffer,
  wrapping: Buffer,
  pin: PinVerifier | null,
): Compartment {
  return {
    approver,
    reading,
    wrapping,
    pin,
    wipe() {
      for (const key of [approver, reading, wrapping]) key.fill(0);
    },
  };
}

/** format(1) | approver(32) | reading(32) | wrapping(32) | with a PIN: memory(4) passes(1) lanes(1) salt(16) tag(32). */
export function writeCompartment({ approver, reading, wrapping, pin }: Compartment): Buffer {
  const plain = Buffer.alloc(KEYS_END + (pin === null ? 0 : PIN_BYTES));
  plain[0] = FORMAT;
  for (const [index, key] of [approver, reading, wrapping].entries()) key.copy(plain, 1 + index * RAW_KEY_BYTES);
  if (pin !== null) {
    plain.writeUInt32BE(pin.kdf.memoryKib, KEYS_END);
    plain[KEYS_END + 4] = pin.kdf.passes;
    plain[KEYS_END + 5] = pin.kdf.lanes;
    pin.kdf.salt.copy(plain, KEYS_END + 6);
    pin.tag.copy(plain, KEYS_END + 6 + KDF_SALT_BYTES);
  }
  return plain;
}

/** Told by the length of what is sealed, without a passphrase. */
export function hasPin(sealed: Buffer): boolean {
  return sealed.length === BOX_OVERHEAD_BYTES + KEYS_END + PIN_BYTES;
}

/** Copies out of `plain`, which the caller wipes. */
export function readCompartment(plain: Buffer): Compartment {
  const withPin = plain.length === KEYS_END + PIN_BYTES;
  if (plain[0] !== FORMAT || !(withPin || plain.length === KEYS_END)) {
    throw new Fault("an operator compartment has a form this version does not know");
  }
  const cut = (start: number, length: number) => Buffer.from(plain.subarray(start, start + length));
  const pin = withPin
    ? {
        kdf: {
          memoryKib: plain.readUInt32BE(KEYS_END),
          passes: plain[KEYS_END + 4] ?? 0,
          lanes: plain[KEYS_END + 5] ?? 0,
          salt: cut(KEYS_END + 6, KDF_SALT_BYTES),
        },
        tag: cut(KEYS_END + 6 + KDF_SALT_BYTES, 32),
      }
    : null;
  return compartmentOf(cut(1, 32), cut(33, 32), cut(65, 32), pin);
}
