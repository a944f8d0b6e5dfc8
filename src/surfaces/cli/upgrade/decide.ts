import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import { writeReviewFile } from "../../../conventions/upgrade/decision/review-file.ts";
import { decideDifferences, settleReview } from "../../../conventions/upgrade/decision/settle.ts";
import type { Reviewer, SignedDecision, Verdict } from "../../../conventions/upgrade/decision/statement.ts";
import { buildReport, kindWords } from "../../../conventions/upgrade/report/report.ts";
import { verdictLine } from "../../../conventions/upgrade/report/terminal.ts";
import { type Clock, isoTime } from "../../../kernel/clock.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { writeWhole } from "./files.ts";
import { type DocumentOptions, loadReviewFile, reviewDocuments } from "./review.ts";

export interface DecideOptions extends DocumentOptions {
  readonly json: boolean;
  readonly reviews: string;
  /** Ids of differences or groups. None: list what is open. */
  readonly ids: readonly string[];
  readonly verdict: Verdict;
  readonly reason: string;
  readonly narrowing: string | null;
}

export interface DecidePorts {
  readonly clock: Pick<Clock, "wallMs">;
  operatorKeys(): Promise<readonly OperatorKey[]>;
  /** Unlocks the reviewer's key; asked for only when there is something to sign. */
  reviewer(): Promise<Reviewer>;
  /** Puts the decisions into the audit log, and resolves when they are durable there. */
  record(decisions: readonly SignedDecision[]): Promise<void>;
}

/** `gw upgrade decide`: one signed decision a difference, in the log first and then in the review file. */
export function runUpgradeDecide(options: DecideOptions, io: CliIo, ports: DecidePorts): Promise<Exit> {
  return answering(io, async () => {
    const { review } = await reviewDocuments(options, false);
    const file = await loadReviewFile(options.reviews, review.after.title);
    const keys = await ports.operatorKeys();
    if (options.ids.length === 0)
      return listOpen(buildReport(review, settleReview(review.differences, file, keys)), options, io);
    const decided = decideDifferences(
      review.differences,
      file,
      {
        ids: options.ids,
        verdict: options.verdict,
        reason: options.reason,
        narrowing: options.narrowing,
        decidedAt: isoTime(ports.clock.wallMs()),
      },
      await ports.reviewer(),
    );
    await ports.record(decided.added);
    await writeWhole(options.reviews, writeReviewFile(decided.file));
    const report = buildReport(review, settleReview(review.differences, decided.file, keys));
    if (options.json)
      io.out(
        JSON.stringify(
          decided.added.map(({ statement }) => statement),
          null,
          2,
        ),
      );
    else {
      io.out(
        `${decided.added.length} ${options.verdict} and signed by ${showIdentifier(decided.added[0]?.statement.operator ?? "")} in ${showText(options.reviews)}.`,
      );
      io.out(verdictLine(report));
    }
    return exits.done;
  });
}

function listOpen(report: ReturnType<typeof buildReport>, options: DecideOptions, io: CliIo): Exit {
  const open = report.groups.filter(
    ({ state }) => state !== "accepted" && state !== "narrowed" && state !== "rejected",
  );
  if (options.json) {
    io.out(
      JSON.stringify(
        open.map(({ id, surface, change, kind, members }) => ({
          group: id,
          surface,
          change,
          kind,
          differences: members.map((one) => one.id),
        })),
        null,
        2,
      ),
    );
  } else {
    for (const { id, surface, change, kind, members, lead } of open) {
      const many = members.length > 1;
      io.out(
        `${(many ? id : lead.id).padEnd(19)} ${change.padEnd(8)} ${surface.padEnd(22)} ${kindWords(kind)}: ${many ? `${members.length} places` : showIdentifier(lead.subject)}`,
      );
    }
    io.out(verdictLine(report));
  }
  return report.settlement.verdict === "finished" ? exits.done : exits.denied;
}
