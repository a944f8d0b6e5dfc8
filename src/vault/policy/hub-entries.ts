import { FLEET_COUNTS, FLEET_SCOPES, type FleetLimit } from "../../conventions/budget/fleet-limit.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { BOX_OVERHEAD_BYTES } from "../box.ts";
import { RAW_KEY_BYTES } from "../keys.ts";
import type { CredentialSummary } from "../summary.ts";
import { shape, sortBy, sortedList, TIME } from "./entries.ts";
import { type HubGateway, type HubMembership, type HubPolicy, type HubRules, NO_HUB_RULES } from "./policy.ts";

export const HUB_ID = /^hub_[0-9a-f]{32}$/;
/** Also a word in SQL rows, on screens and in commands. */
export const GATEWAY_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

/** A day: who is without a hub for longer should say so to the people who rely on it. */
export const MAX_GRACE_S = 86_400;
export const HUB_LOG = ["behind", "before_answer"] as const;
export const HUB_OPERATIONS = ["own", "shared"] as const;
const RULES = ["log", "grace_s", "operations", "limits"] as const;
export const LIMIT_NAME = /^[a-z][a-z0-9-]{0,50}$/;
export const MAX_LIMITS = 64;
export const MAX_A_DAY = 1_000_000_000;
const COUNTED = /^[!-~]{1,128}$/;

export function hubPage({ hubId, gateways, rules }: HubPolicy): JsonObject {
  return {
    hub_id: hubId,
    gateways: gateways.map(({ gateway, identityKey, lendingKey, waiting, groups, joinedAt, sealed }) => ({
      gateway,
      identity_key: identityKey.toString("base64url"),
      lending_key: lendingKey.toString("base64url"),
      ...(waiting === null
        ? {}
        : {
            waiting: {
              signing_key: waiting.signingKey.toString("base64url"),
              reading_key: waiting.readingKey.toString("base64url"),
            },
          }),
      groups,
      joined_at: joinedAt,
      sealed: sealed.toString("base64url"),
    })),
    ...(rules.log === NO_HUB_RULES.log ? {} : { log: rules.log }),
    ...(rules.graceS === NO_HUB_RULES.graceS ? {} : { grace_s: rules.graceS }),
    ...(rules.operations === NO_HUB_RULES.operations ? {} : { operations: rules.operations }),
    ...(rules.limits.length === 0 ? {} : { limits: sortBy(rules.limits, ({ name }) => name).map(limitPage) }),
  };
}

export function readHub(value: JsonValue, where: string): HubPolicy {
  const hub = shape.members(value, where, ["hub_id", "gateways"], RULES);
  const gateways = sortedList(hub.gateways, `${where}/gateways`, readGateway, ({ gateway }) => gateway);
  if (gateways.length === 0) shape.refuse(`${where}/gateways`, "one gateway or more");
  return { hubId: shape.text(hub.hub_id, `${where}/hub_id`, 36, HUB_ID), gateways, rules: readRules(hub, where) };
}

/** What says nothing stands nowhere, so that one policy has one page. */
function readRules(
  { log, grace_s, operations, limits }: { readonly [Name in (typeof RULES)[number]]?: JsonValue },
  where: string,
): HubRules {
  return {
    log: log === undefined ? NO_HUB_RULES.log : shape.oneOf(log, `${where}/log`, ["before_answer"]),
    graceS: grace_s === undefined ? NO_HUB_RULES.graceS : shape.integer(grace_s, `${where}/grace_s`, 1, MAX_GRACE_S),
    operations:
      operations === undefined ? NO_HUB_RULES.operations : shape.oneOf(operations, `${where}/operations`, ["shared"]),
    limits: limits === undefined ? [] : sortedList(limits, `${where}/limits`, readLimit, ({ name }) => name),
  };
}

export function limitPage({ name, counts, of, aDay }: FleetLimit): JsonObject {
  return { name, counts, of: of.kind, subject: of.name, a_day: aDay };
}

function readLimit(value: JsonValue, where: string): FleetLimit {
  const limit = shape.members(value, where, ["name", "counts", "of", "subject", "a_day"]);
  return {
    name: shape.text(limit.name, `${where}/name`, 51, LIMIT_NAME),
    counts: shape.oneOf(limit.counts, `${where}/counts`, FLEET_COUNTS),
    of: {
      kind: shape.oneOf(limit.of, `${where}/of`, FLEET_SCOPES),
      name: shape.text(limit.subject, `${where}/subject`, 128, COUNTED),
    },
    aDay: shape.integer(limit.a_day, `${where}/a_day`, 0, MAX_A_DAY),
  };
}

const MEMBERS = ["gateway", "identity_key", "lending_key", "groups", "joined_at", "sealed"] as const;

function readGateway(value: JsonValue, where: string): HubGateway {
  const one = shape.members(value, where, MEMBERS, ["waiting"]);
  return {
    gateway: shape.text(one.gateway, `${where}/gateway`, 63, GATEWAY_NAME),
    identityKey: shape.bytes(one.identity_key, `${where}/identity_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
    lendingKey: shape.bytes(one.lending_key, `${where}/lending_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
    waiting: one.waiting === undefined ? null : readWaiting(one.waiting, `${where}/waiting`),
    groups: sortedList(
      one.groups,
      `${where}/groups`,
      (item, at) => shape.text(item, at, 63, GATEWAY_NAME),
      (group) => group,
    ),
    joinedAt: shape.text(one.joined_at, `${where}/joined_at`, 24, TIME),
    sealed: shape.bytes(one.sealed, `${where}/sealed`, BOX_OVERHEAD_BYTES, defaults.hubSecretsBytes),
  };
}

function readWaiting(value: JsonValue, where: string): HubGateway["waiting"] {
  const keys = shape.members(value, where, ["signing_key", "reading_key"]);
  return {
    signingKey: shape.bytes(keys.signing_key, `${where}/signing_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
    readingKey: shape.bytes(keys.reading_key, `${where}/reading_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
  };
}

/** Which of them has this key, raw: a gateway knows itself by that and by nothing else. */
export function membershipOf(hub: HubPolicy | null, identityKey: Buffer): HubMembership | null {
  const own = hub?.gateways.find((one) => one.identityKey.equals(identityKey));
  return hub === null || own === undefined ? null : { hubId: hub.hubId, ...own };
}

/** With this gateway as it is now; one of the same name or key before is replaced. */
export function withGatewayIn(hub: HubPolicy | null, { hubId, ...added }: HubMembership): HubPolicy {
  const others = (hub?.gateways ?? []).filter(
    ({ gateway, identityKey }) => gateway !== added.gateway && !identityKey.equals(added.identityKey),
  );
  const gateways = [...others, added].sort((one, other) => (one.gateway < other.gateway ? -1 : 1));
  return { hubId, gateways, rules: hub?.hubId === hubId ? hub.rules : NO_HUB_RULES };
}

export function withoutGateway(hub: HubPolicy, gateway: string): HubPolicy | null {
  const gateways = hub.gateways.filter((one) => one.gateway !== gateway);
  return gateways.length === 0 ? null : { ...hub, gateways };
}

/**
 * Whether more than one gateway could use up the refresh token of a credential. Each keeps the newest for itself, and a provider
 * that replaces it with every use takes the second use for theft.
 */
export function isShared(
  hub: HubPolicy | null,
  { exchange, lenders }: Pick<CredentialSummary, "exchange" | "lenders">,
): boolean {
  return exchange?.grant === "refresh_token" && (hub?.gateways.length ?? 0) > 1 && lenders?.length !== 1;
}
