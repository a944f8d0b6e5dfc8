import type { OperationNeeds } from "../operation/needs.ts";

/** What this room needs of the gateway: what the rooms that it calls need. */
export type RollbackNeeds = OperationNeeds;
