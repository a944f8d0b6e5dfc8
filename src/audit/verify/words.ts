import { showIdentifier } from "../../kernel/display.ts";
import { breaches, notices } from "./findings.ts";
import { type VerifyReport, vouchedBy } from "./report.ts";

/** The report for a person: what is proven, up to where, what may be missing, and what no log can prove. */
export function describeReport(report: VerifyReport): readonly string[] {
  if (report.verdict === "unreadable") return [`The log could not be read. ${report.trouble ?? "Why is not known."}`];
  return [...verdictWords(report), ...proofWords(report), ...openWords(report), ...limitWords(report)];
}

function verdictWords(report: VerifyReport): string[] {
  const { firstBreach } = report;
  if (firstBreach === null) {
    return [`Intact. ${count(report.frames, "frame")} in ${count(report.segments, "segment")} of log ${report.logId}.`];
  }
  const lines = [
    `NOT INTACT: frame ${firstBreach.frame} (${firstBreach.file}, byte ${firstBreach.offset}): ${breaches[firstBreach.code]} [${firstBreach.code}].`,
  ];
  for (const breach of report.breaches.slice(1)) {
    lines.push(`Also: frame ${breach.frame} (${breach.file}): ${breaches[breach.code]} [${breach.code}].`);
  }
  if (report.breaches.some(({ code }) => code === "unattested")) {
    lines.push(
      "What a running gateway wrote since its start is attested when an operator signs in: gw unlock, or gw watch. What one wrote that has ended since, an operator looks at and vouches for: gw audit vouch, with --archive where it was moved away. Until then: --allow-unattested.",
    );
  }
  return lines;
}

function proofWords(report: VerifyReport): string[] {
  const { sealed } = report;
  if (sealed === null) return ["Nothing is proven: the log holds no valid seal."];
  const lines = [
    `Proven up to frame ${sealed.frame}, sealed at ${time(sealed.timeSeconds)}: no frame up to there was changed, removed, added or moved since it was sealed.`,
    `The seals are ${sealed.seals}; at most ${count(report.largestUnsealed, "frame")} stood between two of them.`,
  ];
  for (const era of report.eras) {
    const by = era.attestedBy.map((name) => showIdentifier(name)).join(", ");
    const later = by === "" ? vouchedBy(era, report.attestations) : null;
    const vouched = later === null ? "" : ` while it was written; ${showIdentifier(later)} vouched for it later`;
    const words = by === "" ? `attested by nobody${vouched}` : `attested by ${by}`;
    lines.push(`Frames ${era.firstFrame} to ${era.lastFrame} are of one process (${era.reason}), ${words}.`);
  }
  for (const { operator, keyId, passkey, decisions, pinned } of report.hands) {
    const whose =
      pinned === null
        ? `by somebody with the key ${keyId}, who signed as ${showIdentifier(operator)}; pin it with --operator`
        : pinned
          ? `by ${showIdentifier(operator)}, whose key you pinned`
          : `by ${showIdentifier(operator)}, whose key ${keyId} you did not pin`;
    lines.push(
      `${count(decisions, "decision")} by the passkey ${showIdentifier(passkey)}, enrolled ${whose}: each answer is signed by it, for one sealed statement.`,
    );
  }
  // One that stands before the cut is neither extended nor contradicted by what is here; a note says so.
  if (report.checkpoint !== null && !report.notices.some(({ code }) => code === "checkpoint_archived")) {
    const { seals, signed, held } = report.checkpoint;
    const by = signed
      ? "signed by a pinned operator"
      : report.operatorsPinned
        ? "which no pinned operator signed"
        : "whose signature was not checked, since no operator was pinned";
    lines.push(
      `${held ? "The log extends" : "The log does not extend"} the checkpoint of ${count(seals, "seal")}, ${by}.`,
    );
  }
  for (const head of report.heads) {
    lines.push(`${head.held ? "The log extends" : "The log does not extend"} the head seen at frame ${head.frame}.`);
  }
  return lines;
}

function openWords(report: VerifyReport): string[] {
  const lines: string[] = [];
  for (const end of report.uncleanEnds) {
    const torn = end.tornBytes > 0 ? `, ${count(end.tornBytes, "byte")} of a torn frame` : "";
    const seen =
      end.acknowledgedBy === null
        ? "no operator has attested that"
        : `attested as such by ${showIdentifier(end.acknowledgedBy)}`;
    lines.push(
      `Records may be missing after frame ${end.lastFrame}: the writer did not stop cleanly (sealed to frame ${end.sealedFrame}${torn}; ${seen}).`,
    );
  }
  for (const notice of report.notices) {
    // Said of the part itself.
    if (notice.code === "vouched_later") continue;
    const detail = notice.detail === "" ? "" : ` (${showIdentifier(notice.detail)})`;
    lines.push(`Note, frame ${notice.frame}: ${notices[notice.code]}${detail}.`);
  }
  return lines;
}

function limitWords(report: VerifyReport): string[] {
  const lines = [
    "No log can prove that an event which never reached it did not happen, nor that the writer recorded the truth.",
  ];
  if (!report.operatorsPinned)
    lines.push(
      "No operator was pinned with --operator: whoever can write the folder could have made this log from nothing.",
    );
  if (report.checkpoint === null && report.heads.length === 0) {
    lines.push("Without a checkpoint or a remembered head, a log cut back to an earlier state looks like this one.");
  }
  return lines;
}

function count(value: number, noun: string): string {
  return `${value.toLocaleString("en-US")} ${noun}${value === 1 ? "" : "s"}`;
}

/** Whoever wrote the log chose the number: no calendar need have it. */
function time(seconds: number): string {
  const date = new Date(seconds * 1000);
  return Number.isNaN(date.getTime()) ? `${seconds} s after 1970` : date.toISOString();
}
