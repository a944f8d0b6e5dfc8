import type { AttemptNeeds } from "../attempt/needs.ts";
import type { Handles } from "./handles.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface DiscoveryNeeds extends AttemptNeeds {
  readonly handles: Handles;
}
