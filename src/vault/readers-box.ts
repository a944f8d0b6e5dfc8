import { createSecretKey, type KeyObject } from "node:crypto";
import { openSealed, sealFor } from "../audit/keys/hpke.ts";
import type { Random } from "../kernel/clock.ts";
import { Secret } from "../kernel/secret.ts";
import { BOX_OVERHEAD_BYTES, seal, unseal } from "./box.ts";
import { keyIdOf, publicKeyOf, RAW_KEY_BYTES, rawPublicOf } from "./keys.ts";

/**
 * One value that several private keys open, and the service key does not: a box under a key of its own, which is wrapped for each
 * reader (HPKE). count(1) | count × [key id(16) | encapsulation(32) | wrapped key(48)] | box.
 */
const ID_BYTES = 16;
const WRAPPED_BYTES = RAW_KEY_BYTES + RAW_KEY_BYTES + 16;
const ENTRY_BYTES = ID_BYTES + WRAPPED_BYTES;
const MOST_READERS = 255;
const INFO = Buffer.from("gw readers v1");

export const readersBoxBytes = (readers: number, plain: number): number =>
  1 + readers * ENTRY_BYTES + BOX_OVERHEAD_BYTES + plain;

/** Readers are raw X25519 public keys. */
export function sealForReaders(readers: readonly Buffer[], aad: string, plain: Buffer, random: Random): Buffer {
  if (readers.length === 0 || readers.length > MOST_READERS) throw new RangeError("1 to 255 readers");
  using key = Secret.take(random.bytes(RAW_KEY_BYTES));
  return key.use((bytes) =>
    Buffer.concat([
      Buffer.from([readers.length]),
      ...readers.flatMap((reader) => {
        const { encapsulated, sealed } = sealFor(publicKeyOf("x25519", reader), INFO, Buffer.from(aad), bytes, random);
        return [idOf(reader), encapsulated, sealed];
      }),
      seal(createSecretKey(bytes), aad, plain, random),
    ]),
  );
}

/** Undefined where this key is no reader of it, or it was sealed for another place. */
export function openForReader(reader: KeyObject, aad: string, sealed: Buffer): Secret | undefined {
  const count = sealed[0] ?? 0;
  const end = 1 + count * ENTRY_BYTES;
  if (sealed.length < end) return undefined;
  const mine = idOf(rawPublicOf(reader));
  for (let at = 1; at < end; at += ENTRY_BYTES) {
    if (!sealed.subarray(at, at + ID_BYTES).equals(mine)) continue;
    const encapsulated = sealed.subarray(at + ID_BYTES, at + ID_BYTES + RAW_KEY_BYTES);
    const wrapped = { encapsulated, sealed: sealed.subarray(at + ID_BYTES + RAW_KEY_BYTES, at + ENTRY_BYTES) };
    const bytes = openSealed(reader, wrapped, INFO, Buffer.from(aad));
    if (bytes === undefined) return undefined;
    using key = Secret.take(bytes);
    return unseal(
      key.use((raw) => createSecretKey(raw)),
      aad,
      sealed.subarray(end),
    );
  }
  return undefined;
}

function idOf(rawPublic: Buffer): Buffer {
  return Buffer.from(keyIdOf(rawPublic), "hex");
}
