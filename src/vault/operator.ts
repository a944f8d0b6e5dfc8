import { type KeyObject, sign } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import { type Clock, isoTime, type Random } from "../kernel/clock.ts";
import { Denied, Fault } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { type Compartment, drawCompartment, readCompartment, writeCompartment } from "./compartment.ts";
import { checkKdf, currentKdf, deriveKey, KDF_SALT_BYTES, type KdfParameters } from "./kdf.ts";
import { type KeyId, keyIdOf, privateKeyOf, rawPublicOf } from "./keys.ts";
import { type AdmitRecord, checkOperatorName, lineageBytes, type OperatorKeys, vaultIdOf } from "./lineage.ts";
import type { PinVerifier } from "./passphrase/pin.ts";
import { checkPassphrase } from "./passphrase/strength.ts";
import { drawRequestKey } from "./request-key.ts";
import { SERVICE_KEY_BYTES } from "./service-key.ts";
import { sealStateRoot } from "./state-root.ts";
import type { OperatorSlot, Vault } from "./vault.ts";
import { checkServiceKey, signVault } from "./verify.ts";
import { unwrapWith, wrapFor } from "./wrap.ts";

/** An operator whose compartment is open. Lives in the operator's own process, never in the gateway. */
export interface OpenOperator {
  readonly name: string;
  readonly keyId: KeyId;
  readonly vaultId: string;
  readonly approver: {
    readonly publicKey: Buffer;
    /** For signers that want the key itself; it never leaves this process. */
    readonly key: KeyObject;
    sign(bytes: Buffer): Buffer;
  };
  readonly readingKey: KeyObject;
  /** What the client hands to the gateway to unlock it. */
  readonly serviceKey: Secret;
  readonly pin: PinVerifier | null;
  wipe(): void;
}

export interface VaultPorts {
  readonly clock: Pick<Clock, "wallMs">;
  readonly random: Random;
}

export interface NewVault {
  readonly operatorName: string;
  readonly passphrase: Secret;
}

export async function createVault(
  { operatorName, passphrase }: NewVault,
  { clock, random }: VaultPorts,
): Promise<{ readonly vault: Vault; readonly operator: OpenOperator }> {
  checkOperatorName(operatorName);
  checkPassphrase(passphrase);
  const compartment = drawCompartment(random);
  const keys = publicHalves(operatorName, compartment);
  const vaultId = vaultIdOf(keys.approverKey);
  const serviceKey = Secret.take(random.bytes(SERVICE_KEY_BYTES));
  const operator = openOperator(vaultId, keys, compartment, serviceKey);
  const founder = { ...admission(keys, keys.keyId, isoTime(clock.wallMs())), previous: null };
  const lineage = [{ ...founder, signature: operator.approver.sign(lineageBytes(vaultId, founder)) }];
  const slot = await sealSlot(vaultId, keys, compartment, serviceKey, passphrase, random);
  compartment.wipe();
  const stateRoot = random.bytes(32);
  const sealedRoot = sealStateRoot(serviceKey, vaultId, stateRoot, random);
  stateRoot.fill(0);
  const requestKey = drawRequestKey(serviceKey, vaultId, random);
  const draft = { vaultId, lineage, slots: [slot], stateRoot: sealedRoot, requestKey, credentials: [], restored: null };
  return { vault: signVault(draft, null, operator, { serial: 0, suspended: [] }, clock), operator };
}

/** Opens one operator's compartment; `passphrase_wrong` costs the same time as a right one. */
export async function unlockOperator(
  vault: Vault,
  name: string | undefined,
  passphrase: Secret,
): Promise<OpenOperator> {
  const { slot } = findSlot(vault, name);
  return await openCompartment(vault, slot.name, await openSlot(vault.vaultId, slot, passphrase));
}

/** An operator by keys that a passphrase opened before, held against the vault as it is now. Wipes the compartment. */
export async function openCompartment(vault: Vault, name: string, compartment: Compartment): Promise<OpenOperator> {
  const { slot, keys } = findSlot(vault, name);
  try {
    const mine = publicHalves(slot.name, compartment);
    if (mine.keyId !== keys.keyId) throw new Fault("an operator compartment opened with keys that are not its own");
    const info = wrapInfo(vault.vaultId, keys.keyId);
    const serviceKey = await unwrapWith(compartment.wrapping, info, slot.serviceKey);
    if (serviceKey === undefined) throw new Denied("vault_tampered", "The wrapped service key is not this operator's.");
    checkServiceKey(vault, serviceKey);
    return openOperator(vault.vaultId, keys, compartment, serviceKey);
  } finally {
    compartment.wipe();
  }
}

/** Refuses an operator whose keys are from before a change: what they would seal or sign fits no longer. */
export function requireOperator(vault: Vault, operator: OpenOperator): void {
  if (!vault.operators.some(({ keyId }) => keyId === operator.keyId)) {
    throw new Denied("operator_unknown", `${operator.name} is no operator of this vault any more.`);
  }
  checkServiceKey(vault, operator.serviceKey);
}

/** The slot by name; without a name only when there is one. */
export function findSlot(
  vault: Vault,
  name: string | undefined,
): { readonly slot: OperatorSlot; readonly keys: OperatorKeys } {
  const names = vault.slots.map((slot) => slot.name).join(", ");
  if (name === undefined && vault.slots.length > 1) {
    throw new Denied("operator_unknown", `This vault has several operators: say which one with --operator (${names}).`);
  }
  const slot = name === undefined ? vault.slots[0] : vault.slots.find((one) => one.name === name);
  const keys = vault.operators.find((one) => one.keyId === slot?.keyId);
  if (slot === undefined || keys === undefined) {
    throw new Denied("operator_unknown", `No operator has that name; this vault has ${names}.`);
  }
  return { slot, keys };
}

export async function openSlot(vaultId: string, slot: OperatorSlot, passphrase: Secret): Promise<Compartment> {
  checkKdf(slot.kdf);
  const key = await deriveKey(passphrase, slot.kdf);
  const plain = unseal(key, slotAad(vaultId, slot.name, slot.keyId, slot.kdf), slot.compartment);
  if (plain === undefined) {
    throw new Denied("passphrase_wrong", `That is not the passphrase of ${slot.name}. Nothing was unlocked.`, {
      extra: { operator: slot.name },
    });
  }
  try {
    return plain.use(readCompartment);
  } finally {
    plain.wipe();
  }
}

export async function sealSlot(
  vaultId: string,
  keys: OperatorKeys,
  compartment: Compartment,
  serviceKey: Secret,
  passphrase: Secret,
  random: VaultPorts["random"],
): Promise<OperatorSlot> {
  const { name, keyId, wrappingKey } = keys;
  const kdf = currentKdf(random.bytes(KDF_SALT_BYTES));
  const key = await deriveKey(passphrase, kdf);
  const plain = writeCompartment(compartment);
  const sealed = seal(key, slotAad(vaultId, name, keyId, kdf), plain, random);
  plain.fill(0);
  return {
    name,
    keyId,
    kdf,
    compartment: sealed,
    serviceKey: await wrapFor(wrappingKey, wrapInfo(vaultId, keyId), serviceKey),
  };
}

export function publicHalves(name: string, compartment: Compartment): OperatorKeys {
  const approverKey = rawPublicOf(privateKeyOf("ed25519", compartment.approver));
  return {
    name,
    keyId: keyIdOf(approverKey),
    approverKey,
    readingKey: rawPublicOf(privateKeyOf("x25519", compartment.reading)),
    wrappingKey: rawPublicOf(privateKeyOf("x25519", compartment.wrapping)),
  };
}

export function admission(keys: OperatorKeys, by: KeyId, at: string): Omit<AdmitRecord, "signature" | "previous"> {
  return { change: "admit", ...keys, by, at };
}

export function openOperator(
  vaultId: string,
  keys: OperatorKeys,
  compartment: Compartment,
  serviceKey: Secret,
): OpenOperator {
  // Key objects live outside the JavaScript heap; dropping the reference is the only wiping Node offers for them.
  let approverKey: KeyObject | null = privateKeyOf("ed25519", compartment.approver);
  let readingKey: KeyObject | null = privateKeyOf("x25519", compartment.reading);
  return {
    name: keys.name,
    keyId: keys.keyId,
    vaultId,
    approver: {
      publicKey: keys.approverKey,
      get key() {
        return approverKey ?? usedAfterWipe();
      },
      sign(bytes) {
        return sign(null, bytes, approverKey ?? usedAfterWipe());
      },
    },
    get readingKey() {
      return readingKey ?? usedAfterWipe();
    },
    serviceKey,
    pin: compartment.pin,
    wipe() {
      approverKey = null;
      readingKey = null;
      serviceKey.wipe();
    },
  };
}

function usedAfterWipe(): never {
  throw new Fault("an operator's key was used after it was wiped");
}

export function wrapInfo(vaultId: string, keyId: KeyId): string {
  return canonicalJson({ format: "gw.vault/v1", vault_id: vaultId, compartment: "service key", key_id: keyId });
}

function slotAad(vaultId: string, name: string, keyId: KeyId, kdf: KdfParameters): string {
  return canonicalJson({
    format: "gw.vault/v1",
    vault_id: vaultId,
    compartment: "operator",
    name,
    key_id: keyId,
    memory_kib: kdf.memoryKib,
    passes: kdf.passes,
    lanes: kdf.lanes,
  });
}
