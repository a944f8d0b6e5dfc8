import { isoTime } from "../kernel/clock.ts";
import type { Secret } from "../kernel/secret.ts";
import { findEntry } from "./entry.ts";
import type { Suspension, Vault } from "./vault.ts";
import { checkServiceKey, noteInVault } from "./verify.ts";

/** Pure form of `suspend`, for a vault that was read again from its file. */
export function suspendCredential(
  vault: Vault,
  serviceKey: Secret,
  label: string,
  reason: string,
  wallMs: number,
): Vault {
  const { version } = findEntry(vault, label);
  const { suspended, serial } = vault.notes;
  if (suspended.some((one) => one.label === label && one.version === version)) return vault;
  const note = { label, version, reason: reason.slice(0, 200).toWellFormed(), at: isoTime(wallMs) };
  const others = suspended.filter((one) => one.label !== label);
  return noteInVault(vault, { serial: serial + 1, suspended: [...others, note] }, serviceKey);
}

/** Suspensions only add up: what the gateway of one host stopped lending is not lent again by a file from another. */
export function mergeNotes({ notes: own }: Vault, next: Vault, serviceKey: Secret): Vault {
  try {
    checkServiceKey(next, serviceKey);
  } catch {
    return next;
  }
  const isThere = ({ label, version }: Suspension, list: readonly Suspension[]): boolean =>
    list.some((one) => one.label === label && one.version === version);
  const ours = own.suspended.filter(
    (one) =>
      next.credentials.some(({ label, version }) => label === one.label && version === one.version) &&
      !isThere(one, next.notes.suspended),
  );
  if (ours.length === 0 && next.notes.serial >= own.serial) return next;
  const suspended = [...next.notes.suspended, ...ours];
  return noteInVault(next, { serial: Math.max(own.serial, next.notes.serial) + 1, suspended }, serviceKey);
}
