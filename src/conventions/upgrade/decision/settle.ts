import { counted } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { OperatorKey } from "../../approval/decision.ts";
import type { Difference } from "../compare/difference.ts";
import type { ReviewFile } from "./review-file.ts";
import {
  type Reviewer,
  type SignedDecision,
  signDecision,
  type UpgradeDecision,
  type Verdict,
  verifyDecision,
} from "./statement.ts";

/** What stands about one difference. `unverified` is a decision whose signature does not hold: it decides nothing. */
export type DecisionState =
  | { readonly kind: "open" }
  | { readonly kind: "unverified"; readonly decision: UpgradeDecision }
  | { readonly kind: Verdict; readonly decision: UpgradeDecision };

/** As much of a difference as a decision is about. */
type Decidable = Pick<Difference, "id" | "group" | "surface" | "subject" | "kind">;

export interface Settlement {
  readonly states: ReadonlyMap<string, DecisionState>;
  readonly open: readonly Decidable[];
  readonly rejected: readonly Decidable[];
  readonly verdict: "finished" | "open" | "refused";
}

/** Nothing upgrades until every difference has a verdict with a good signature, and none of them is a rejection. */
export function settleReview(
  differences: readonly Decidable[],
  file: ReviewFile,
  keys: readonly OperatorKey[],
): Settlement {
  const latest = new Map<string, DecisionState>();
  for (const signed of file.decisions) {
    const { statement } = signed;
    const good = statement.api === file.api && verifyDecision(signed, keys);
    // A bad entry must not undo a good one: it only shows where nothing better is known.
    if (good) latest.set(statement.difference, { kind: statement.verdict, decision: statement });
    else if (!latest.has(statement.difference))
      latest.set(statement.difference, { kind: "unverified", decision: statement });
  }
  const states = new Map(differences.map(({ id }) => [id, latest.get(id) ?? { kind: "open" as const }]));
  const inState = (...kinds: readonly DecisionState["kind"][]): readonly Decidable[] =>
    differences.filter(({ id }) => kinds.includes(states.get(id)?.kind ?? "open"));
  const open = inState("open", "unverified");
  const rejected = inState("rejected");
  return { states, open, rejected, verdict: rejected.length > 0 ? "refused" : open.length > 0 ? "open" : "finished" };
}

/** For `gw pack trust`: throws unless the review of the new version is finished. */
export function requireFinished(settlement: Settlement): void {
  switch (settlement.verdict) {
    case "finished":
      return;
    case "open":
      throw new Denied(
        "upgrade_undecided",
        `Waiting for a decision: ${counted(settlement.open.length, "difference")}.`,
        {
          extra: { open: settlement.open.map(({ id }) => id) },
        },
      );
    case "refused":
      throw new Denied(
        "upgrade_refused",
        `Rejected: ${counted(settlement.rejected.length, "difference")}. A later decision counts instead: gw upgrade decide`,
        {
          extra: { rejected: settlement.rejected.map(({ id }) => id) },
        },
      );
  }
}

export interface DecideRequest {
  /** Ids of differences or of groups. */
  readonly ids: readonly string[];
  readonly verdict: Verdict;
  readonly reason: string;
  readonly narrowing: string | null;
  readonly decidedAt: string;
}

/** Those that a request is about. A group id stands for the members it has in this review, and no later ones. */
export function chooseDifferences(
  differences: readonly Pick<Difference, "id" | "group">[],
  request: DecideRequest,
): readonly string[] {
  if (request.reason.trim() === "") throw new Denied("review_file_invalid", "A decision needs a reason in words.");
  if ((request.verdict === "narrowed") !== (request.narrowing !== null)) {
    throw new Denied("review_file_invalid", "A narrowed difference needs to say what was narrowed, and only that one.");
  }
  const chosen = new Set<string>();
  for (const id of request.ids) {
    const found = differences.filter((one) => one.id === id || one.group === id);
    if (found.length === 0) throw new Denied("difference_unknown", `${id} is no difference or group of this review.`);
    for (const difference of found) chosen.add(difference.id);
  }
  return [...chosen].sort();
}

/** Adds one signed decision a difference. */
export function decideDifferences(
  differences: readonly Pick<Difference, "id" | "group">[],
  file: ReviewFile,
  request: DecideRequest,
  reviewer: Reviewer,
): { readonly file: ReviewFile; readonly added: readonly SignedDecision[] } {
  const added = chooseDifferences(differences, request).map((difference) =>
    signDecision(
      {
        api: file.api,
        difference,
        verdict: request.verdict,
        reason: request.reason,
        narrowing: request.narrowing,
        decided_at: request.decidedAt,
      },
      reviewer,
    ),
  );
  return { file: { ...file, decisions: [...file.decisions, ...added] }, added };
}
