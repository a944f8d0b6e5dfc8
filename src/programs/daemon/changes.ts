import { isDeepStrictEqual } from "node:util";
import type { HouseEvent } from "../../gateway/record/ledger.ts";
import type { Envelope } from "../../gateway/record/record.ts";
import type { KeyId } from "../../vault/keys.ts";
import { type Policy, type PolicySettings, SAFE_SETTINGS } from "../../vault/policy/policy.ts";
import type { CredentialEntry, OperatorSlot, Vault } from "../../vault/vault.ts";
import type { Trust } from "./trust.ts";

/** What an operator changed in the signed files, one event a change. Both sides were verified; this only tells. */
export function changesBetween(before: Trust, next: Trust, envelope: Envelope): HouseEvent[] {
  const vault = vaultChanges(before.vault, next.vault, envelope);
  if (next.policy === null) {
    const code = next.trouble?.code ?? "policy_tampered";
    return [...vault, { ...envelope("policy_refused"), code, policy_digest: null }];
  }
  if (next.policy.digest === before.policy?.digest) return vault;
  return [
    ...vault,
    ...policyChanges(before.policy, next.policy, nameOfKey(next.vault, next.policy.signedBy), envelope),
  ];
}

function policyChanges(before: Policy | null, next: Policy, by: string, envelope: Envelope): HouseEvent[] {
  const events: HouseEvent[] = [
    {
      ...envelope("policy_changed"),
      policy_digest: next.digest,
      previous_digest: before?.digest ?? null,
      generation: next.version,
      signed_by: by,
      operator_key_id: next.signedBy,
      changes: before === null ? ["nothing was in force before"] : [...describePolicyChanges(before, next)],
    },
  ];
  const packs = compare(before?.packs ?? [], next.packs, ({ pack }) => pack);
  for (const { pack, digest } of [...packs.added, ...packs.changed]) {
    events.push({ ...envelope("pack_trusted"), pack, pack_digest: digest, by });
  }
  for (const { pack, digest } of packs.gone) {
    events.push({ ...envelope("pack_removed"), pack, pack_digest: digest, by });
  }
  const callers = compare(before?.callers ?? [], next.callers, ({ imageDigest }) => imageDigest);
  for (const { authority, imageDigest } of [...callers.added, ...callers.changed]) {
    events.push({ ...envelope("caller_enrolled"), authority, image_digest: imageDigest, by });
  }
  for (const { authority, imageDigest } of callers.gone) {
    events.push({ ...envelope("caller_removed"), authority, image_digest: imageDigest, by });
  }
  const readers = compare(before?.auditRecipients ?? [], next.auditRecipients, ({ keyId }) => keyId);
  if (readers.added.length + readers.gone.length > 0) {
    const recipient_key_ids = next.auditRecipients.map(({ keyId }) => keyId);
    events.push({ ...envelope("recipients_changed"), recipient_key_ids, by });
  }
  return events;
}

/** The parts of a policy that have no event of their own, in words. */
function* describePolicyChanges(before: Policy, next: Policy): Iterable<string> {
  yield* named(before.eachUse, next.eachUse, (label) => label, "each-use mark");
  yield* named(before.ticketIssuers, next.ticketIssuers, ({ issuer }) => issuer, "ticket issuer");
  yield* named(before.ticketServices, next.ticketServices, ({ system }) => system, "ticket service");
  yield* named(before.places, next.places, ({ pack }) => pack, "place of pack");
  yield* named(before.webhooks, next.webhooks, ({ name }) => name, "webhook");
  yield* named(before.imaKeys, next.imaKeys, ({ name }) => name, "IMA key");
  const identities = [before.sigstore?.identities ?? [], next.sigstore?.identities ?? []] as const;
  yield* named(...identities, ({ name }) => name, "Sigstore identity");
  if (before.sigstore?.trustedRootDigest !== next.sigstore?.trustedRootDigest) {
    yield `Sigstore trusted root ${next.sigstore?.trustedRootDigest ?? "removed"}`;
  }
  yield* named(before.hub?.gateways ?? [], next.hub?.gateways ?? [], ({ gateway }) => gateway, "gateway on the hub");
  if (next.hub !== null && before.hub?.rules.log !== next.hub.rules.log)
    yield `answers ${next.hub.rules.log === "before_answer" ? "wait" : "do not wait"} for the hub`;
  if (next.hub !== null && (before.hub?.rules.graceS ?? 0) !== next.hub.rules.graceS)
    yield `reads go on for ${next.hub.rules.graceS} s without the hub`;
  yield* named(before.hub?.rules.limits ?? [], next.hub?.rules.limits ?? [], ({ name }) => name, "fleet limit");
  for (const name of Object.keys(SAFE_SETTINGS) as (keyof PolicySettings)[]) {
    if (before.settings[name] !== next.settings[name]) yield `${name} is ${next.settings[name]}`;
  }
}

function* named<Part>(
  before: readonly Part[],
  next: readonly Part[],
  nameOf: (part: Part) => string,
  what: string,
): Iterable<string> {
  const { added, changed, gone } = compare(before, next, nameOf);
  for (const part of added) yield `${what} ${nameOf(part)} added`;
  for (const part of changed) yield `${what} ${nameOf(part)} changed`;
  for (const part of gone) yield `${what} ${nameOf(part)} removed`;
}

function vaultChanges(before: Vault, next: Vault, envelope: Envelope): HouseEvent[] {
  if (before.manifestHash === next.manifestHash) return [];
  const by = nameOfKey(next, next.signedBy);
  const changed = (
    change: VaultChange,
    about: Pick<Partial<VaultChanged>, "credential_label" | "bound_to" | "operator"> = {},
  ): HouseEvent => ({
    ...envelope("vault_changed"),
    vault_generation: next.generation,
    vault_hash: next.manifestHash,
    change,
    ...about,
    by,
  });
  const events: HouseEvent[] = [];
  // The sealed bytes are left out: a new service key seals every secret anew and changes none.
  const credentials = compare(
    before.credentials.map(withoutSeal),
    next.credentials.map(withoutSeal),
    ({ label }) => label,
  );
  for (const { label } of credentials.added) events.push(changed("added", { credential_label: label }));
  for (const entry of credentials.changed) {
    const old = before.credentials.find(({ label }) => label === entry.label);
    if (old === undefined) continue;
    const { label, boundTo } = entry;
    const about = isDeepStrictEqual(old.boundTo, boundTo) ? {} : { bound_to: boundTo };
    events.push(changed(changeOf(old, entry), { credential_label: label, ...about }));
  }
  for (const { label } of credentials.gone) events.push(changed("removed", { credential_label: label }));
  const operators = compare(before.operators, next.operators, ({ keyId }) => keyId);
  for (const { name, keyId } of operators.added) {
    events.push({ ...envelope("operator_added"), operator: name, operator_key_id: keyId, by });
  }
  for (const { name, keyId } of operators.gone) {
    events.push({ ...envelope("operator_removed"), operator: name, operator_key_id: keyId, by });
  }
  const passphrases = compare(before.slots.map(ownPart), next.slots.map(ownPart), ({ keyId }) => keyId);
  for (const { name } of passphrases.changed) events.push(changed("passphrase", { operator: name }));
  // Whatever it was, the log says that another file is in force.
  if (events.length === 0) events.push(changed("resealed"));
  return events;
}

/** What only the operator's own passphrase opens. */
function ownPart({ name, keyId, kdf, compartment }: OperatorSlot) {
  return { name, keyId, kdf, compartment };
}

function withoutSeal({ sealed: _, ...entry }: CredentialEntry): Omit<CredentialEntry, "sealed"> {
  return entry;
}

type VaultChanged = Extract<HouseEvent, { readonly event_type: "vault_changed" }>;
type VaultChange = VaultChanged["change"];

function changeOf(old: Omit<CredentialEntry, "sealed">, entry: Omit<CredentialEntry, "sealed">): VaultChange {
  if (old.version !== entry.version) return "rotated";
  if (old.disabled !== entry.disabled) return entry.disabled ? "disabled" : "enabled";
  return old.eachUse === entry.eachUse && !isDeepStrictEqual(old.boundTo, entry.boundTo) ? "bound" : "marked";
}

interface Compared<Part> {
  readonly added: readonly Part[];
  readonly changed: readonly Part[];
  readonly gone: readonly Part[];
}

function compare<Part>(before: readonly Part[], next: readonly Part[], keyOf: (part: Part) => string): Compared<Part> {
  const old = new Map(before.map((part) => [keyOf(part), part]));
  const kept = new Set(next.map(keyOf));
  return {
    added: next.filter((part) => !old.has(keyOf(part))),
    changed: next.filter((part) => old.has(keyOf(part)) && !isDeepStrictEqual(old.get(keyOf(part)), part)),
    gone: before.filter((part) => !kept.has(keyOf(part))),
  };
}

/** The operator as both sides know them; a key that is nobody's now is shown by its identifier. */
function nameOfKey({ operators }: Vault, keyId: KeyId): string {
  return operators.find((one) => one.keyId === keyId)?.name ?? keyId;
}
