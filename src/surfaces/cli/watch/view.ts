import { sayLeft } from "../../../conventions/operation/words.ts";
import { printable, showIdentifier } from "../../../kernel/display.ts";
import type { ApprovalView } from "../../operator/answers.ts";
import { wants } from "./arrive.ts";
import { type Line, line, type Style } from "./line.ts";
import { clipText, widthOf, wrapText } from "./measure.ts";
import { sayNarrowing } from "./narrow.ts";
import { operationLines, operationsLines, restingLines, stripLines } from "./operation-lines.ts";
import { sayErrand } from "./operations.ts";
import { promptLines } from "./prompt-lines.ts";
import { areasOf, bodyRows, isReadToEnd, isTooSmall, pageOf } from "./reading.ts";
import { grantLines, helpLines, narrowLines, sessionLines, tooSmallLines } from "./screens.ts";
import { type Item, type Notice, selectedItem, type WatchState } from "./state.ts";

/** The whole screen: as many lines as it has rows, none wider than its columns. */
export function viewWatch(state: WatchState): readonly Line[] {
  const { size } = state;
  if (isTooSmall(size)) return fit(tooSmallLines(size), size.rows, size.columns);
  const { list, strip, card, foot } = areasOf(size);
  const body =
    state.screen.kind === "queue"
      ? [...listLines(state, list), ...fit(stripLines(state, strip), strip, size.columns), ...cardLines(state, card)]
      : fit(otherLines(state), bodyRows(size), size.columns);
  return fit([headLine(state), ...body, ...footLines(state, foot), keyLine(state)], size.rows, size.columns);
}

function otherLines(state: WatchState): readonly Line[] {
  const { screen, size } = state;
  const rows = bodyRows(size);
  switch (screen.kind) {
    case "queue":
      return [];
    case "help":
      return helpLines();
    case "narrow":
      return narrowLines(screen.draft, rows);
    case "grant":
      return grantLines(screen.text, size.columns, isOnHub(state, screen.approvalId));
    case "sessions":
      return sessionLines(screen, rows);
    case "operations":
      return operationsLines(state, screen, rows);
    case "operation":
      return operationLines(state, screen, rows);
  }
}

/** A card of a hub says on which host it waits. */
function isOnHub({ queue }: WatchState, approvalId: string): boolean {
  return queue.some(({ view }) => view.approval_id === approvalId && view.gateway !== undefined);
}

function headLine(state: WatchState): Line {
  const { link, queue } = state;
  const cards =
    queue.length === 0 ? "nothing waits" : queue.length === 1 ? "1 card waits" : `${queue.length} cards wait`;
  const needed = state.board?.needsPerson ?? 0;
  // On other screens the strip is not there to say it.
  const open = needed > 0 ? `${cards}  ${needed} NEED${needed === 1 ? "S" : ""} A PERSON` : cards;
  switch (link.kind) {
    case "connecting":
      return line(`gw watch  ${state.operator}  connecting ..`, "bar");
    case "live": {
      const mode = link.guardRail ? "guard-rail mode" : "dedicated mode";
      return line(`gw watch  ${state.operator}  ${mode}  connected${link.locked ? "  LOCKED" : ""}  ${open}`, "bar");
    }
    case "lost": {
      const wait = Math.max(0, Math.ceil((link.retryMs - state.nowMs) / 1000));
      const since = Math.floor((state.nowMs - link.sinceMs) / 1000);
      const next = wait === 0 ? "trying now" : `trying again in ${wait} s`;
      return line(`gw watch  ${state.operator}  NOT CONNECTED for ${since} s, ${next}  ${open} (may be old)`, "bar");
    }
  }
}

function listLines(state: WatchState, rows: number): readonly Line[] {
  const { queue, selected } = state;
  if (queue.length === 0) {
    const says = state.link.kind === "live" ? "No card waits. New ones appear here." : "No card is known.";
    return fit([line(`  ${says}`, "quiet")], rows, state.size.columns);
  }
  const at = Math.max(
    0,
    queue.findIndex(({ view }) => view.approval_id === selected),
  );
  const first = Math.max(0, Math.min(queue.length - rows, at - Math.floor(rows / 2)));
  const shown = queue.slice(first, first + rows).map((item, index) => {
    const chosen = item.view.approval_id === selected;
    return line(`${chosen ? ">" : " "} ${listText(state, item, first + index + 1)}`, chosen ? "chosen" : "plain");
  });
  return fit(shown, rows, state.size.columns);
}

function listText(state: WatchState, item: Item, number: number): string {
  const { card } = item.view;
  const process = card.caller["process"];
  const pid = typeof process === "object" && process !== null && "pid" in process ? Number(process.pid) : "?";
  // Not "read": beside a call that reads as its effect.
  const seen = isReadToEnd(item) ? "seen    " : "not seen";
  const leftMs = item.expiresMs - state.nowMs;
  const left = leftMs < 60_000 ? "LEFT" : "left";
  return `${String(number).padStart(2)}  ${clockOf(leftMs)} ${left}  ${seen}  ${wants(item.view)}${onHost(item.view)}  from pid ${pid}: ${card.authority}`;
}

/** By way of a hub: which of the hosts. */
function onHost({ gateway }: ApprovalView): string {
  return gateway === undefined ? "" : ` on ${showIdentifier(gateway)}`;
}

/** Minutes and seconds, never negative. */
export function clockOf(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  return `${String(Math.floor(seconds / 60)).padStart(2)}:${String(seconds % 60).padStart(2, "0")}`;
}

function cardLines(state: WatchState, rows: number): readonly Line[] {
  const { columns } = state.size;
  const item = selectedItem(state);
  if (item === undefined) {
    const operations = restingLines(state, Math.ceil(rows / 2));
    return fit([rule("", columns), ...operations, ...latelyLines(state)], rows + 2, columns);
  }
  const { at, of } = pageOf(item, rows);
  const body = item.rows.slice(item.top, item.top + rows).map(({ text, line: number, tone }) => {
    const heading = number === 0 || (text.startsWith("| ") && text.charAt(2) !== " " && text.length > 2);
    return line(text, tone ?? (heading ? "strong" : "plain"));
  });
  return [
    rule(`card ${item.view.approval_id}${onHost(item.view)}, page ${at} of ${of}${planWords(state, item)}`, columns),
    ...fit(body, rows, columns),
    rule(endOf(item, at < of), columns),
  ];
}

function planWords(state: WatchState, { planExpiresMs }: Item): string {
  if (planExpiresMs === null) return "";
  const leftMs = planExpiresMs - state.nowMs;
  return leftMs <= 0 ? ", PLAN OVER" : `, plan good for ${sayLeft(leftMs)}`;
}

/** With no card to read there is room for what happened before. */
function latelyLines(state: WatchState): readonly Line[] {
  const told = state.notices.filter(({ weight }) => weight !== "hint").reverse();
  if (told.length === 0) return [];
  return [line("Lately", "strong"), ...told.map((one) => line(`  ${noticeText(state, one)}`, noticeStyle(one.weight)))];
}

function noticeText(state: WatchState, { atMs, text }: Notice): string {
  const age = Math.floor((state.nowMs - atMs) / 1000);
  return `${age < 1 ? "now" : `${ageOf(age)} ago`}: ${text}`;
}

function endOf(item: Item, more: boolean): string {
  if (more) return "MORE BELOW: Enter or space shows the next page";
  const narrowed = sayNarrowing(item.narrow);
  if (!isReadToEnd(item)) return "end of the card; pages before it were not shown";
  const evidence = item.unfolded ? "v folds the evidence" : "v shows the evidence, signed with it";
  return `end of the card; ${narrowed === "" ? evidence : narrowed}`;
}

function rule(text: string, columns: number): Line {
  const clipped = clipText(text, columns - 6);
  const used = clipped === "" ? "--" : `-- ${clipped} `;
  return line(used + "-".repeat(Math.max(0, columns - widthOf(used))), "quiet");
}

function footLines(state: WatchState, rows: number): readonly Line[] {
  const { columns } = state.size;
  if (state.prompt !== null) return fit(promptLines(state, state.prompt, columns, rows), rows, columns);
  const lines: Line[] = [];
  if (state.busy !== null) lines.push(line(`${state.busy.kind}: under way, waiting for the gateway ..`, "strong"));
  if (state.errand !== null) lines.push(line(`${sayErrand(state.errand)}: under way ..`, "strong"));
  const latest = selectedItem(state) === undefined && state.screen.kind === "queue" ? undefined : state.notices.at(-1);
  if (latest !== undefined) {
    const wrapped = wrapText(noticeText(state, latest), columns - 2, columns - 4);
    lines.push(
      ...wrapped.map((text, index) => line(index === 0 ? `* ${text}` : `*   ${text}`, noticeStyle(latest.weight))),
    );
  }
  return fit(lines, rows, columns);
}

function noticeStyle(weight: Notice["weight"]): Style {
  return weight === "warning" ? "warning" : "plain";
}

function ageOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.floor(seconds / 60)} min` : `${Math.floor(seconds / 3_600)} h`;
}

function keyLine(state: WatchState): Line {
  return line(keysOf(state), "bar");
}

function keysOf(state: WatchState): string {
  if (state.nowMs < state.frozenMs) return "one moment: the screen just changed, keys do not count yet";
  if (state.prompt !== null) return "Ctrl-C quits";
  if (state.screen.kind === "help") return "any key goes back";
  if (state.screen.kind === "narrow") {
    return state.screen.draft.writing === null
      ? "up/down choose  space on/off  w only where  0-9 lower  Enter keep  Esc drop"
      : "such as id=7, id in 1,2, path^=docs/, count<=10  Enter keeps  Esc drops";
  }
  if (state.screen.kind === "grant")
    return "type to change it at its end  Ctrl-U clears  Enter signs and approves  Esc drops";
  if (state.screen.kind === "operations")
    return "up/down choose  Enter details  r read now  c cancel  o sort  Esc back  ? help";
  if (state.screen.kind === "operation") return "Enter more  b back  r read now  c cancel  Esc list  ? help  q quit";
  if (state.screen.kind === "sessions") return "up/down choose  r revoke  Esc back  ? help  q quit";
  const item = selectedItem(state);
  if (item === undefined) return "o operations  s sessions  ? help  q quit";
  const first = isReadToEnd(item) ? "a approve  g grant  n narrow" : "Enter read on";
  // The narrowest screen cuts the end off: how to leave, and where the rest is told, stands before that.
  return `${first}  d deny  v evidence  e +5 min  ? help  q quit  o operations  s sessions`;
}

/** Exactly `rows` lines, each clean and no wider than the screen. */
function fit(lines: readonly Line[], rows: number, columns: number): readonly Line[] {
  const kept = lines.slice(0, rows).map(({ text, style }) => ({ text: clipText(printable(text), columns), style }));
  while (kept.length < rows) kept.push({ text: "", style: "plain" });
  return kept;
}
