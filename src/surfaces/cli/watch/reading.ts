import { defaults } from "../../../kernel/defaults.ts";
import type { ApprovalView } from "../../operator/answers.ts";
import { type CardLayout, layoutCard } from "./layout.ts";
import type { Item, Size } from "./state.ts";

/** How the screen is divided. It depends on the size alone: nothing moves under a finger because a card came in. */
export interface Areas {
  readonly list: number;
  /** Operations, at a glance. */
  readonly strip: number;
  readonly card: number;
  readonly foot: number;
}

const FRAME_ROWS = 4;
const FOOT_ROWS = 3;

export function areasOf({ rows }: Size): Areas {
  // The card comes first: at 24 rows an ordinary call is read without turning a page.
  const list = Math.max(1, Math.min(6, Math.floor((rows - 18) / 4)));
  const strip = Math.max(1, Math.min(4, Math.floor((rows - 14) / 8)));
  return { list, strip, card: Math.max(1, rows - FRAME_ROWS - FOOT_ROWS - list - strip), foot: FOOT_ROWS };
}

/** The room of a screen that shows something else than the queue. */
export function bodyRows(size: Size): number {
  const { list, strip, card } = areasOf(size);
  return list + strip + card + 2;
}

export function isTooSmall({ columns, rows }: Size): boolean {
  return columns < defaults.watchColumns || rows < defaults.watchRows;
}

/** The rows of a card: what has to be read, and with it what lies folded below once a person has opened that. */
export function rowsFor(view: ApprovalView, { columns }: Size, unfolded: boolean): Pick<Item, "rows" | "essential"> {
  const layout: CardLayout = layoutCard(view.card, Math.max(defaults.watchColumns, columns));
  const { essential, evidence } = layout;
  return { rows: unfolded ? [...essential, ...evidence] : essential, essential: essential.length };
}

/** Whether all that has to be read was on screen. The evidence is signed too, and nobody is made to page through it. */
export function isReadToEnd(item: Item): boolean {
  return item.seen >= item.essential;
}

/** Opens the evidence and shows where it begins, or folds it again. What was seen stays seen. */
export function toggleEvidence(item: Item, size: Size): Item {
  const unfolded = !item.unfolded;
  const { rows, essential } = rowsFor(item.view, size, unfolded);
  const last = Math.max(0, rows.length - areasOf(size).card);
  return { ...item, rows, essential, unfolded, top: Math.min(last, unfolded ? essential : item.top) };
}

/** What is on screen now has been seen, if everything before it was. */
export function markSeen(item: Item, page: number): Item {
  if (item.top > item.seen || item.top + page <= item.seen) return item;
  return { ...item, seen: Math.min(item.rows.length, item.top + page) };
}

/** One row of each page stays, so that the eye finds its place again. */
export function pageForward(item: Item, page: number, nowMs: number): Item {
  if (nowMs - item.pagedMs < defaults.cardPageMs) return item;
  const last = Math.max(0, item.rows.length - page);
  const top = Math.min(last, item.top + Math.max(1, page - 1));
  return top === item.top ? item : { ...item, top, pagedMs: nowMs };
}

export function pageBack(item: Item, page: number): Item {
  return { ...item, top: Math.max(0, item.top - Math.max(1, page - 1)) };
}

/** The same place in rows of another width. A line that was seen in part has to be seen again. */
export function relayout(item: Item, size: Size): Item {
  const { rows, essential } = rowsFor(item.view, size, item.unfolded);
  const lineAt = (row: number): number => item.rows[row]?.line ?? Number.POSITIVE_INFINITY;
  const rowOf = (line: number): number => {
    const found = rows.findIndex((row) => row.line >= line);
    return found < 0 ? rows.length : found;
  };
  return {
    ...item,
    rows,
    essential,
    seen: isReadToEnd(item) ? essential : rowOf(lineAt(item.seen)),
    top: rowOf(lineAt(item.top)),
  };
}

/** Which page of how many, for the line above the card. */
export function pageOf(item: Item, page: number): { readonly at: number; readonly of: number } {
  const step = Math.max(1, page - 1);
  const of = 1 + Math.ceil(Math.max(0, item.rows.length - page) / step);
  return { at: Math.min(of, 1 + Math.ceil(item.top / step)), of };
}
