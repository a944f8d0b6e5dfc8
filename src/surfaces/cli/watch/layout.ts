import type { Card } from "../../../conventions/approval/card.ts";
import { renderEssential, renderEvidence } from "../../../conventions/approval/render.ts";
import { ADDED, REMOVED } from "../../../conventions/approval/render-plan.ts";
import { printable, showIdentifier } from "../../../kernel/display.ts";
import { clipText, findMixedWord, runsRightToLeft, wrapText } from "./measure.ts";

/** One row of the screen. Each starts with a mark of ours, so that no text of a card ever stands at the left edge. */
export interface CardRow {
  readonly text: string;
  /** Which line of the card it belongs to: reading goes by lines, which stay when the window changes. */
  readonly line: number;
  /** Only repeats what the sign at the start of its line says. */
  readonly tone: "added" | "removed" | null;
}

const START = "| ";
const GOES_ON = "|:   ";
const WARNS = "|! ";

/** What has to be read, and what lies folded below it. Lines are counted through both. */
export interface CardLayout {
  readonly essential: readonly CardRow[];
  readonly evidence: readonly CardRow[];
}

export function layoutCard(card: Card, columns: number): CardLayout {
  const essential = renderEssential(card);
  return {
    essential: layoutLines(essential, 0, columns),
    evidence: layoutLines(renderEvidence(card), essential.length, columns),
  };
}

function layoutLines(lines: readonly string[], from: number, columns: number): readonly CardRow[] {
  return lines.flatMap((text, index) => {
    const line = from + index;
    const rows = wrapText(printable(text), columns - START.length, columns - GOES_ON.length);
    const tone = toneOf(text);
    return [
      ...rows.map((row, index) => ({ text: `${index === 0 ? START : GOES_ON}${row}`, line, tone })),
      ...warningsOf(text).map((warning) => ({
        text: `${WARNS}${clipText(warning, columns - WARNS.length)}`,
        line,
        tone: null,
      })),
    ];
  });
}

/** Only a plan writes this far in and with a sign: no value of a caller can begin there. */
function toneOf(text: string): CardRow["tone"] {
  if (text.startsWith(ADDED)) return "added";
  return text.startsWith(REMOVED) ? "removed" : null;
}

/** What the eye cannot tell, said by a row of ours under the line. */
function warningsOf(text: string): readonly string[] {
  const mixed = findMixedWord(text);
  return [
    ...(mixed === null ? [] : [`look-alike letters above: ${showIdentifier(mixed)}`]),
    ...(runsRightToLeft(text) ? ["right-to-left letters above: read the order with care"] : []),
  ];
}
