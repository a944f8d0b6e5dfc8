import type { Digest } from "../../kernel/canonical-json.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { keyIdOf, RAW_KEY_BYTES } from "../keys.ts";
import { shapeOf } from "../shape.ts";
import { readImageKey } from "./image-key.ts";
import type {
  AuditRecipient,
  EnrolledCaller,
  FormerSettings,
  ImaKeyTrust,
  PackTrust,
  PolicySettings,
  TicketIssuer,
} from "./policy.ts";

/** The entries of policy.json, each read strictly. */
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const LISTED = 4_096;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
export const PACK = /^[a-z][a-z0-9-]{0,63}$/;
const LABEL = /^[a-z0-9][a-z0-9._-]{0,63}$/;
export const NAME = /^[\x20-\x7e]{1,200}$/;
const IMAGE_KEY_BYTES_MIN = 64;
const IMAGE_KEY_BYTES_MAX = 2_048;
export const shape = shapeOf("policy_malformed", "policy.json");

export function settingsPage(settings: PolicySettings, former: FormerSettings | null): JsonObject {
  return {
    ...former,
    headless_unlock: settings.headlessUnlock,
    callbacks: callbacksPage(settings.callbacks),
  };
}

export function readSettings(value: JsonValue, where: string): PolicySettings {
  const settings = shape.members(value, where, ["headless_unlock", "callbacks"], FORMER);
  return {
    headlessUnlock: shape.flag(settings.headless_unlock, `${where}/headless_unlock`),
    callbacks: readCallbacks(settings.callbacks, `${where}/callbacks`),
  };
}

const FORMER = ["mode", "session_approval", "watch_pin", "loopback_agents", "webhooks"] as const;

/** All of them or none: there was no policy with some. */
export function readFormerSettings(value: JsonValue, where: string): FormerSettings | null {
  const settings = shape.members(value, where, ["headless_unlock", "callbacks"], FORMER);
  if (FORMER.every((name) => settings[name] === undefined)) return null;
  return {
    mode: shape.oneOf(settings.mode, `${where}/mode`, ["guard_rail", "dedicated"]),
    session_approval: shape.flag(settings.session_approval, `${where}/session_approval`),
    watch_pin: shape.flag(settings.watch_pin, `${where}/watch_pin`),
    loopback_agents: shape.flag(settings.loopback_agents, `${where}/loopback_agents`),
    webhooks: shape.flag(settings.webhooks, `${where}/webhooks`),
  };
}

/** Once it was only on or off, and on was loopback: those policies stay what they are. */
function callbacksPage(callbacks: PolicySettings["callbacks"]): JsonValue {
  return callbacks === "network" ? callbacks : callbacks === "loopback";
}

function readCallbacks(value: JsonValue | undefined, where: string): PolicySettings["callbacks"] {
  if (value === "network") return value;
  return shape.flag(value, where) ? "loopback" : "off";
}

export function readPack(value: JsonValue, where: string): PackTrust {
  const trust = shape.members(value, where, ["pack", "digest"]);
  return {
    pack: shape.text(trust.pack, `${where}/pack`, 64, PACK),
    digest: readDigest(trust.digest, `${where}/digest`),
  };
}

export function readLabel(value: JsonValue, where: string): string {
  return shape.text(value, where, 64, LABEL);
}

export function readCaller(value: JsonValue, where: string): EnrolledCaller {
  const caller = shape.members(value, where, ["image_digest", "authority", "enrolled_at"]);
  return {
    imageDigest: readDigest(caller.image_digest, `${where}/image_digest`),
    authority: shape.text(caller.authority, `${where}/authority`, 200, NAME),
    enrolledAt: shape.text(caller.enrolled_at, `${where}/enrolled_at`, 24, TIME),
  };
}

export function readRecipient(value: JsonValue, where: string): AuditRecipient {
  const recipient = shape.members(value, where, ["name", "key_id", "public_key"]);
  const publicKey = shape.bytes(recipient.public_key, `${where}/public_key`, RAW_KEY_BYTES, RAW_KEY_BYTES);
  const keyId = shape.oneOf(recipient.key_id, `${where}/key_id`, [keyIdOf(publicKey)]);
  return { name: shape.text(recipient.name, `${where}/name`, 200, NAME), keyId, publicKey };
}

export function readIssuer(value: JsonValue, where: string): TicketIssuer {
  const issuer = shape.members(value, where, ["issuer", "public_key"]);
  return {
    issuer: shape.text(issuer.issuer, `${where}/issuer`, 200, NAME),
    publicKey: shape.bytes(issuer.public_key, `${where}/public_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
  };
}

export function readDigest(value: JsonValue, where: string): Digest {
  return shape.text(value, where, 71, DIGEST) as Digest;
}

export function readImaKey(value: JsonValue, where: string): ImaKeyTrust {
  const key = shape.members(value, where, ["name", "public_key"]);
  const publicKey = shape.bytes(key.public_key, `${where}/public_key`, IMAGE_KEY_BYTES_MIN, IMAGE_KEY_BYTES_MAX);
  if (readImageKey(publicKey) === undefined) shape.refuse(`${where}/public_key`, "an RSA or elliptic-curve key");
  return { name: shape.text(key.name, `${where}/name`, 200, NAME), publicKey };
}

export function sortedList<Item>(
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

export function sortBy<Item>(items: readonly Item[], key: (item: Item) => string): readonly Item[] {
  return items.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
}
