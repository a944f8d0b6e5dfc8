import type { AttemptNeeds } from "../attempt/needs.ts";

/** What this room needs of the gateway: what the rooms that it calls need. */
export type UpgradeNeeds = AttemptNeeds;
