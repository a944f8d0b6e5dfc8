import type { AttemptNeeds } from "../attempt/needs.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface TokenNeeds extends AttemptNeeds {
  /** Names this process among the gateways on one store. */
  readonly worker: string;
  /** Stops lending a credential until an operator says otherwise. */
  suspendCredential(label: string, reason: string): Promise<void>;
}
