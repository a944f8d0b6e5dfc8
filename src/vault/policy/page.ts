import { grantRecord } from "../../conventions/grant/record.ts";
import type { DecisionRules } from "../../conventions/passkey/demand.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { KEY_ID, type KeyId } from "../keys.ts";
import { VAULT_ID } from "../lineage.ts";
import { filePage, parsePage } from "../shape.ts";
import { ceilingsPage, readCeilings } from "./ceiling-entries.ts";
import { passkeyPage, readPasskey, readRules, rulesPage } from "./decision-entries.ts";
import {
  readCaller,
  readFormerSettings,
  readImaKey,
  readIssuer,
  readLabel,
  readPack,
  readRecipient,
  readSettings,
  settingsPage,
  shape,
  sortBy,
  sortedList,
  TIME,
} from "./entries.ts";
import { readGrant } from "./grant-entries.ts";
import { hubPage, readHub } from "./hub-entries.ts";
import { placePage, readPlace } from "./place-entries.ts";
import type { PolicyContent } from "./policy.ts";
import { readService, servicePage } from "./service-entries.ts";
import { readSigstore, sigstorePage, sortSigstore } from "./sigstore-entries.ts";
import { readWebhook, webhookPage } from "./webhook-entries.ts";

/**
 * The codec of policy.json. Lists are sorted by their key and name it once, so that one policy has one page. A member that
 * came later than the format stands there only when it says something, so that earlier policies keep their signatures.
 */
const FORMAT = "gw.policy/v1";

const MEMBERS = [
  "format",
  "vault_id",
  "version",
  "signed_at",
  "signed_by",
  "packs",
  "each_use",
  "callers",
  "audit_recipients",
  "ticket_issuers",
  "settings",
] as const;
const LATER_MEMBERS = [
  "sigstore",
  "ima_keys",
  "ticket_services",
  "former_packs",
  "grants",
  "ceilings",
  "passkeys",
  "decide",
  "hub",
  "webhooks",
  "places",
] as const;

export function writePolicyPage(content: PolicyContent, signature: Buffer): string {
  return filePage({ ...policyPage(content), signature: signature.toString("base64url") });
}

export function policyPage(content: PolicyContent): JsonObject {
  const ceilings = ceilingsPage(content.ceilings);
  const decide = rulesPage(content.decide);
  return {
    format: FORMAT,
    vault_id: content.vaultId,
    version: content.version,
    signed_at: content.signedAt,
    signed_by: content.signedBy,
    packs: content.packs.map(({ pack, digest }) => ({ pack, digest })),
    each_use: content.eachUse,
    callers: content.callers.map(({ imageDigest, authority, enrolledAt }) => ({
      image_digest: imageDigest,
      authority,
      enrolled_at: enrolledAt,
    })),
    audit_recipients: content.auditRecipients.map(({ name, keyId, publicKey }) => ({
      name,
      key_id: keyId,
      public_key: publicKey.toString("base64url"),
    })),
    ticket_issuers: content.ticketIssuers.map(({ issuer, publicKey }) => ({
      issuer,
      public_key: publicKey.toString("base64url"),
    })),
    settings: settingsPage(content.settings, content.formerSettings),
    ...(content.sigstore === null ? {} : { sigstore: sigstorePage(content.sigstore) }),
    ...(content.imaKeys.length === 0
      ? {}
      : {
          ima_keys: content.imaKeys.map(({ name, publicKey }) => ({
            name,
            public_key: publicKey.toString("base64url"),
          })),
        }),
    ...(content.ticketServices.length === 0 ? {} : { ticket_services: content.ticketServices.map(servicePage) }),
    ...(content.formerPacks.length === 0
      ? {}
      : { former_packs: content.formerPacks.map(({ pack, digest }) => ({ pack, digest })) }),
    ...(content.grants.length === 0 ? {} : { grants: content.grants.map(grantRecord) }),
    ...(ceilings === undefined ? {} : { ceilings }),
    ...(content.passkeys.length === 0 ? {} : { passkeys: content.passkeys.map(passkeyPage) }),
    ...(decide === undefined ? {} : { decide }),
    ...(content.hub === null ? {} : { hub: hubPage(content.hub) }),
    ...(content.places.length === 0 ? {} : { places: content.places.map(placePage) }),
    ...(content.webhooks.length === 0 ? {} : { webhooks: content.webhooks.map(webhookPage) }),
  };
}

export function readPolicyPage(page: string): { readonly content: PolicyContent; readonly signature: Buffer } {
  const policy = shape.members(parsePage(page, shape), "", [...MEMBERS, "signature"], LATER_MEMBERS);
  shape.oneOf(policy.format, "/format", [FORMAT]);
  return {
    content: {
      vaultId: shape.text(policy.vault_id, "/vault_id", 30, VAULT_ID),
      version: shape.integer(policy.version, "/version", 1, Number.MAX_SAFE_INTEGER),
      signedAt: shape.text(policy.signed_at, "/signed_at", 24, TIME),
      signedBy: shape.text(policy.signed_by, "/signed_by", 32, KEY_ID) as KeyId,
      packs: sortedList(policy.packs, "/packs", readPack, ({ pack }) => pack),
      eachUse: sortedList(policy.each_use, "/each_use", readLabel, (label) => label),
      callers: sortedList(policy.callers, "/callers", readCaller, ({ imageDigest }) => imageDigest),
      auditRecipients: sortedList(policy.audit_recipients, "/audit_recipients", readRecipient, ({ keyId }) => keyId),
      ticketIssuers: sortedList(policy.ticket_issuers, "/ticket_issuers", readIssuer, ({ issuer }) => issuer),
      settings: readSettings(policy.settings, "/settings"),
      formerSettings: readFormerSettings(policy.settings, "/settings"),
      sigstore: policy.sigstore === undefined ? null : readSigstore(policy.sigstore, "/sigstore"),
      ticketServices: laterList(policy.ticket_services, "/ticket_services", readService, ({ system }) => system),
      formerPacks: laterList(policy.former_packs, "/former_packs", readPack, ({ pack }) => pack),
      grants: laterList(policy.grants, "/grants", readGrant, ({ name }) => name),
      ceilings: readCeilings(policy.ceilings, "/ceilings"),
      passkeys: laterList(policy.passkeys, "/passkeys", readPasskey, ({ credentialId }) => credentialId),
      decide: readRules(policy.decide, "/decide"),
      hub: policy.hub === undefined ? null : readHub(policy.hub, "/hub"),
      places: laterList(policy.places, "/places", readPlace, ({ pack }) => pack),
      webhooks: laterList(policy.webhooks, "/webhooks", readWebhook, ({ name }) => name),
      imaKeys: laterList(policy.ima_keys, "/ima_keys", readImaKey, ({ name }) => name),
    },
    signature: shape.bytes(policy.signature, "/signature", 64, 64),
  };
}

/** The order that the page asks for. */
export function sortPolicy<
  Content extends Omit<PolicyContent, "vaultId" | "version" | "signedAt" | "signedBy" | "formerSettings">,
>(content: Content): Content {
  return {
    ...content,
    packs: sortBy(content.packs, ({ pack }) => pack),
    eachUse: sortBy(content.eachUse, (label) => label),
    callers: sortBy(content.callers, ({ imageDigest }) => imageDigest),
    auditRecipients: sortBy(content.auditRecipients, ({ keyId }) => keyId),
    ticketIssuers: sortBy(content.ticketIssuers, ({ issuer }) => issuer),
    ticketServices: sortBy(content.ticketServices, ({ system }) => system),
    sigstore: content.sigstore === null ? null : sortSigstore(content.sigstore),
    grants: sortBy(content.grants, ({ name }) => name),
    imaKeys: sortBy(content.imaKeys, ({ name }) => name),
    formerPacks: sortBy(content.formerPacks, ({ pack }) => pack),
    passkeys: sortBy(content.passkeys, ({ credentialId }) => credentialId),
    decide: sortRules(content.decide),
    places: sortBy(content.places, ({ pack }) => pack),
    webhooks: sortBy(content.webhooks, ({ name }) => name),
  };
}

function sortRules({ passkey, twoPeople }: DecisionRules): DecisionRules {
  const sorted = (names: readonly string[]): readonly string[] => sortBy([...new Set(names)], (name) => name);
  return {
    passkey:
      passkey === null
        ? null
        : {
            all: passkey.all,
            effects: sorted(passkey.effects),
            credentials: sorted(passkey.credentials),
            packs: sorted(passkey.packs),
          },
    twoPeople: sorted(twoPeople),
  };
}

/** Absent is empty; an empty list that stands there all the same is not the page we write. */
function laterList<Item>(
  value: JsonValue | undefined,
  where: string,
  read: (item: JsonValue, where: string) => Item,
  key: (item: Item) => string,
): readonly Item[] {
  if (value === undefined) return [];
  const items = sortedList(value, where, read, key);
  return items.length === 0 ? shape.refuse(where, "absent when it is empty") : items;
}
