import { timingSafeEqual, verify } from "node:crypto";
import { canonicalJson, type Digest, digestJson, digestText } from "../kernel/canonical-json.ts";
import { type Clock, isoTime } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import type { Secret } from "../kernel/secret.ts";
import { credentialPage } from "./credential-page.ts";
import { type KeyId, publicKeyOf } from "./keys.ts";
import { foldLineage, lineageHead } from "./lineage.ts";
import {
  notesPage,
  readVaultPage,
  requestKeyMember,
  restoredMember,
  slotPage,
  type VaultPage,
  writeVaultPage,
} from "./page.ts";
import { macOver, serviceSubkey } from "./service-key.ts";
import type { RuntimeNotes, Vault, VaultContent } from "./vault.ts";

/** Whoever may sign a vault: an operator's approver key. */
export interface VaultSigner {
  readonly keyId: KeyId;
  readonly serviceKey: Secret;
  readonly approver: { sign(bytes: Buffer): Buffer };
}

export type VaultDraft = Omit<VaultContent, "generation" | "previous" | "signedAt" | "signedBy">;

/** Text of vault.json to a vault that holds; refuses with `vault_malformed` or `vault_tampered`. */
export function parseVault(page: string): Vault {
  return verifyVault(readVaultPage(page));
}

export function vaultPage(vault: Vault): string {
  return writeVaultPage({
    content: vault,
    signature: vault.signature,
    notes: vault.notes,
    serviceMac: vault.serviceMac,
  });
}

/** The next generation, signed by an operator and bound to the service key. */
export function signVault(
  draft: VaultDraft,
  previous: Vault | null,
  signer: VaultSigner,
  notes: RuntimeNotes,
  clock: Pick<Clock, "wallMs">,
  /** After a restoration: the highest generation that anybody has seen. */
  seen = 0,
): Vault {
  const content: VaultContent = {
    ...draft,
    credentials: draft.credentials.toSorted((a, b) => (a.label < b.label ? -1 : 1)),
    generation: Math.max(previous?.generation ?? 0, seen) + 1,
    previous: previous?.manifestHash ?? null,
    signedAt: isoTime(clock.wallMs()),
    signedBy: signer.keyId,
  };
  const text = manifestText(content);
  const signature = signer.approver.sign(Buffer.from(text, "utf8"));
  const serviceMac = serviceMacOf(content.vaultId, digestText(text), notes, signer.serviceKey);
  return verifyVault({ content, signature, notes, serviceMac });
}

/** The same signed manifest with other runtime notes. Needs the service key alone. */
export function noteInVault(vault: Vault, notes: RuntimeNotes, serviceKey: Secret): Vault {
  const serviceMac = serviceMacOf(vault.vaultId, vault.manifestHash, notes, serviceKey);
  return verifyVault({ content: vault, signature: vault.signature, notes, serviceMac });
}

/** Refuses a service key that is not this vault's, and notes that no holder of it wrote. */
export function checkServiceKey(vault: Vault, serviceKey: Secret): void {
  const expected = serviceMacOf(vault.vaultId, vault.manifestHash, vault.notes, serviceKey);
  if (timingSafeEqual(expected, vault.serviceMac)) return;
  throw new Denied(
    "service_key_wrong",
    "The service key does not fit this vault.json: the key is another vault's, was replaced when an operator was removed, or the file was edited.",
  );
}

function verifyVault({ content, signature, notes, serviceMac }: VaultPage): Vault {
  const operators = foldLineage(content.vaultId, content.lineage);
  const slotted = content.slots.length === operators.length;
  if (!slotted || !content.slots.every(({ name, keyId }, at) => is(operators[at], name, keyId))) {
    tampered("the slots are not those of its operators");
  }
  const signer = operators.find(({ keyId }) => keyId === content.signedBy);
  if (signer === undefined) return tampered("it is signed by no operator");
  const text = manifestText(content);
  if (!verify(null, Buffer.from(text, "utf8"), publicKeyOf("ed25519", signer.approverKey), signature)) {
    return tampered("the operator's signature does not fit");
  }
  return { ...content, signature, notes, serviceMac, manifestHash: digestText(text), operators } as Vault;
}

/**
 * What an operator signs. Entries stand in it by digest, so a manifest says of every slot and credential, sealed part
 * and public part, which one belongs to this generation.
 */
function manifestText(content: VaultContent): string {
  const head = content.lineage.at(-1);
  return `gw vault manifest v1\0${canonicalJson({
    vault_id: content.vaultId,
    generation: content.generation,
    previous: content.previous,
    signed_at: content.signedAt,
    signed_by: content.signedBy,
    lineage_head: head === undefined ? null : lineageHead(head),
    lineage_length: content.lineage.length,
    slots: content.slots.map((slot) => ({ name: slot.name, digest: digestJson(slotPage(slot)) })),
    state_root: content.stateRoot.toString("base64url"),
    ...requestKeyMember(content.requestKey),
    credentials: content.credentials.map((entry) => ({
      label: entry.label,
      digest: digestJson(credentialPage(entry)),
    })),
    ...restoredMember(content.restored),
  })}`;
}

function serviceMacOf(vaultId: string, manifestHash: Digest, notes: RuntimeNotes, serviceKey: Secret): Buffer {
  const text = canonicalJson({ manifest_hash: manifestHash, notes: notesPage(notes) });
  return macOver(serviceSubkey(serviceKey, vaultId, "manifest"), text);
}

function is(operator: { name: string; keyId: KeyId } | undefined, name: string, keyId: KeyId): boolean {
  return operator?.name === name && operator.keyId === keyId;
}

function tampered(why: string): never {
  throw new Denied(
    "vault_tampered",
    `vault.json was changed by something other than gw: ${why}. Restore a copy you trust.`,
  );
}
