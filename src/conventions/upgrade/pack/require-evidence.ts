import type { Digest } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Pack } from "../../action/pack.ts";
import { routeOf } from "../model/read-operation.ts";
import type { ProbedVersion, ProbeStatement } from "../probe/attest.ts";
import type { PackDifference } from "./compare-packs.ts";
import { type Coverage, httpActions } from "./cover.ts";

export interface Evidence {
  readonly documents: { readonly before: Digest; readonly after: Digest; readonly coverage: Coverage } | null;
  readonly probe: ProbeStatement | null;
  /** A reviewer signs that there is neither. */
  readonly without: boolean;
}

/** Whether what was looked at is this change, and all of it. Evidence about another API or about nothing is refused. */
export function requireEvidence(
  before: Pack | null,
  after: Pack,
  changes: readonly PackDifference[],
  evidence: Evidence,
): void {
  if (evidence.documents !== null) requireOwnDocuments(before, after, changes, evidence.documents);
  if (evidence.probe !== null) requireOwnProbe(before, after, evidence.probe);
  const upgrade = changes.find(({ demand }) => demand === "upgrade");
  const asks = upgrade ?? changes.find(({ demand }) => demand === "evidence");
  if (asks === undefined || evidence.documents !== null) return;
  const about = `${asks.draft.subject} ${asks.draft.at}`.trim();
  if (evidence.probe === null) {
    if (evidence.without && upgrade === undefined) return;
    const or = upgrade === undefined ? ", or say --without-evidence and sign that there is neither" : "";
    throw new Denied(
      "upgrade_undecided",
      `${about} changed: name the provider's document before and after (OLD NEW), or a probe of every action (--probe FILE)${or}.`,
    );
  }
  requireProbed(after, upgrade === undefined ? changes : null, evidence.probe);
}

function requireOwnDocuments(
  before: Pack | null,
  after: Pack,
  changes: readonly PackDifference[],
  { before: old, after: next, coverage }: NonNullable<Evidence["documents"]>,
): void {
  const http = httpActions(after);
  if (http.length > 0 && coverage.missing.length === http.length)
    throw mismatch(`The new document has none of the operations of ${after.name}: it is about another API.`);
  if (before !== null && httpActions(before).length > 0 && coverage.foundBefore === 0)
    throw mismatch(
      `The old document has none of the operations of ${after.name} as it was trusted: it is about another API.`,
    );
  if (before !== null && old === next && changes.some(({ demand }) => demand === "upgrade"))
    throw mismatch("The two documents are the same bytes, and the pack goes to another version.");
}

function requireOwnProbe(before: Pack | null, after: Pack, probe: ProbeStatement): void {
  if (!isVersionOf(after, probe.after))
    throw mismatch(
      `The probe did not look at the version that ${after.name} selects: it looked at ${show(probe.after)} as the new one, and the pack goes to ${showSelected(after)}.`,
    );
  if (before !== null && !isVersionOf(before, probe.before))
    throw mismatch(
      `The probe did not compare with the version that is trusted: it took ${show(probe.before)} for the old one, and what is trusted goes to ${showSelected(before)}.`,
    );
  const credential = after.provider?.credential ?? null;
  if (credential !== probe.credential)
    throw mismatch(
      `The probe was let in by ${probe.credential ?? "no vault credential"}, and ${after.name} presents ${credential ?? "none"}.`,
    );
}

/** One probed action says nothing about another. Null: every action must have been seen at the new version. */
function requireProbed(after: Pack, changes: readonly PackDifference[] | null, probe: ProbeStatement): void {
  const seen = new Set(probe.observed.filter((one) => one.after !== null).map(({ route }) => route));
  const asked =
    changes === null ? null : new Set(changes.filter((one) => one.demand === "evidence").map((one) => one.action));
  // A change of the provider is one of every action.
  const everything = asked === null || asked.has(null);
  const unseen = httpActions(after).filter(
    (action) => (everything || asked.has(action.name)) && !seen.has(routeOf(action.method, action.template.text)),
  );
  if (unseen.length === 0) return;
  const names = unseen.map(({ qualifiedName }) => qualifiedName);
  throw new Denied(
    "upgrade_undecided",
    `The probe saw no answer for ${names.slice(0, 5).join(", ")}${names.length > 5 ? ` and ${names.length - 5} more` : ""}. Add them to the corpus, or name the documents.`,
    { extra: { actions: names } },
  );
}

function isVersionOf({ provider }: Pack, { origin, header }: ProbedVersion): boolean {
  return provider !== null && provider.origin === origin && selectorOf(provider) === header;
}

function selectorOf({ version }: NonNullable<Pack["provider"]>): string | null {
  return version === null ? null : `${version.header.toLowerCase()}: ${version.value}`;
}

function showSelected({ provider }: Pack): string {
  return provider === null ? "no provider" : show({ origin: provider.origin, header: selectorOf(provider) });
}

function show({ origin, header }: ProbedVersion): string {
  return header === null ? origin : `${origin} ${header}`;
}

function mismatch(message: string): Denied {
  return new Denied("review_mismatch", message);
}
