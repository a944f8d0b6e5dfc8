import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import { asDifference, type Difference } from "../../../conventions/upgrade/compare/difference.ts";
import type { ApiFacts, Review } from "../../../conventions/upgrade/compare/review.ts";
import { closingDifference } from "../../../conventions/upgrade/decision/closing.ts";
import type { AuthorityMap } from "../../../conventions/upgrade/map/authority-map.ts";
import { comparePacks, type PackDifference } from "../../../conventions/upgrade/pack/compare-packs.ts";
import { describeCoverage } from "../../../conventions/upgrade/pack/cover.ts";
import { type Evidence, requireEvidence } from "../../../conventions/upgrade/pack/require-evidence.ts";
import { probeDigest, readProbe, type SignedProbe } from "../../../conventions/upgrade/probe/attest.ts";
import { readReport } from "../../../conventions/upgrade/report/read-report.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readBounded } from "./files.ts";
import type { PackChange } from "./load-change.ts";
import { type NamedBytes, type ReviewOutput, reviewInThread } from "./review-thread.ts";

/** What is to be reviewed: two documents, a pack that changes, or both, and what a probe saw. */
export interface Subject {
  readonly before?: string;
  readonly after?: string;
  /** The pack whose scopes are at stake, where none changes. */
  readonly pack?: string;
  readonly change?: PackChange;
  /** The saved report of a probe. */
  readonly probe?: string;
  readonly withoutEvidence?: boolean;
}

export interface Assembled {
  readonly review: Review;
  readonly map: AuthorityMap | null;
  readonly corpus: string | null;
  /** What is signed last, over all of it; null where no pack changes. */
  readonly closing: Difference | null;
  readonly probe: SignedProbe | null;
  /** What a review must still be shown before it can be finished. */
  readonly missing: Denied | null;
}

/** Made anew from the files each time: a saved report is never believed about documents or packs. */
export async function assembleReview(
  subject: Subject,
  keys: readonly OperatorKey[],
  corpus = false,
): Promise<Assembled> {
  const { change } = subject;
  const documents = await reviewDocuments(subject, corpus);
  if (documents === null && change === undefined)
    throw new Denied(
      "schema_violation",
      "Name the two documents, or the pack that is to be trusted with --trust NAME.",
    );
  const probe = subject.probe === undefined ? null : await loadProbe(subject.probe, keys);
  const { map = null, corpus: drafted = null } = documents ?? {};
  if (change === undefined) {
    const review = documents?.review ?? emptyReview(factsOfPack("", "", 0), factsOfPack("", "", 0));
    const differences = [...review.differences, ...(probe?.differences ?? [])];
    return {
      review: { ...review, differences },
      map,
      corpus: drafted,
      closing: null,
      probe: probe?.signed ?? null,
      missing: null,
    };
  }
  const changes = comparePacks(change.before, change.after, change.of);
  const coverage = documents?.coverage ?? null;
  const review = documents?.review ?? reviewOfPacks(change);
  const reviewed = documents === null ? null : { before: review.before.digest, after: review.after.digest };
  const missing = missingEvidence(change, changes, {
    documents: reviewed === null || coverage === null ? null : { ...reviewed, coverage },
    probe: probe?.signed.statement ?? null,
    without: subject.withoutEvidence === true,
  });
  const differences = [
    ...changes.map(({ draft }) => asDifference(draft)),
    ...(coverage === null ? [] : describeCoverage(coverage).map(asDifference)),
    ...review.differences,
    ...(probe?.differences ?? []),
  ];
  const pack = { name: change.after.name, before: change.beforeDigest, after: change.after.digest };
  const seen = probe === null ? null : probeDigest(probe.signed);
  const closing =
    changes.length === 0 ? null : closingDifference({ pack, documents: reviewed, probe: seen }, differences);
  return { review: { ...review, differences }, map, corpus: drafted, closing, probe: probe?.signed ?? null, missing };
}

/** Evidence about something else is refused at once; evidence that is still missing keeps a review from its end, not from its beginning. */
function missingEvidence(change: PackChange, changes: readonly PackDifference[], evidence: Evidence): Denied | null {
  try {
    requireEvidence(change.before, change.after, changes, evidence);
    return null;
  } catch (error) {
    if (error instanceof Denied && error.code === "upgrade_undecided") return error;
    throw error;
  }
}

/** A probe's report, which an operator signed and nobody changed since. */
export async function loadProbe(
  file: string,
  keys: readonly OperatorKey[],
): Promise<{ readonly signed: SignedProbe; readonly api: string; readonly differences: readonly Difference[] }> {
  const { root, api, differences } = readReport(file, await readBounded(file, defaults.upgradeReportBytes));
  return { signed: readProbe(file, root, keys), api, differences };
}

async function reviewDocuments(
  { before, after, pack, change }: Subject,
  corpus: boolean,
): Promise<ReviewOutput | null> {
  if (before === undefined || after === undefined) return null;
  const load = async (name: string, limit: number): Promise<NamedBytes> => ({
    name,
    bytes: await readBounded(name, limit),
  });
  return reviewInThread({
    before: await load(before, defaults.upgradeDocumentBytes),
    after: await load(after, defaults.upgradeDocumentBytes),
    pack: change?.afterFile ?? (pack === undefined ? null : await load(pack, defaults.packBytes)),
    packBefore: change?.beforeFile ?? null,
    corpus,
  });
}

function reviewOfPacks({ before, beforeDigest, after }: PackChange): Review {
  return emptyReview(
    factsOfPack(after.name, beforeDigest, before?.actions.size ?? 0),
    factsOfPack(after.name, after.digest, after.actions.size),
  );
}

function emptyReview(before: ApiFacts, after: ApiFacts): Review {
  return { before, after, counts: { added: 0, removed: 0, renamed: 0, kept: 0 }, differences: [], pack: [] };
}

function factsOfPack(name: string, digest: string, operations: number): ApiFacts {
  const title = name;
  return {
    file: `${name}.yaml`,
    digest: digest as ApiFacts["digest"],
    bytes: 0,
    dialect: "pack",
    title,
    version: digest.slice(0, 19),
    operations,
  };
}
