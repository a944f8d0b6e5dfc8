import { defaults } from "../../kernel/defaults.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import { BOX_OVERHEAD_BYTES } from "../box.ts";
import { RAW_KEY_BYTES } from "../keys.ts";
import { shape, TIME } from "./entries.ts";
import type { HubMembership } from "./policy.ts";

export const HUB_ID = /^hub_[0-9a-f]{32}$/;
/** Also a word in SQL rows, on screens and in commands. */
export const GATEWAY_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

export function hubPage({ hubId, gateway, identityKey, joinedAt, sealed }: HubMembership): JsonObject {
  return {
    hub_id: hubId,
    gateway,
    identity_key: identityKey.toString("base64url"),
    joined_at: joinedAt,
    sealed: sealed.toString("base64url"),
  };
}

export function readHub(value: JsonValue, where: string): HubMembership {
  const hub = shape.members(value, where, ["hub_id", "gateway", "identity_key", "joined_at", "sealed"]);
  return {
    hubId: shape.text(hub.hub_id, `${where}/hub_id`, 36, HUB_ID),
    gateway: shape.text(hub.gateway, `${where}/gateway`, 63, GATEWAY_NAME),
    identityKey: shape.bytes(hub.identity_key, `${where}/identity_key`, RAW_KEY_BYTES, RAW_KEY_BYTES),
    joinedAt: shape.text(hub.joined_at, `${where}/joined_at`, 24, TIME),
    sealed: shape.bytes(hub.sealed, `${where}/sealed`, BOX_OVERHEAD_BYTES, defaults.hubSecretsBytes),
  };
}
