import { isoTime } from "../kernel/clock.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { type Compartment, compartmentOf, drawCompartment } from "./compartment.ts";
import {
  checkOperatorName,
  type LineageRecord,
  lineageBytes,
  lineageHead,
  type OperatorKeys,
  type Unsigned,
} from "./lineage.ts";
import {
  admission,
  findSlot,
  type NewVault,
  type OpenOperator,
  openSlot,
  publicHalves,
  requireOperator,
  sealSlot,
  type VaultPorts,
  wrapInfo,
} from "./operator.ts";
import { makePin } from "./passphrase/pin.ts";
import { checkPassphrase } from "./passphrase/strength.ts";
import { drawRequestKey, resealRequestKey } from "./request-key.ts";
import { resealCredentials, shareLent } from "./reseal.ts";
import { SERVICE_KEY_BYTES } from "./service-key.ts";
import { openStateRoot, sealStateRoot } from "./state-root.ts";
import type { OperatorSlot, Vault } from "./vault.ts";
import { signVault } from "./verify.ts";
import { wrapFor } from "./wrap.ts";

/** Before anybody chooses a passphrase for it. */
export function checkNewName(vault: Vault, operatorName: string): void {
  checkOperatorName(operatorName);
  if (vault.operators.some(({ name }) => name === operatorName)) {
    throw new Denied("operator_exists", `${operatorName} is an operator already. Choose another name.`);
  }
}

/** Admits a second operator: someone who is one signs for them and wraps the service key to their new key. */
export async function addOperator(
  vault: Vault,
  by: OpenOperator,
  { operatorName, passphrase }: NewVault,
  { clock, random }: VaultPorts,
): Promise<Vault> {
  requireOperator(vault, by);
  checkNewName(vault, operatorName);
  checkPassphrase(passphrase);
  if (vault.operators.length >= defaults.vaultOperators) full();
  const compartment = drawCompartment(random);
  try {
    const keys = publicHalves(operatorName, compartment);
    const lineage = lengthened(vault, by, admission(keys, by.keyId, isoTime(clock.wallMs())));
    const slot = await sealSlot(vault.vaultId, keys, compartment, by.serviceKey, passphrase, random);
    const credentials = shareLent(vault, by, [...vault.operators, keys], random);
    return signVault({ ...vault, lineage, credentials, slots: [...vault.slots, slot] }, vault, by, vault.notes, clock);
  } finally {
    compartment.wipe();
  }
}

/** Before `by` signs for it. */
export function checkRemovable(vault: Vault, name: string, by: string): OperatorKeys {
  const { keys } = findSlot(vault, name);
  if (vault.operators.length === 1) {
    throw new Denied(
      "operator_last",
      "The last operator cannot be removed: nobody could decide or read any more. Add another one first: gw operator add NAME",
    );
  }
  if (name !== by) return keys;
  throw new Denied(
    "operator_self",
    `Operators do not remove themselves: another one has to sign for it, with gw operator remove ${name} --operator NAME`,
  );
}

/**
 * Removes an operator and replaces the service key, which they knew: every secret is sealed again and the new key is
 * wrapped for those who stay. A key file and a running gateway need the new key afterwards.
 */
export async function removeOperator(
  vault: Vault,
  by: OpenOperator,
  name: string,
  { clock, random }: VaultPorts,
): Promise<{ readonly vault: Vault; readonly operator: OpenOperator }> {
  requireOperator(vault, by);
  const gone = checkRemovable(vault, name, by.name);
  const serviceKey = Secret.take(random.bytes(SERVICE_KEY_BYTES));
  const operator = withServiceKey(by, serviceKey);
  const at = isoTime(clock.wallMs());
  const lineage = lengthened(vault, by, { change: "remove", keyId: gone.keyId, by: by.keyId, at });
  const staying = vault.operators.filter(({ keyId }) => keyId !== gone.keyId);
  const slots = await Promise.all(staying.map((keys) => rewrapped(vault, keys, serviceKey)));
  using root = openStateRoot(by.serviceKey, vault);
  const stateRoot = root.use((bytes) => sealStateRoot(serviceKey, vault.vaultId, bytes, random));
  const requestKey = resealRequestKey(vault, by.serviceKey, serviceKey, random);
  const credentials = resealCredentials(vault, by.serviceKey, serviceKey, random);
  const draft = {
    vaultId: vault.vaultId,
    lineage,
    slots,
    stateRoot,
    requestKey,
    credentials,
    restored: vault.restored,
  };
  return { vault: signVault(draft, vault, operator, vault.notes, clock), operator };
}

/** Another key for the requests to hosts: each refuses until its manifest pins the new one. */
export function replaceRequestKey(vault: Vault, by: OpenOperator, { clock, random }: VaultPorts): Vault {
  requireOperator(vault, by);
  const requestKey = drawRequestKey(by.serviceKey, vault.vaultId, random);
  return signVault({ ...vault, requestKey }, vault, by, vault.notes, clock);
}

/** The keys stay; the slot is sealed under the new passphrase. Copies of the old file still open with the old one. */
export function changePassphrase(
  vault: Vault,
  operator: OpenOperator,
  old: Secret,
  passphrase: Secret,
  ports: VaultPorts,
): Promise<Vault> {
  checkPassphrase(passphrase);
  return resealSlot(vault, operator, old, passphrase, (compartment) => Promise.resolve(compartment), ports);
}

/** Sets or takes away the PIN of `gw watch`; the passphrase is asked again because the compartment is sealed anew. */
export function setPin(
  vault: Vault,
  operator: OpenOperator,
  passphrase: Secret,
  pin: Secret | null,
  ports: VaultPorts,
): Promise<Vault> {
  const withPin = async ({ approver, reading, wrapping }: Compartment): Promise<Compartment> =>
    compartmentOf(approver, reading, wrapping, pin === null ? null : await makePin(pin, ports.random));
  return resealSlot(vault, operator, passphrase, passphrase, withPin, ports);
}

async function resealSlot(
  vault: Vault,
  operator: OpenOperator,
  old: Secret,
  passphrase: Secret,
  change: (compartment: Compartment) => Promise<Compartment>,
  { clock, random }: VaultPorts,
): Promise<Vault> {
  requireOperator(vault, operator);
  const { slot, keys } = findSlot(vault, operator.name);
  const compartment = await openSlot(vault.vaultId, slot, old);
  try {
    const changed = await change(compartment);
    const sealed = await sealSlot(vault.vaultId, keys, changed, operator.serviceKey, passphrase, random);
    const slots = vault.slots.map((one) => (one === slot ? sealed : one));
    return signVault({ ...vault, slots }, vault, operator, vault.notes, clock);
  } finally {
    compartment.wipe();
  }
}

/** The same operator with the new service key; wiping it wipes both. */
function withServiceKey(by: OpenOperator, serviceKey: Secret): OpenOperator {
  const { name, keyId, vaultId, approver, pin } = by;
  return {
    name,
    keyId,
    vaultId,
    approver,
    pin,
    get readingKey() {
      return by.readingKey;
    },
    serviceKey,
    wipe() {
      by.wipe();
      serviceKey.wipe();
    },
  };
}

async function rewrapped(vault: Vault, keys: OperatorKeys, serviceKey: Secret): Promise<OperatorSlot> {
  const { slot } = findSlot(vault, keys.name);
  return { ...slot, serviceKey: await wrapFor(keys.wrappingKey, wrapInfo(vault.vaultId, keys.keyId), serviceKey) };
}

type NewRecord =
  Unsigned<LineageRecord> extends infer Record ? (Record extends unknown ? Omit<Record, "previous"> : never) : never;

function lengthened(vault: Vault, by: OpenOperator, record: NewRecord): readonly LineageRecord[] {
  if (vault.lineage.length >= defaults.vaultLineage) full();
  const last = vault.lineage.at(-1);
  const linked = { ...record, previous: last === undefined ? null : lineageHead(last) };
  return [...vault.lineage, { ...linked, signature: by.approver.sign(lineageBytes(vault.vaultId, linked)) }];
}

function full(): never {
  throw new Denied(
    "operators_full",
    "The vault has no room for another operator. Make a new vault and move the credentials.",
  );
}
