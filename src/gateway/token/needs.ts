import type { SecretVersion } from "../../vault/entry.ts";
import type { AttemptNeeds } from "../attempt/needs.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface TokenNeeds extends AttemptNeeds {
  /** Names this process among the gateways on one store. */
  readonly worker: string;
  /** Stops lending a credential until an operator says otherwise: this very secret of it, and none that came in its place. */
  suspendCredential(label: string, of: SecretVersion, reason: string): Promise<void>;
}
