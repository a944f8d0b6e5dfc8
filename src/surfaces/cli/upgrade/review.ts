import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import { emptyReviewFile, type ReviewFile, readReviewFile } from "../../../conventions/upgrade/decision/review-file.ts";
import { settleReview } from "../../../conventions/upgrade/decision/settle.ts";
import type { AuthorityMap } from "../../../conventions/upgrade/map/authority-map.ts";
import { compareMaps, type RowChange } from "../../../conventions/upgrade/map/compare-maps.ts";
import { readAuthorityMap, writeAuthorityMap } from "../../../conventions/upgrade/map/map-file.ts";
import { reportJson } from "../../../conventions/upgrade/report/json.ts";
import { reportPage } from "../../../conventions/upgrade/report/page.ts";
import { buildReport, type Report } from "../../../conventions/upgrade/report/report.ts";
import { reportLines } from "../../../conventions/upgrade/report/terminal.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showText } from "../../../kernel/display.ts";
import { answering } from "../answer.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { hangOf, sayProse } from "../say-prose.ts";
import { assembleReview, type Subject } from "./assemble.ts";
import { readIfThere, writeWhole } from "./files.ts";

export interface ReviewOptions extends Subject {
  readonly json: boolean;
  /** The file of decisions; absent means that nothing was decided yet. */
  readonly reviews?: string;
  /** The reviewed authority map: compared when it is there, written when it is not. */
  readonly map?: string;
  /** Write the new version's map over the reviewed one. */
  readonly updateMap?: boolean;
  readonly html?: string;
}

export interface ReviewPorts {
  /** The operators whose signatures count; none where no gateway home is at hand. */
  operatorKeys(): Promise<readonly OperatorKey[]>;
}

/** `gw upgrade review OLD NEW`: exit 0 only when every difference is decided and none is rejected. */
export function runUpgradeReview(options: ReviewOptions, io: CliIo, ports: ReviewPorts): Promise<Exit> {
  return answering(io, async () => {
    const keys = await ports.operatorKeys();
    const { review, map, closing, missing } = await assembleReview(options, keys);
    const file = await loadReviewFile(options.reviews, review.after.title);
    const whole = closing === null ? review : { ...review, differences: [...review.differences, closing] };
    const settlement = settleReview(whole.differences, file, keys);
    const changes = map === null ? [] : await checkMap(options, map, io);
    const exit = await showReport(buildReport(whole, settlement, map, changes), options, io);
    if (missing === null) return exit;
    io.err(`${missing.code}: ${missing.message}`);
    return exits.denied;
  });
}

export async function loadReviewFile(path: string | undefined, api: string): Promise<ReviewFile> {
  const bytes = path === undefined ? null : await readIfThere(path, defaults.upgradeReviewFileBytes);
  return bytes === null || path === undefined ? emptyReviewFile(api) : readReviewFile(path, bytes);
}

/** The three forms of a report; the exit says whether the upgrade may go on. */
export async function showReport(
  report: Report,
  options: Pick<ReviewOptions, "json" | "html">,
  io: CliIo,
): Promise<Exit> {
  if (options.html !== undefined) await writeWhole(options.html, reportPage(report));
  if (options.json) io.out(JSON.stringify(reportJson(report), null, 2));
  else {
    for (const line of reportLines(report)) sayProse(io, line, hangOf(line));
    if (options.html !== undefined) io.out(`The whole report: ${showText(options.html)}`);
  }
  switch (report.settlement.verdict) {
    case "finished":
      return exits.done;
    case "open":
      io.err("upgrade_undecided: nothing upgrades until each difference is decided.");
      return exits.denied;
    case "refused":
      io.err("upgrade_refused: a reviewer rejected a difference.");
      return exits.denied;
  }
}

async function checkMap(options: ReviewOptions, map: AuthorityMap, io: CliIo): Promise<readonly RowChange[]> {
  if (options.map === undefined) return [];
  const bytes = await readIfThere(options.map, defaults.upgradeReviewFileBytes);
  const changes = bytes === null ? [] : compareMaps(readAuthorityMap(options.map, bytes), map);
  if (bytes === null || options.updateMap === true) {
    await writeWhole(options.map, writeAuthorityMap(map));
    if (!options.json)
      sayProse(
        io,
        `Authority map written to ${showText(options.map)}: ${map.rows.length} rows. Read it before you commit it.`,
      );
  }
  return changes;
}
