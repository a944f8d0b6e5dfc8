import type { AttemptNeeds } from "../attempt/needs.ts";
import type { PlanShelf } from "./shelf.ts";

/** What this room needs of the gateway, beside what the rooms that it calls need. */
export interface PlanNeeds extends AttemptNeeds {
  readonly plans: PlanShelf;
}
