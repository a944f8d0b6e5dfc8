import { counted } from "../../kernel/display.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import { segmentName } from "../frame/layout.ts";
import { breachAt, type Check } from "./check.ts";
import type { Breach } from "./findings.ts";
import { type VerifyReport, vouchedBy } from "./report.ts";
import { strangeSideFiles } from "./side-files.ts";

/** What the whole walk comes to, or the part of it before it was stopped. */
export function judge(check: Check, stopped: Breach | null): VerifyReport {
  const { options, start, live, walk, witnesses } = check;
  const found: Breach[] = stopped === null ? [] : [stopped];
  const end = walk.previous;
  const lastFrame = Math.max(0, walk.nextFrame - 1);
  const place = { segment: walk.segment, file: walk.file, offset: end?.length ?? 0, frame: lastFrame };
  if (live) walk.notices.push({ ...place, code: "writer_live", detail: "" });
  const begins = beginOf(check);
  const at = { segment: begins.segment, file: segmentName(begins.segment), offset: 0, frame: begins.frame };
  for (const { code, detail } of start.notices) walk.notices.push({ ...at, code, detail });
  for (const frame of witnesses.headsBefore) walk.notices.push({ ...at, frame, code: "head_archived", detail: "" });
  if (stopped === null) {
    // Where the caller cuts right after the last segment, the cut declares how that one ended.
    const declared = check.cutAt === walk.segment + 1;
    if (end !== null && end.tail.length > 0 && !live && !declared)
      found.push(breachAt(check, "tail_undeclared", end.segment, end.length));
    if (walk.sinceSeal > 0) {
      walk.largestUnsealed = Math.max(walk.largestUnsealed, walk.sinceSeal);
      walk.notices.push({ ...place, code: "unsealed_tail", detail: counted(walk.sinceSeal, "frame") });
    }
    if (walk.endedBy !== "clean" && !live) {
      walk.notices.push({
        ...place,
        code: "unclean_end",
        detail: "nobody writes in this folder; a copy of a live log ends like this too",
      });
    }
    const { wrong, archived } = witnesses.atEnd(walk.logId?.toString("hex") ?? null, walk.tree.size());
    for (const { code, frame } of wrong) found.push(breachAt(check, code, walk.segment, end?.length ?? 0, frame));
    if (archived !== null) walk.notices.push({ ...at, frame: archived, code: "checkpoint_archived", detail: "" });
    for (const [name, segment] of strangeSideFiles(options.folder, walk, begins.segment)) {
      walk.notices.push({ segment, file: name, offset: 0, frame: 0, code: "side_file_mismatch", detail: name });
    }
  }
  for (const era of walk.eras) {
    if (era.attestedBy.length > 0 || (stopped !== null && era === walk.eras.at(-1))) continue;
    const at = { segment: era.firstSegment, file: segmentName(era.firstSegment), offset: 0, frame: era.firstFrame };
    const by = vouchedBy(era, walk.attestations);
    if (by !== null) walk.notices.push({ ...at, code: "vouched_later", detail: by });
    else if (options.allowUnattested === true) walk.notices.push({ ...at, code: "unattested", detail: "" });
    else found.push({ ...at, code: "unattested" });
  }
  return report(check, found.length === 0 ? "intact" : "not_intact", found, null);
}

/** Neither intact nor not: what is there could not be read. */
export function tellUnreadable(check: Check, error: unknown): VerifyReport {
  const told = deniedByFiles(error)?.message ?? (error instanceof Error ? error.message : String(error));
  return report(check, "unreadable", [], told);
}

function beginOf({ start }: Check): VerifyReport["begins"] {
  return { segment: start.first, frame: start.cut?.nextFrame ?? 0 };
}

function report(
  check: Check,
  verdict: VerifyReport["verdict"],
  found: readonly Breach[],
  trouble: string | null,
): VerifyReport {
  const { walk, witnesses, segments, bytes, cut } = check;
  const frames = walk.nextFrame;
  return {
    verdict,
    exit: verdict === "intact" ? 0 : verdict === "not_intact" ? 1 : 2,
    logId: walk.logId?.toString("hex") ?? null,
    segments,
    frames,
    bytes,
    sealed: walk.sealed,
    head: frames === 0 ? null : { segment: walk.segment, frame: frames - 1, link: walk.link.toString("hex") },
    root: walk.tree.root().toString("hex"),
    firstBreach: found[0] ?? null,
    breaches: found,
    notices: walk.notices,
    eras: walk.eras,
    uncleanEnds: walk.uncleanEnds,
    attestations: walk.attestations,
    hands: walk.hands?.counts() ?? [],
    operatorsPinned: walk.pins !== null,
    largestUnsealed: walk.largestUnsealed,
    ...witnesses.report(),
    cut,
    begins: beginOf(check),
    trouble,
  };
}
