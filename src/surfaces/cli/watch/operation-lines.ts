import { renderOperation, renderShortly } from "../../../conventions/operation/render.ts";
import { isSettled } from "../../../conventions/operation/state.ts";
import { needsPerson } from "../../../conventions/operation/summary.ts";
import { sayInRow } from "../../../conventions/operation/words.ts";
import { nowOf } from "./board.ts";
import { type Line, line } from "./line.ts";
import { wrapText } from "./measure.ts";
import type { OperationItem, OperationsScreen, Screen, WatchState } from "./state.ts";

/** Operations at a glance, between the queue and the card: as many rows as the window gives, whatever there is. */
export function stripLines(state: WatchState, rows: number): readonly Line[] {
  const { board } = state;
  if (board === null || board.open === 0) return [line("  No operation is open.", "quiet")];
  const open = board.items.filter(({ summary }) => !isSettled(summary.state));
  const count = board.open === 1 ? "1 operation is open" : `${board.open} operations are open`;
  const need =
    board.needsPerson === 0 ? "" : `, ${board.needsPerson} NEED${board.needsPerson === 1 ? "S" : ""} A PERSON`;
  const [first] = open;
  if (rows === 1 && first !== undefined)
    return [line(`${board.open} open${need}: ${sayInRow(nowOf(first, state.nowMs)).trim()}`, styleOf(first))];
  return [
    line(`  ${count}${need}  (o shows them)`, board.needsPerson === 0 ? "plain" : "warning"),
    ...open.slice(0, rows - 1).map((item) => line(`  ${sayInRow(nowOf(item, state.nowMs))}`, styleOf(item))),
  ];
}

/** With no card to read there is room for more of them. They are only told here: no key acts on these rows. */
export function restingLines(state: WatchState, rows: number): readonly Line[] {
  const items = state.board?.items ?? [];
  if (items.length === 0) return [];
  const shown = items.slice(0, Math.max(1, Math.floor((rows - 1) / 2)));
  return [line("Operations", "strong"), ...shown.flatMap((item) => rowsOf(state, item, "  "))];
}

function rowsOf(state: WatchState, item: OperationItem, mark: string): readonly Line[] {
  const [first, second] = renderShortly(nowOf(item, state.nowMs));
  const gone = item.listed ? "" : "  (no longer listed)";
  const style = needsPerson(item.summary) ? "strong" : "quiet";
  return [line(`${mark}${first}${gone}`, styleOf(item)), line(`${mark.replace(">", " ")}${second}`, style)];
}

function styleOf({ summary }: OperationItem): Line["style"] {
  if (needsPerson(summary)) return "warning";
  return isSettled(summary.state) ? "quiet" : "plain";
}

export function operationsLines(state: WatchState, screen: OperationsScreen, rows: number): readonly Line[] {
  const { board } = state;
  if (board === null) return [line("Operations: the gateway has told nothing yet", "strong")];
  const fresh = screen.rows.findIndex(({ summary }) => needsPerson(summary)) > 0 ? ", o sorts them first" : "";
  const need =
    board.needsPerson === 0 ? "" : `, ${board.needsPerson} NEED${board.needsPerson === 1 ? "S" : ""} A PERSON${fresh}`;
  const listed = board.items.filter(({ summary }) => !isSettled(summary.state)).length;
  const more = board.open > listed ? ` (the ${listed} most urgent are here; all: gw operation list)` : "";
  const head = line(`Operations: ${board.open} open${need}${more}`, board.needsPerson === 0 ? "strong" : "warning");
  if (screen.rows.length === 0) return [head, line("  None is open, and none has ended lately.", "quiet")];
  const room = Math.max(1, Math.floor((rows - 1) / 2));
  const at = Math.max(
    0,
    screen.rows.findIndex(({ summary }) => summary.operation_id === screen.selected),
  );
  const top = Math.max(0, Math.min(screen.rows.length - room, at - Math.floor(room / 2)));
  return [
    head,
    ...screen.rows.slice(top, top + room).flatMap((item) => {
      const chosen = item.summary.operation_id === screen.selected;
      const [first, second] = rowsOf(state, item, chosen ? "> " : "  ");
      return chosen && first !== undefined && second !== undefined
        ? [{ ...first, style: first.style === "warning" ? first.style : ("chosen" as const) }, second]
        : [first, second].filter((one) => one !== undefined);
    }),
  ];
}

/** One whole, wrapped so that nothing of its evidence is cut. */
export function operationLines(
  state: WatchState,
  screen: Screen & { readonly kind: "operation" },
  rows: number,
): readonly Line[] {
  const { detail, detailMs, item } = screen;
  const { columns } = state.size;
  if (detail === null) return [...rowsOf(state, item, ""), line("  asking the gateway for its history ..", "quiet")];
  const passedMs = state.nowMs - detailMs;
  const times = nowOf({ ...item, summary: detail, atMs: state.nowMs - passedMs }, state.nowMs);
  // Which one it is and how it stands stay in sight, however far down its history is read.
  const [name = "", stands = "", ...more] = renderOperation({ ...detail, ...times });
  const lines = more.flatMap((text) =>
    wrapText(text, columns, columns - CONTINUED.length).map((row, index) => {
      const style = text.startsWith("  NEEDS A PERSON") ? "warning" : text.startsWith(" ") ? "plain" : "strong";
      return line(index === 0 ? row : `${CONTINUED}${row}`, style);
    }),
  );
  const room = Math.max(1, rows - 3);
  const top = Math.min(screen.top, Math.max(0, lines.length - room));
  const end = Math.min(lines.length, top + room);
  return [
    line(name, "strong"),
    line(stands, styleOf(item)),
    ...lines.slice(top, end),
    ...Array.from({ length: Math.max(0, room - (end - top)) }, () => line("", "plain")),
    line(end < lines.length ? "MORE BELOW: Enter or space goes on" : "end of the record", "quiet"),
  ];
}

const CONTINUED = "      ";
