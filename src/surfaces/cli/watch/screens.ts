import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { FOR_EACH_HOST, NOT_NAMED } from "../grant/line.ts";
import type { Line } from "./line.ts";
import { wrapText } from "./measure.ts";
import { grantedOf, labelOf, type NarrowDraft } from "./narrow.ts";
import type { Screen, Size } from "./state.ts";

export function tooSmallLines({ columns, rows }: Size): readonly Line[] {
  const text = `This window is too small for a card: ${columns}x${rows}, and it takes ${defaults.watchColumns}x${defaults.watchRows}. Make it larger. Nothing can be decided until then. q quits.`;
  return wrapText(text, Math.max(2, columns), Math.max(2, columns)).map((row) => ({ text: row, style: "warning" }));
}

export function helpLines(): readonly Line[] {
  const rows = [
    "Keys",
    "  up down j k     choose a card",
    "  Enter space     next page of the card;  b  the page before",
    "  v               the evidence behind the card; you sign that too;  v  folds it",
    "  a               approve: only when the card was read to its end",
    "  d               deny, with a reason that the agent reads; never asks a PIN",
    "  e               five more minutes for the card, as far as its run has time",
    "  g               approve, and sign the narrowest grant that would cover it",
    "  n               narrow: take actions off, bound arguments, lower limits",
    "  s               sessions; there r revokes one",
    "  o               operations; there Enter details, r read now, c cancel",
    "  Ctrl-L          draw again;  q  quit (open cards run out by themselves)",
    "What to know",
    "  A card that just appeared or changed takes no key for a moment.",
    "  Pasted text is never keys. Lines that start with | are the card; |: goes on.",
    "  What could act or hide is written out as \\u{...}; a \\ in a text is doubled.",
  ];
  return rows.map((text) => ({ text, style: text.startsWith(" ") ? "plain" : "strong" }));
}

/** The whole of what would be signed, and where typing goes on. */
export function grantLines(text: string, columns: number, onHub: boolean): readonly Line[] {
  return [
    { text: "A grant: from now on such calls pass without a card. It approves this one too.", style: "strong" },
    ...wrapText(NOT_NAMED, columns, columns).map((row) => ({ text: row, style: "plain" }) as const),
    ...(onHub ? wrapText(FOR_EACH_HOST, columns, columns).map((row) => ({ text: row, style: "strong" }) as const) : []),
    { text: "", style: "plain" },
    ...wrapText(`gw grant add ${showText(text)}_`, columns - 4, columns - 4).map(
      (row) => ({ text: `  ${row}`, style: "plain" }) as const,
    ),
  ];
}

export function narrowLines({ actions, limits, at, writing }: NarrowDraft, rows: number): readonly Line[] {
  const lines: Line[] = [
    ...actions.flatMap(({ name, kept, needed, where }, index) => [
      {
        text: `${index === at ? ">" : " "} [${kept ? "x" : " "}] ${showIdentifier(name)}${needed ? "  (this call needs it)" : ""}`,
        style: index === at ? ("chosen" as const) : ("plain" as const),
      },
      ...where.map((text) => ({ text: `        only where ${showText(text)}`, style: "plain" as const })),
      ...(index === at && writing !== null
        ? [{ text: `        only where: ${showText(writing)}_`, style: "strong" as const }]
        : []),
    ]),
    ...limits.map((limit, index) => {
      const chosen = actions.length + index === at;
      const granted = grantedOf(limit);
      const says = granted < limit.asked ? `${granted} instead of ${limit.asked}` : `${limit.asked}, as asked`;
      const typed = chosen ? `  ${limit.typed === "" ? "type a lower number" : `typed ${limit.typed}`}` : "";
      return {
        text: `${chosen ? ">" : " "}  at most ${labelOf(limit)}: ${says}${typed}`,
        style: chosen ? ("chosen" as const) : ("plain" as const),
      };
    }),
  ];
  const room = rows - 2;
  const chosen = lines.findIndex(({ style }) => style === "chosen");
  const first = Math.max(0, Math.min(lines.length - room, chosen - Math.floor(room / 2)));
  const of = lines.length > room ? ` (${first + 1} to ${Math.min(lines.length, first + room)} of ${lines.length})` : "";
  return [
    { text: `Narrow what this card grants${of}`, style: "strong" },
    { text: "Only less than asked is possible. Nothing is signed here; a approves it then.", style: "quiet" },
    ...lines.slice(first, first + room),
  ];
}

export function sessionLines(
  { sessions, selected }: Screen & { readonly kind: "sessions" },
  rows: number,
): readonly Line[] {
  if (sessions === null) return [{ text: "Sessions: asking the gateway ..", style: "strong" }];
  const live = sessions.filter((one) => one.live).length;
  const at = Math.max(
    0,
    sessions.findIndex(({ id }) => id === selected),
  );
  const room = rows - 1;
  const first = Math.max(0, Math.min(sessions.length - room, at - Math.floor(room / 2)));
  return [
    { text: `Sessions: ${live} live, ${sessions.length - live} ended; older ones: gw sessions`, style: "strong" },
    ...sessions.slice(first, first + room).map(({ id, text }) => ({
      text: `${id === selected ? ">" : " "} ${text}`,
      style: id === selected ? ("chosen" as const) : ("plain" as const),
    })),
  ];
}
