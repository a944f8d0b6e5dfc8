import type { KeyObject } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import { seal, unseal } from "./box.ts";
import { privateKeyOf, RAW_KEY_BYTES } from "./keys.ts";
import type { HubMembership } from "./policy/policy.ts";
import { stateSubkey } from "./service-key.ts";
import { openStateRoot } from "./state-root.ts";
import type { VaultContent } from "./vault.ts";

/** What a gateway needs on its hub. It stands in signed policy, sealed for whoever has the service key. */
export interface HubSecrets {
  /** Where the database is, without a password. */
  readonly url: string;
  /** Null where the database asks for none. */
  readonly password: Secret | null;
  /** PEM of who may vouch for the database; null for the system's own. */
  readonly authority: string | null;
  /** The gateway's own key, raw. It signs what this gateway says on the hub, and nothing else. */
  readonly identity: Secret;
}

/** What the secrets are sealed for. */
type Place = Pick<HubMembership, "hubId" | "gateway" | "identityKey" | "joinedAt">;

export const HUB_PURPOSE = "hub";

/** For an operator, who has the service key itself. */
export function hubKeyOf(serviceKey: Secret, vault: Pick<VaultContent, "vaultId" | "stateRoot">): KeyObject {
  using root = openStateRoot(serviceKey, vault);
  return stateSubkey(root, vault.vaultId, HUB_PURPOSE);
}

export function sealHubSecrets(key: KeyObject, membership: Place, secrets: HubSecrets, random: Random): Buffer {
  const password = secrets.password?.use((bytes) => bytes.toString("utf8")) ?? null;
  const open = Buffer.from(JSON.stringify({ url: secrets.url, password, authority: secrets.authority }), "utf8");
  const plain = secrets.identity.use((raw) => Buffer.concat([raw, open]));
  try {
    return seal(key, aadOf(membership), plain, random);
  } finally {
    plain.fill(0);
    open.fill(0);
  }
}

export function openHubSecrets(key: KeyObject, membership: HubMembership): HubSecrets {
  using plain = unseal(key, aadOf(membership), membership.sealed);
  if (plain === undefined) throw new Denied("policy_tampered", "What the policy holds for the hub is not sealed here.");
  return plain.use((bytes) => {
    const { url, password, authority } = JSON.parse(bytes.toString("utf8", RAW_KEY_BYTES)) as {
      readonly url: string;
      readonly password: string | null;
      readonly authority: string | null;
    };
    return {
      url,
      authority,
      password: password === null ? null : Secret.take(Buffer.from(password, "utf8")),
      identity: Secret.take(Buffer.from(bytes.subarray(0, RAW_KEY_BYTES))),
    };
  });
}

export function identityKeyOf({ identity }: Pick<HubSecrets, "identity">): KeyObject {
  return identity.use((raw) => privateKeyOf("ed25519", raw));
}

function aadOf({ hubId, gateway, identityKey, joinedAt }: Place): string {
  return canonicalJson({
    format: "gw.hub-secrets/v1",
    hub_id: hubId,
    gateway,
    identity_key: identityKey.toString("base64url"),
    joined_at: joinedAt,
  });
}
