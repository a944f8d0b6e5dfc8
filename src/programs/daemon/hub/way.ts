import { readHubAddress } from "../../../hub/address.ts";
import { connectHub, type HubConnection } from "../../../hub/connect.ts";
import type { HostKeys } from "../../../vault/host-keys.ts";
import { openHubSecrets } from "../../../vault/hub-secrets.ts";
import type { HubMembership } from "../../../vault/policy/policy.ts";
import type { HubNotes } from "./notes.ts";

/** How this gateway reaches the hub that signed policy names, and as whom. */
export interface Way extends HostKeys {
  readonly membership: HubMembership;
  readonly notes: HubNotes;
  connect(): Promise<HubConnection>;
}

export function openWay(membership: HubMembership, keys: HostKeys, notes: HubNotes): Way {
  const { url, password, authority } = openHubSecrets(keys.lending, membership);
  const address = readHubAddress(url);
  const connect = () => connectHub({ address, password, authority }, membership.hubId);
  return { ...keys, membership, notes, connect };
}
