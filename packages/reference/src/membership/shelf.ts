import type { JsonObject } from "../../../../src/kernel/json.ts";
import type { ShelvedPlan } from "../plan/shelf.ts";
import type { Role, Version } from "../version.ts";

/** The intent of a plan: exactly what execution carries out. */
export type MembershipIntent = {
  readonly project_id: string;
  readonly subject_id: string;
  readonly role: Role;
  readonly if_match: string;
};

/** A previewed plan, on the shelf or inside a plan token. */
export type MembershipPlan = ShelvedPlan & { readonly version: Version; readonly intent: MembershipIntent };

/** A plan token was sealed here, so it has the shape that was sealed. */
export function planFromToken(opened: JsonObject): MembershipPlan {
  return opened as unknown as MembershipPlan;
}
