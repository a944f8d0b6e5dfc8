import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pack } from "../../../conventions/action/pack.ts";
import { readPack } from "../../../conventions/action/read.ts";
import type { OperatorKey } from "../../../conventions/approval/decision.ts";
import { requireFinished, settleReview } from "../../../conventions/upgrade/decision/settle.ts";
import { readReport } from "../../../conventions/upgrade/report/read-report.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { Policy } from "../../../vault/policy/policy.ts";
import { readBounded } from "./files.ts";
import { loadReviewFile } from "./review.ts";

export interface ReviewedOptions {
  readonly home: string;
  /** A saved JSON report of `gw upgrade review` or `probe`. */
  readonly report?: string;
  readonly reviews?: string;
}

/**
 * Before a pack is trusted that speaks another version of its provider than the trusted one: every difference of the report
 * must be decided and signed, and none rejected. A pack that cannot be compared with what was trusted counts as another.
 */
export async function requireReviewed(
  pack: Pack,
  policy: Policy,
  options: ReviewedOptions,
  operatorKeys: () => Promise<readonly OperatorKey[]>,
): Promise<void> {
  const trusted = policy.packs.find((one) => one.pack === pack.name);
  if (trusted === undefined || trusted.digest === pack.digest) return;
  const before = versionOf(readTrustedCopy(options.home, pack.name, trusted.digest));
  const after = versionOf(pack);
  if (before === after || (before === undefined && after === null)) return;
  if (options.report === undefined || options.reviews === undefined) {
    const from = before === undefined ? "a version that can no longer be read" : (before ?? "no version");
    throw new Denied(
      "upgrade_undecided",
      `${pack.name} goes from ${showIdentifier(from)} to ${showIdentifier(after ?? "no version")} of its provider. Review it (gw upgrade review OLD NEW --json > report.json), decide (gw upgrade decide), then: gw pack trust ${pack.name} --report report.json --reviews reviews.yaml`,
    );
  }
  const report = readReport(options.report, await readBounded(options.report, defaults.upgradeReportBytes));
  const file = await loadReviewFile(options.reviews, report.api);
  if (file.api !== report.api)
    throw new Denied("review_file_invalid", "The report and the review file are about two different APIs.");
  requireFinished(settleReview(report.differences, file, await operatorKeys()));
}

/** Kept beside the packs, to be compared with the next one. It is believed only while policy names its digest. */
export function keepTrustedCopy(home: string, pack: Pack, bytes: Buffer): void {
  const folder = join(home, "packs", "trusted");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, `${pack.name}.yaml`), bytes, { mode: 0o600 });
}

function readTrustedCopy(home: string, name: string, digest: string): Pack | undefined {
  try {
    const { pack } = readPack(readFileSync(join(home, "packs", "trusted", `${name}.yaml`)), `${name}.yaml`);
    return pack?.digest === digest ? pack : undefined;
  } catch {
    return undefined;
  }
}

/** Undefined where there is no pack to ask; null where the pack names no version. */
function versionOf(pack: Pack | undefined): string | null | undefined {
  if (pack === undefined) return undefined;
  const version = pack.provider?.version ?? null;
  return version === null ? null : `${version.header}: ${version.value}`;
}
