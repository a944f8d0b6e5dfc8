import { type Change, type Difference, type Surface, surfaces } from "../compare/difference.ts";
import type { Review } from "../compare/review.ts";
import type { DecisionState, Settlement } from "../decision/settle.ts";
import type { AuthorityMap } from "../map/authority-map.ts";
import type { RowChange } from "../map/compare-maps.ts";
import type { SignedProbe } from "../probe/attest.ts";

/** Everything that the three forms of the report say, computed once. */
export interface Report {
  readonly review: Review;
  readonly settlement: Settlement;
  readonly groups: readonly Group[];
  readonly totals: readonly SurfaceTotal[];
  readonly map: AuthorityMap | null;
  readonly mapChanges: readonly RowChange[];
  /** What a probe saw, signed by whoever ran it. */
  readonly probe?: SignedProbe;
}

/** Differences that say the same, read and decided together. */
export interface Group {
  readonly id: string;
  readonly surface: Surface;
  readonly change: Change;
  readonly kind: string;
  readonly lead: Difference;
  readonly members: readonly Difference[];
  readonly state: GroupState;
  readonly scopes: readonly string[];
  /** How early a reviewer should read it. */
  readonly weight: number;
}

export type GroupState = DecisionState["kind"] | "mixed";

export interface SurfaceTotal {
  readonly surface: Surface;
  readonly widens: number;
  readonly shifts: number;
  readonly narrows: number;
  readonly open: number;
}

export function buildReport(
  review: Review,
  settlement: Settlement,
  map: AuthorityMap | null = null,
  mapChanges: readonly RowChange[] = [],
): Report {
  return {
    review,
    settlement,
    groups: groupDifferences(review.differences, settlement).toSorted(
      (a, b) => b.weight - a.weight || (a.id < b.id ? -1 : 1),
    ),
    totals: surfaces.map((surface) => totalOf(surface, review.differences, settlement)),
    map,
    mapChanges,
  };
}

function groupDifferences(differences: readonly Difference[], settlement: Settlement): readonly Group[] {
  const groups = new Map<string, Difference[]>();
  for (const difference of differences) {
    const known = groups.get(difference.group);
    if (known === undefined) groups.set(difference.group, [difference]);
    else known.push(difference);
  }
  return [...groups].flatMap(([id, members]) => {
    const lead = members[0];
    if (lead === undefined) return [];
    const states = new Set(members.map((one) => settlement.states.get(one.id)?.kind ?? "open"));
    const [only] = states;
    const state: GroupState = states.size === 1 && only !== undefined ? only : "mixed";
    const scopes = [...new Set(members.flatMap((one) => one.scopes))].sort();
    const group = { id, surface: lead.surface, change: lead.change, kind: lead.kind, lead, members, state, scopes };
    return [{ ...group, weight: weigh(group) }];
  });
}

/** What opens doors and what acts come before what an agent could send, and what it already touches counts double. */
function weigh({ lead, change, surface, kind, scopes, members }: Omit<Group, "weight">): number {
  const widens = change === "widens" ? 100 : change === "shifts" ? 40 : 0;
  const bySurface = { credential_acceptance: 60, action_reach: 50, resource_reach: 20, request_compatibility: 0 }[
    surface
  ];
  const byKind = LOUD[kind] ?? 0;
  const byEffect = lead.effect === null ? 0 : EFFECT_WEIGHT[lead.effect.effect];
  const touched = scopes.length > 0 ? 2 : 1;
  return (widens + bySurface) * touched + byKind + byEffect + Math.min(members.length, 9);
}

const LOUD: Readonly<Record<string, number>> = {
  authority_increase: 600,
  scopes_gained: 600,
  security_removed: 500,
  security_weakened: 450,
  server_added: 400,
  token_returned: 150,
  role_added: 150,
  default_widened: 120,
  operation_added: 50,
};
const EFFECT_WEIGHT = {
  mint: 250,
  grant: 220,
  purchase: 200,
  send: 150,
  delete: 140,
  create: 60,
  write: 50,
  preview: 10,
  read: 0,
} as const;

function totalOf(surface: Surface, differences: readonly Difference[], settlement: Settlement): SurfaceTotal {
  const here = differences.filter((one) => one.surface === surface);
  const count = (change: Change): number => here.filter((one) => one.change === change).length;
  const open = settlement.open.filter((one) => one.surface === surface).length;
  return { surface, widens: count("widens"), shifts: count("shifts"), narrows: count("narrows"), open };
}

export function kindWords(kind: string): string {
  return kind.replaceAll("_", " ");
}
