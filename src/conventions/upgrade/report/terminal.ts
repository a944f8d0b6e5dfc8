import { counted, showIdentifier, showText } from "../../../kernel/display.ts";
import { surfaceTitles } from "../compare/difference.ts";
import { type Group, kindWords, type Report } from "./report.ts";

const SHOWN = 12;

/** The summary a person reads first: where the upgrade stands, what weighs most, what to do next. */
export function reportLines(report: Report): readonly string[] {
  const { review, settlement } = report;
  const { added, removed, renamed, kept } = review.counts;
  const lines = [
    `${showText(review.after.title)}  ${showText(review.before.version)} -> ${showText(review.after.version)}`,
    `${counted(added, "operation")} added, ${removed} removed, ${renamed} renamed, ${kept - renamed} kept`,
    "",
    `${"".padEnd(24)}${["widens", "shifts", "narrows", "open"].map((word) => word.padStart(9)).join("")}`,
    ...report.totals.map(
      ({ surface, widens, shifts, narrows, open }) =>
        `${surfaceTitles[surface].padEnd(24)}${[widens, shifts, narrows, open].map((count) => String(count).padStart(9)).join("")}`,
    ),
    "",
  ];
  const open = report.groups.filter(({ state }) => state === "open" || state === "mixed" || state === "unverified");
  const first = [...open].sort((a, b) => b.weight - a.weight).slice(0, SHOWN);
  if (first.length > 0) lines.push("What weighs most:", ...first.flatMap(groupLines));
  if (open.length > first.length)
    lines.push(`  and ${counted(open.length - first.length, "more group")}; the report shows all.`);
  lines.push(...advice(report).flatMap((line) => ["", line]));
  if (report.mapChanges.length > 0)
    lines.push("", `The reviewed authority map differs in ${counted(report.mapChanges.length, "row")}.`);
  lines.push("", verdictLine(report));
  if (settlement.rejected.length > 0)
    lines.push(
      ...settlement.rejected.slice(0, SHOWN).map((one) => `  rejected ${one.id} ${showIdentifier(one.subject)}`),
    );
  return lines;
}

function groupLines(group: Group): readonly string[] {
  const { lead, members } = group;
  const many = members.length > 1;
  const where = many ? counted(members.length, "place") : showIdentifier(lead.subject);
  const touched =
    group.scopes.length === 0 ? "" : `, touches ${group.scopes.slice(0, 4).map(showIdentifier).join(", ")}`;
  const lines = [
    `  ${(many ? group.id : lead.id).padEnd(19)} ${kindWords(group.kind)}: ${where}${touched}`,
    `${"".padEnd(22)}${showText(lead.says)}`,
  ];
  if (lead.effect !== null) lines.push(`${"".padEnd(22)}effect ${lead.effect.effect}, ${lead.effect.confidence}`);
  if (lead.credential !== null) lines.push(`${"".padEnd(22)}${showText(lead.credential.says)}`);
  return lines;
}

export function verdictLine({ settlement }: Pick<Report, "settlement">): string {
  switch (settlement.verdict) {
    case "finished":
      return "Finished: every difference is decided, none is rejected. The upgrade may go on.";
    case "open":
      return settlement.open.every(({ kind }) => kind === "whole_review")
        ? "Blocked: every difference is decided; the whole of them is signed last: gw upgrade decide … --finish --reason TEXT"
        : `Blocked: ${counted(settlement.open.length, "difference")} still to be decided.`;
    case "refused":
      return `Refused: ${counted(settlement.rejected.length, "difference")} rejected. Stay on the old version.`;
  }
}

/** What holds for the upgrade as a whole. */
export function advice({ review }: Report): readonly string[] {
  const added = review.differences.filter(({ kind }) => kind === "operation_added");
  const reached = added.filter(({ credential }) => credential?.kind === "accepted").length;
  const open = added.filter(({ credential }) => credential?.kind === "open").length;
  const lines: string[] = [];
  if (reached > 0) {
    lines.push(
      `An existing credential authenticates to ${reached} of ${counted(added.length, "new operation")}. Leaving them out of the pack hides them from the agent and is not a control: if the provider cannot narrow them, make a narrower integration identity before upgrading.`,
    );
  }
  const undeclared = added.filter(({ credential }) => credential?.kind === "undeclared").length;
  if (undeclared > 0)
    lines.push(
      `The document declares no security for ${counted(undeclared, "new operation")}: probe them with the credential that the pack presents.`,
    );
  if (open > 0) lines.push(`${counted(open, "new operation")} can be called without any credential.`);
  return lines;
}
