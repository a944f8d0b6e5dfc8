import {
  addCredential,
  type NewCredential,
  rebindCredential,
  removeCredential,
  rotateCredential,
  switchCredential,
} from "../../../vault/credential.ts";
import type { Lender } from "../../../vault/extras.ts";
import type { Vault } from "../../../vault/vault.ts";
import { applyChange, type VaultCliPorts, type VaultSession } from "./session.ts";

/** One signed change of one credential, whoever asks for it: a command or the console. */
type Changed = Promise<Vault>;

export function storeCredential(session: VaultSession, ports: VaultCliPorts, given: NewCredential): Changed {
  return applyChange(session, ports, { what: "credential_added", subject: given.label }, async (current) => ({
    vault: await addCredential(current, session.operator, given, ports),
  }));
}

export function renewCredential(
  session: VaultSession,
  ports: VaultCliPorts,
  given: Pick<NewCredential, "label" | "secret" | "keyPassphrase">,
): Changed {
  return applyChange(session, ports, { what: "credential_rotated", subject: given.label }, async (current) => ({
    vault: await rotateCredential(current, session.operator, given, ports),
  }));
}

/** Who may lend it from now on; null for every gateway of the vault. */
export function lendCredential(
  session: VaultSession,
  ports: VaultCliPorts,
  label: string,
  lenders: readonly Lender[] | null,
): Changed {
  return applyChange(session, ports, { what: "credential_lent", subject: label }, (current) => ({
    vault: rebindCredential(current, session.operator, label, { lenders }, ports),
  }));
}

/** Where it may go from now on, and nowhere else. */
export function bindCredential(
  session: VaultSession,
  ports: VaultCliPorts,
  label: string,
  boundTo: readonly string[],
): Changed {
  return applyChange(session, ports, { what: "credential_bound", subject: label }, (current) => ({
    vault: rebindCredential(current, session.operator, label, { boundTo }, ports),
  }));
}

export const CREDENTIAL_CHANGES = {
  disabled: (vault, { operator }, label, ports) => switchCredential(vault, operator, label, true, ports),
  /** Lifts what the gateway suspended as well. */
  enabled: (vault, { operator }, label, ports) => switchCredential(vault, operator, label, false, ports),
  marked_each_use: (vault, { operator }, label, ports) =>
    rebindCredential(vault, operator, label, { eachUse: true }, ports),
  unmarked_each_use: (vault, { operator }, label, ports) =>
    rebindCredential(vault, operator, label, { eachUse: false }, ports),
  removed: (vault, { operator }, label, ports) => removeCredential(vault, operator, label, ports),
} as const satisfies Readonly<
  Record<string, (vault: Vault, session: VaultSession, label: string, ports: VaultCliPorts) => Vault>
>;

export type CredentialVerb = keyof typeof CREDENTIAL_CHANGES;

export function changeCredential(
  session: VaultSession,
  ports: VaultCliPorts,
  label: string,
  verb: CredentialVerb,
): Changed {
  return applyChange(session, ports, { what: `credential_${verb}`, subject: label }, (current) => ({
    vault: CREDENTIAL_CHANGES[verb](current, session, label, ports),
  }));
}
