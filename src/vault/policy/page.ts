import type { Digest } from "../../kernel/canonical-json.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { KEY_ID, type KeyId, keyIdOf, RAW_KEY_BYTES } from "../keys.ts";
import { VAULT_ID } from "../lineage.ts";
import { filePage, parsePage, shapeOf } from "../shape.ts";
import type {
  AuditRecipient,
  EnrolledCaller,
  PackTrust,
  PolicyContent,
  PolicySettings,
  TicketIssuer,
} from "./policy.ts";

/** The codec of policy.json. Lists are sorted by their key and name it once, so that one policy has one page. */
const FORMAT = "gw.policy/v1";
const LISTED = 4_096;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const PACK = /^[a-z][a-z0-9-]{0,63}$/;
const LABEL = /^[a-z0-9][a-z0-9._-]{0,63}$/;
const NAME = /^[\x20-\x7e]{1,200}$/;
const shape = shapeOf("policy_malformed", "policy.json");

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

export function writePolicyPage(content: PolicyContent, signature: Buffer): string {
  return filePage({ ...policyPage(content), signature: signature.toString("base64url") });
}

export function policyPage(content: PolicyContent): JsonObject {
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
    settings: settingsPage(content.settings),
  };
}

export function readPolicyPage(page: string): { readonly content: PolicyContent; readonly signature: Buffer } {
  const policy = shape.members(parsePage(page, shape), "", [...MEMBERS, "signature"]);
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
    },
    signature: shape.bytes(policy.signature, "/signature", 64, 64),
  };
}

/** The order that the page asks for. */
export function sortPolicy<
  Content extends Pick<PolicyContent, "packs" | "eachUse" | "callers" | "auditRecipients" | "ticketIssuers">,
>(content: Content): Content {
  return {
    ...content,
    packs: sortBy(content.packs, ({ pack }) => pack),
    eachUse: sortBy(content.eachUse, (label) => label),
    callers: sortBy(content.callers, ({ imageDigest }) => imageDigest),
    auditRecipients: sortBy(content.auditRecipients, ({ keyId }) => keyId),
    ticketIssuers: sortBy(content.ticketIssuers, ({ issuer }) => issuer),
  };
}

function settingsPage(settings: PolicySettings): JsonObject {
  return {
    mode: settings.mode,
    session_approval: settings.sessionApproval,
    watch_pin: settings.watchPin,
    headless_unlock: settings.headlessUnlock,
    loopback_agents: settings.loopbackAgents,
    callbacks: settings.callbacks,
    webhooks: settings.webhooks,
  };
}

function readSettings(value: JsonValue, where: string): PolicySettings {
  const settings = shape.members(value, where, [
    "mode",
    "session_approval",
    "watch_pin",
    "headless_unlock",
    "loopback_agents",
    "callbacks",
    "webhooks",
  ]);
  return {
    mode: shape.oneOf(settings.mode, `${where}/mode`, ["guard_rail", "dedicated"]),
    sessionApproval: shape.flag(settings.session_approval, `${where}/session_approval`),
    watchPin: shape.flag(settings.watch_pin, `${where}/watch_pin`),
    headlessUnlock: shape.flag(settings.headless_unlock, `${where}/headless_unlock`),
    loopbackAgents: shape.flag(settings.loopback_agents, `${where}/loopback_agents`),
    callbacks: shape.flag(settings.callbacks, `${where}/callbacks`),
    webhooks: shape.flag(settings.webhooks, `${where}/webhooks`),
  };
}

function readPack(value: JsonValue, where: string): PackTrust {
  const trust = shape.members(value, where, ["pack", "digest"]);
  return {
    pack: shape.text(trust.pack, `${where}/pack`, 64, PACK),
    digest: readDigest(trust.digest, `${where}/digest`),
  };
}

function readLabel(value: JsonValue, where: string): string {
  return shape.text(value, where, 64, LABEL);
}

function readCaller(value: JsonValue, where: string): EnrolledCaller {
  const caller = shape.members(value, where, ["image_digest", "authority", "enrolled_at"]);
  return {
    imageDigest: readDigest(caller.image_digest, `${where}/image_digest`),
    authority: shape.text(caller.authority, `${where}/authority`, 200, NAME),
    enrolledAt: shape.text(caller.enrolled_at, `${where}/enrolled_at`, 24, TIME),
  };
}

function readRecipient(value: JsonValue, where: string): AuditRecipient {
  const recipient = shape.members(value, where, ["name", "key_id", "public_key"]);
  const publicKey = shape.bytes(recipient.public_key, `${where}/public_key`, RAW_KEY_BYTES, RAW_KEY_BYTES);
  const keyId = shape.oneOf(recipient.key_id, `${where}/key_id`, [keyIdOf(publicKey)]);
  return { name: shape.text(recipient.name, `${where}/name`, 200, NAME), keyId, publicKey };
}

function readIssuer(value: JsonValue, where: string): TicketIssuer {
  const issuer = shape.members(value, where, ["issuer", "public_key"]);
  return {
    issuer: shape.text(issuer.issuer, `${where}/issuer`, 200, NAME),
    publicKey: shape.bytes(issuer.public_key, `${where}/public_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
  };
}

function readDigest(value: JsonValue, where: string): Digest {
  return shape.text(value, where, 71, DIGEST) as Digest;
}

function sortedList<Item>(
  value: JsonValue,
  where: string,
  read: (item: JsonValue, where: string) => Item,
  key: (item: Item) => string,
): readonly Item[] {
  const items = shape.list(value, where, LISTED, read);
  const keys = items.map(key);
  const sorted = keys.every((name, index) => index === 0 || name > (keys[index - 1] ?? ""));
  return sorted ? items : shape.refuse(where, "sorted, each once");
}

function sortBy<Item>(items: readonly Item[], key: (item: Item) => string): readonly Item[] {
  return items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
