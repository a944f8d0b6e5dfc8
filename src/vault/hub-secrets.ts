import type { KeyObject } from "node:crypto";
import { canonicalJson } from "../kernel/canonical-json.ts";
import type { Random } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import { Secret } from "../kernel/secret.ts";
import type { OperatorKeys } from "./lineage.ts";
import type { HubMembership } from "./policy/policy.ts";
import { openForReader, sealForReaders } from "./readers-box.ts";

/** How one gateway logs in to its hub. It stands in signed policy, sealed for that gateway (also while it waits locked, where it may) and the operators, and for no other host. */
export interface HubSecrets {
  /** Where the database is, without a password. */
  readonly url: string;
  /** Null where the database asks for none. */
  readonly password: Secret | null;
  /** PEM of who may vouch for the database; null for the system's own. */
  readonly authority: string | null;
}

export function sealHubSecrets(
  membership: Omit<HubMembership, "sealed">,
  operators: readonly OperatorKeys[],
  secrets: HubSecrets,
  random: Random,
): Buffer {
  const password = secrets.password?.use((bytes) => bytes.toString("utf8")) ?? null;
  const plain = Buffer.from(JSON.stringify({ url: secrets.url, password, authority: secrets.authority }), "utf8");
  const waiting = membership.waiting === null ? [] : [membership.waiting.readingKey];
  const readers = [membership.lendingKey, ...waiting, ...operators.map(({ readingKey }) => readingKey)];
  try {
    return sealForReaders(readers, aadOf(membership), plain, random);
  } finally {
    plain.fill(0);
  }
}

/** With a key of the gateway's own, or with that of somebody who was an operator when it joined. */
export function openHubSecrets(reader: KeyObject, membership: HubMembership): HubSecrets {
  using plain = openForReader(reader, aadOf(membership), membership.sealed);
  if (plain === undefined) {
    throw new Denied("policy_tampered", "What the policy holds for the hub is not sealed for this key.");
  }
  return plain.use((bytes) => {
    const { url, password, authority } = JSON.parse(bytes.toString("utf8")) as {
      readonly url: string;
      readonly password: string | null;
      readonly authority: string | null;
    };
    return { url, authority, password: password === null ? null : Secret.take(Buffer.from(password, "utf8")) };
  });
}

function aadOf({ hubId, gateway, identityKey, lendingKey, joinedAt }: Omit<HubMembership, "sealed">): string {
  return canonicalJson({
    format: "gw.hub-secrets/v2",
    hub_id: hubId,
    gateway,
    identity_key: identityKey.toString("base64url"),
    lending_key: lendingKey.toString("base64url"),
    joined_at: joinedAt,
  });
}
