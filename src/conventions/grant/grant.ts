import { defaults } from "../../kernel/defaults.ts";
import type { Effect } from "../action/pack.ts";
import type { RunLimits } from "../budget/budget.ts";
import type { Condition } from "./condition.ts";
import type { Hours } from "./hours.ts";

/**
 * A decision made ahead: an operator signs into policy what a person would approve again and again. It is bounded by
 * caller, actions, conditions on the typed input, effects, budget and time, and every call that it lets pass names it.
 */
export interface Grant {
  readonly name: string;
  readonly caller: GrantCaller;
  /** PACK.ACTION, or a prefix that ends in `.*`. */
  readonly actions: readonly string[];
  readonly effects: readonly Effect[];
  readonly conditions: readonly Condition[];
  /** What asks on every use elsewhere and is named here on purpose. */
  readonly includes: readonly GrantInclusion[];
  readonly limits: RunLimits;
  /** Side effects and reads alike, counted by the gateway's UTC day. */
  readonly callsPerDay: number;
  readonly createdAt: string;
  readonly until: string;
  /** Null: at any time of day. */
  readonly hours: Hours | null;
  /** It ends once nobody used it for so many days. Null where it was signed before grants said so: the standard ones. */
  readonly idleDays: number | null;
}

/** All that is given has to hold at once; at least one is. */
export interface GrantCaller {
  /** The name under which policy trusts a signer or an image. */
  readonly authority: string | null;
  /** `sha256:<hex>` of the image file. */
  readonly image: string | null;
  /** `sha256:<hex>` of the program that `gw run` starts: it is covered below such a wrapper, and there alone. */
  readonly command: string | null;
  /** The operating system's user of an agent that runs as a user of its own. */
  readonly uid: number | null;
}

/** A call that needs one of these passes only where the grant names it. */
export type GrantInclusion =
  | { readonly kind: "each_use"; readonly credential: string }
  /** Actions whose definition asks on every use. */
  | { readonly kind: "each_use_actions" }
  | { readonly kind: "plans" }
  | { readonly kind: "unpreviewed" }
  | { readonly kind: "purchases" }
  | { readonly kind: "uncapped_cost" };

const DAY_MS = 86_400_000;
const PLAIN_INCLUSIONS = ["each_use_actions", "plans", "unpreviewed", "purchases", "uncapped_cost"] as const;

export function inclusionWord(inclusion: GrantInclusion): string {
  return inclusion.kind === "each_use" ? `each_use:${inclusion.credential}` : inclusion.kind;
}

export function readInclusion(word: string): GrantInclusion | null {
  const credential = /^each_use:([a-z0-9][a-z0-9._-]{0,63})$/.exec(word)?.[1];
  if (credential !== undefined) return { kind: "each_use", credential };
  const kind = PLAIN_INCLUSIONS.find((one) => one === word);
  return kind === undefined ? null : { kind };
}

/** When it ends although its date has not come, unless it is used before. Uses are known by their UTC day. */
export function endsUnused({ createdAt, idleDays }: Grant, lastUsedDay: string | null): number {
  const usedMs = lastUsedDay === null ? 0 : Date.parse(`${lastUsedDay}T00:00:00.000Z`) + DAY_MS;
  return Math.max(Date.parse(createdAt), usedMs) + (idleDays ?? defaults.grantIdleDays) * DAY_MS;
}

export function namesAction(patterns: readonly string[], action: string): boolean {
  return patterns.some((pattern) =>
    pattern.endsWith(".*") ? action.startsWith(pattern.slice(0, -1)) : pattern === action,
  );
}
