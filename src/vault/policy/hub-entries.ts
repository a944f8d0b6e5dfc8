import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { BOX_OVERHEAD_BYTES } from "../box.ts";
import { RAW_KEY_BYTES } from "../keys.ts";
import { shape, TIME } from "./entries.ts";
import { type HubMembership, type HubRules, NO_HUB_RULES } from "./policy.ts";

export const HUB_ID = /^hub_[0-9a-f]{32}$/;
/** Also a word in SQL rows, on screens and in commands. */
export const GATEWAY_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

/** A day: who is without a hub for longer should say so to the people who rely on it. */
export const MAX_GRACE_S = 86_400;
export const HUB_LOG = ["behind", "before_answer"] as const;
const RULES = ["log", "grace_s"] as const;

export function hubPage({ hubId, gateway, identityKey, joinedAt, sealed, rules }: HubMembership): JsonObject {
  return {
    hub_id: hubId,
    gateway,
    identity_key: identityKey.toString("base64url"),
    joined_at: joinedAt,
    sealed: sealed.toString("base64url"),
    ...(rules.log === NO_HUB_RULES.log ? {} : { log: rules.log }),
    ...(rules.graceS === NO_HUB_RULES.graceS ? {} : { grace_s: rules.graceS }),
  };
}

export function readHub(value: JsonValue, where: string): HubMembership {
  const hub = shape.members(value, where, ["hub_id", "gateway", "identity_key", "joined_at", "sealed"], RULES);
  return {
    hubId: shape.text(hub.hub_id, `${where}/hub_id`, 36, HUB_ID),
    gateway: shape.text(hub.gateway, `${where}/gateway`, 63, GATEWAY_NAME),
    identityKey: shape.bytes(hub.identity_key, `${where}/identity_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
    joinedAt: shape.text(hub.joined_at, `${where}/joined_at`, 24, TIME),
    sealed: shape.bytes(hub.sealed, `${where}/sealed`, BOX_OVERHEAD_BYTES, defaults.hubSecretsBytes),
    rules: readRules(hub, where),
  };
}

/** What says nothing stands nowhere, so that one policy has one page. */
function readRules(
  { log, grace_s }: { readonly [Name in (typeof RULES)[number]]?: JsonValue },
  where: string,
): HubRules {
  return {
    log: log === undefined ? NO_HUB_RULES.log : shape.oneOf(log, `${where}/log`, ["before_answer"]),
    graceS: grace_s === undefined ? NO_HUB_RULES.graceS : shape.integer(grace_s, `${where}/grace_s`, 1, MAX_GRACE_S),
  };
}
