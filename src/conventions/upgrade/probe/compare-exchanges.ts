import { asDifference, type Difference, type Draft, type Surface } from "../compare/difference.ts";
import type { ProbeCase } from "./expand.ts";
import { type FactName, type Facts, factNames } from "./normalize.ts";
import type { Observed } from "./run.ts";

/** What must happen at once, whoever decides later. */
export interface Consequences {
  /** Labels in the corpus whose vault credential is disabled now; only an operator restores it. */
  readonly disable: readonly string[];
  /** What nobody here can do: it stays listed until a person says that it was done. */
  readonly open: readonly string[];
}

const DENIED = [401, 403, 404];
const FORBIDDEN_NAMES = ["forbidden_project", "inactive_record", "other_tenant_record"];
const SURFACE_OF: Readonly<Record<FactName, Surface>> = {
  headers: "credential_acceptance",
  links: "resource_reach",
  identifiers: "resource_reach",
  roles: "action_reach",
  steering: "resource_reach",
  errors: "credential_acceptance",
  fields: "request_compatibility",
};
const WORDS: Readonly<Record<FactName, string>> = {
  headers: "Headers that speak about credentials differ.",
  links: "Links or pages lead elsewhere.",
  identifiers: "Other records, or more or fewer of them, are named.",
  roles: "Other roles are named.",
  steering: "Values that steer a later request differ.",
  errors: "The refusal is worded with another code.",
  fields: "The answer has other fields.",
};

/** The same case against two versions. Order, times, request ids and tokens play no part. */
export function compareRuns(
  before: ReadonlyMap<string, Observed>,
  after: ReadonlyMap<string, Observed>,
): { readonly differences: readonly Difference[]; readonly consequences: Consequences } {
  const drafts: Draft[] = [];
  const disable = new Set<string>();
  for (const [id, next] of [...after].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const old = before.get(id);
    const increase = judgeExpectation(next, old, drafts);
    if (increase) disable.add(next.case.credential);
    if (old === undefined) continue;
    compareFacts(next.case, "", old.facts, next.facts, increase, drafts);
    if (old.next !== null || next.next !== null) comparePages(next.case, old.next, next.next, drafts);
    if (compareGrants(next, old, drafts)) disable.add(next.case.credential);
  }
  const labels = [...disable].sort();
  return {
    differences: drafts.map(asDifference),
    consequences: {
      disable: labels,
      open: labels.map((label) => `revoke the credential behind ${label} at the provider, which nobody here can do`),
    },
  };
}

function draft(one: ProbeCase, fields: Omit<Draft, "subject">): Draft {
  return { ...fields, subject: `probe ${one.id}`, together: `${one.id} ${fields.kind}` };
}

/** 403 expected, 201 observed. It counts whether or not the old version did the same. */
function judgeExpectation(next: Observed, old: Observed | undefined, drafts: Draft[]): boolean {
  const one = next.case;
  const { status } = next.facts;
  if (status === null) {
    drafts.push(
      draft(one, {
        surface: one.surface,
        kind: "not_observed",
        change: "shifts",
        at: "",
        says: "No answer was seen, so nothing is known about this request.",
        before: old?.facts.outcome ?? null,
        after: next.facts.outcome,
      }),
    );
    return false;
  }
  if (one.expect.kind === "denied" && status < 400) {
    const already = old?.facts.status !== undefined && old.facts.status !== null && old.facts.status < 400;
    drafts.push(
      draft(one, {
        surface: one.surface,
        kind: "authority_increase",
        change: "widens",
        at: "status",
        says: `It had to be denied and was answered ${status}. ${already ? "The old version allows it too." : "The old version denied it."}`,
        before: old === undefined ? "denial expected" : old.facts.outcome,
        after: next.facts.outcome,
        notes: [
          "The upgrade is blocked and the credential is disabled. Make a narrower integration identity before anything else.",
        ],
      }),
    );
    return true;
  }
  if (one.expect.kind === "denied" && saysNothing(status)) {
    drafts.push(
      draft(one, {
        surface: one.surface,
        kind: "denial_unproven",
        change: "shifts",
        at: "expectation",
        says: `It had to be denied and was answered ${status}: the provider did not say whether it may.`,
        before: old?.facts.outcome ?? null,
        after: next.facts.outcome,
      }),
    );
  }
  if (one.expect.kind === "status" && !one.expect.status.includes(status)) {
    drafts.push(
      draft(one, {
        surface: "request_compatibility",
        kind: "expectation_missed",
        change: DENIED.includes(status) ? "narrows" : "shifts",
        at: "expectation",
        says: `It had to answer ${one.expect.status.join(" or ")} and answered ${status}.`,
        before: one.expect.status.join(" or "),
        after: String(status),
      }),
    );
  }
  return false;
}

/**
 * Too late, too often, broken, or about the request itself: nobody said what the credential may do. A conflict or a member that
 * does not fit may even be found behind the door that was to be shut. Many say 400 to a credential that they do not take.
 */
function saysNothing(status: number): boolean {
  return !REFUSALS.has(status);
}

const REFUSALS = new Set([400, 401, 403, 404, 407, 410, 451]);

function compareFacts(
  one: ProbeCase,
  prefix: string,
  old: Facts,
  next: Facts,
  increase: boolean,
  drafts: Draft[],
): void {
  // A route that the old version did not have and the new one denies is what everybody hopes for.
  const expected =
    one.purpose === "new_route" && old.status === 404 && next.status !== null && DENIED.includes(next.status);
  if (old.outcome !== next.outcome && !increase && !expected && next.status !== null) {
    drafts.push(compareStatus(one, prefix, old, next));
  }
  const exposed = next.named.filter(
    (name) => FORBIDDEN_NAMES.includes(name) && !old.named.includes(name) && !namesItself(one, name),
  );
  for (const name of exposed) {
    drafts.push(
      draft(one, {
        surface: "resource_reach",
        kind: "record_exposed",
        change: "widens",
        at: `${prefix}${name}`,
        says: `The answer now holds the ${name.replaceAll("_", " ")}, which it did not before.`,
        before: null,
        after: name,
      }),
    );
  }
  // Two refusals of different status, or a refusal and an answer, differ in everything; the status says it already.
  // What a refreshed token may do is compared as a grant.
  const alike = old.status === next.status || (classOf(old) === "answered" && classOf(next) === "answered");
  if (!alike || one.grant !== null) return;
  for (const name of factNames) {
    const gone = old.lists[name].filter((text) => !next.lists[name].includes(text));
    const come = next.lists[name].filter((text) => !old.lists[name].includes(text));
    if (gone.length === 0 && come.length === 0) continue;
    drafts.push(
      draft(one, {
        surface: SURFACE_OF[name],
        kind: `${name}_differ`,
        change: gone.length === 0 ? "widens" : come.length === 0 ? "narrows" : "shifts",
        at: `${prefix}${name}`,
        says: WORDS[name],
        before: gone.join("\n") || "nothing is gone",
        after: come.join("\n") || "nothing came",
      }),
    );
  }
}

function compareStatus(one: ProbeCase, prefix: string, old: Facts, next: Facts): Draft {
  const hides = old.status === 403 && next.status === 404;
  const both =
    old.status !== null && next.status !== null && DENIED.includes(old.status) && DENIED.includes(next.status);
  const opens = old.status !== null && old.status >= 400 && next.status !== null && next.status < 400;
  const kind = hides ? "possible_hiding" : opens ? "newly_allowed" : "status_changed";
  const says = hides
    ? "A denial is now a 404: possible hiding, and no proof that the record is out of reach."
    : opens
      ? "What was refused is now answered."
      : "The answer has another status.";
  return draft(one, {
    surface: both ? "credential_acceptance" : opens ? one.surface : "request_compatibility",
    kind,
    change: opens ? "widens" : "shifts",
    at: `${prefix}status`,
    says,
    before: old.outcome,
    after: next.outcome,
  });
}

function comparePages(one: ProbeCase, old: Facts | null, next: Facts | null, drafts: Draft[]): void {
  if (old !== null && next !== null && (old.status === null) === (next.status === null)) {
    compareFacts(one, "page 2 ", old, next, false, drafts);
    return;
  }
  drafts.push(
    draft(one, {
      surface: "resource_reach",
      kind: "pagination_changed",
      change: next === null ? "narrows" : old === null ? "widens" : "shifts",
      at: "page 2",
      says:
        next === null
          ? "There is no second page any more."
          : old === null
            ? "There is a second page now."
            : "The second page is somewhere else.",
      before: old?.outcome ?? "no second page",
      after: next?.outcome ?? "no second page",
    }),
  );
}

/** A refresh must give back what was granted: no other audience, and nothing gained in silence. */
function compareGrants(next: Observed, old: Observed, drafts: Draft[]): boolean {
  const expected = next.case.grant;
  if (expected === null || next.facts.status !== 200) return false;
  const { scopes, audience } = next.grant ?? { scopes: null, audience: null };
  const gained = (scopes ?? []).filter((scope) => !expected.scopes.includes(scope));
  const lost = scopes === null ? [] : expected.scopes.filter((scope) => !scopes.includes(scope));
  const show = (list: readonly string[] | null | undefined): string => list?.join(" ") || "not stated";
  if (gained.length > 0) {
    drafts.push(
      draft(next.case, {
        surface: "credential_acceptance",
        kind: "scopes_gained",
        change: "widens",
        at: "scopes",
        says: `The refreshed token silently gained ${gained.join(", ")}.`,
        before: show(expected.scopes),
        after: show(scopes),
      }),
    );
  }
  if (lost.length > 0) {
    drafts.push(
      draft(next.case, {
        surface: "credential_acceptance",
        kind: "scopes_lost",
        change: "narrows",
        at: "scopes lost",
        says: `The refreshed token no longer has ${lost.join(", ")}.`,
        before: show(expected.scopes),
        after: show(scopes),
      }),
    );
  }
  const moved = audience !== null && audience.join(" ") !== [...expected.audience].sort().join(" ");
  if (moved) {
    drafts.push(
      draft(next.case, {
        surface: "credential_acceptance",
        kind: "audience_changed",
        change: "shifts",
        at: "audience",
        says: "The refreshed token is for another audience.",
        before: show(expected.audience),
        after: show(audience),
      }),
    );
  }
  if (scopes === null && old.grant?.scopes !== null && old.grant !== null) {
    drafts.push(
      draft(next.case, {
        surface: "credential_acceptance",
        kind: "grant_unstated",
        change: "shifts",
        at: "scopes",
        says: "The new version no longer says what a refreshed token may do.",
        before: show(old.grant.scopes),
        after: "not stated",
      }),
    );
  }
  return gained.length > 0;
}

function namesItself(one: ProbeCase, name: string): boolean {
  return JSON.stringify(one.request).includes(`$${name}`);
}

function classOf({ status }: Facts): string {
  return status === null ? "none" : status < 400 ? "answered" : "refused";
}
