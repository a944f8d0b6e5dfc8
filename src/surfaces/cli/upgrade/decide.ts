import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import { writeReviewFile } from "../../../conventions/upgrade/decision/review-file.ts";
import { decideDifferences, type Settlement, settleReview } from "../../../conventions/upgrade/decision/settle.ts";
import type { Reviewer, SignedDecision, Verdict } from "../../../conventions/upgrade/decision/statement.ts";
import { type ReportedDifference, readReport } from "../../../conventions/upgrade/report/read-report.ts";
import { kindWords } from "../../../conventions/upgrade/report/report.ts";
import { verdictLine } from "../../../conventions/upgrade/report/terminal.ts";
import { type Clock, isoTime } from "../../../kernel/clock.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { readBounded, writeWhole } from "./files.ts";
import { type DocumentOptions, loadReviewFile, reviewDocuments } from "./review.ts";

export interface DecideOptions {
  /** The documents under review, or a saved JSON report: what a probe observed is not sent again to be decided. */
  readonly of: DocumentOptions | { readonly report: string };
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
    const { api, differences } = await loadDifferences(options.of);
    const file = await loadReviewFile(options.reviews, api);
    const keys = await ports.operatorKeys();
    if (options.ids.length === 0) return listOpen(differences, settleReview(differences, file, keys), options, io);
    const decided = decideDifferences(
      differences,
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
    const statements = decided.added.map(({ statement }) => statement);
    if (options.json) io.out(JSON.stringify(statements, null, 2));
    else {
      const name = showIdentifier(statements[0]?.operator ?? "");
      io.out(`${statements.length} ${options.verdict} and signed by ${name} in ${showText(options.reviews)}.`);
      io.out(verdictLine({ settlement: settleReview(differences, decided.file, keys) }));
    }
    return exits.done;
  });
}

async function loadDifferences(
  of: DecideOptions["of"],
): Promise<{ readonly api: string; readonly differences: readonly ReportedDifference[] }> {
  if ("report" in of) return readReport(of.report, await readBounded(of.report, defaults.upgradeReportBytes));
  const { review } = await reviewDocuments(of, false);
  return { api: review.after.title, differences: review.differences };
}

function listOpen(
  differences: readonly ReportedDifference[],
  settlement: Settlement,
  options: DecideOptions,
  io: CliIo,
): Exit {
  const waiting = new Set(settlement.open.map(({ id }) => id));
  const open = differences.filter(({ id }) => waiting.has(id));
  if (options.json)
    io.out(
      JSON.stringify(
        open.map(({ id, group, surface, kind, subject, says }) => ({ id, group, surface, kind, subject, says })),
        null,
        2,
      ),
    );
  else {
    for (const { id, group, surface, kind, subject } of open) {
      io.out(`${id} ${group} ${surface.padEnd(22)} ${kindWords(kind)}: ${showIdentifier(subject)}`);
    }
    io.out(verdictLine({ settlement }));
  }
  return settlement.verdict === "finished" ? exits.done : exits.denied;
}
