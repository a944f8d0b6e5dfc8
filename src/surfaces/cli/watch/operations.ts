import { needsPerson, type OperationDetail } from "../../../conventions/operation/summary.ts";
import { sayState } from "../../../conventions/operation/words.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showBounded, showIdentifier } from "../../../kernel/display.ts";
import { findItem, loadOf, nameOperation, stillPossible } from "./board.ts";
import type { WatchKey } from "./keys.ts";
import { askYes, NOT_CONNECTED } from "./prompt.ts";
import {
  type Errand,
  note,
  type OperationItem,
  type OperationsScreen,
  type Screen,
  stay,
  type WatchState,
  type WatchStep,
} from "./state.ts";

type DetailScreen = Screen & { readonly kind: "operation" };

/** The list of operations, in the order of the last board: from here on it stands still. */
export function openOperations(state: WatchState): WatchState {
  const rows = state.board?.items ?? [];
  const selected = rows[0]?.summary.operation_id ?? null;
  return { ...state, screen: { kind: "operations", rows, selected, movedMs: state.nowMs } };
}

export function pressOperations(state: WatchState, screen: OperationsScreen, key: WatchKey): WatchStep {
  const move = (by: number): WatchStep => {
    const at = screen.rows.findIndex(({ summary }) => summary.operation_id === screen.selected);
    const next = screen.rows[Math.max(0, Math.min(screen.rows.length - 1, at + by))];
    const selected = next?.summary.operation_id ?? null;
    return stay({ ...state, screen: { ...screen, selected, movedMs: state.nowMs } });
  };
  const item = screen.rows.find(({ summary }) => summary.operation_id === screen.selected);
  switch (key.kind === "text" ? key.point : key.kind) {
    case "down":
    case "j":
      return move(1);
    case "up":
    case "k":
      return move(-1);
    case "o":
      return stay(openOperations(state));
    case "enter":
      return item === undefined ? stay(state) : openDetail(state, screen, item);
    case "c":
      return steady(state, screen.movedMs, item) ? stay(startCancel(state, item)) : stay(state);
    case "r":
      return steady(state, screen.movedMs, item) ? startReconcile(state, item) : stay(state);
    case "escape":
      return stay({ ...state, screen: { kind: "queue" }, shownMs: state.nowMs });
    case "?":
      return stay({ ...state, screen: { kind: "help" } });
    case "q":
      return stay(state, { kind: "quit" });
  }
  return stay(state);
}

function openDetail(state: WatchState, back: OperationsScreen, item: OperationItem): WatchStep {
  const screen = {
    kind: "operation",
    item,
    detail: null,
    detailMs: state.nowMs,
    top: 0,
    movedMs: state.nowMs,
    back,
  } as const;
  return stay({ ...state, screen }, loadOf(item));
}

export function pressOperation(state: WatchState, screen: DetailScreen, key: WatchKey, page: number): WatchStep {
  const scroll = (by: number): WatchStep =>
    stay({ ...state, screen: { ...screen, top: Math.max(0, Math.min(screen.top + by, MAX_TOP)) } });
  const { item } = screen;
  switch (key.kind === "text" ? key.point : key.kind) {
    case "enter":
    case " ":
    case "pageDown":
      return scroll(page);
    case "b":
    case "pageUp":
      return scroll(-page);
    case "c":
      return steady(state, screen.movedMs, item) ? stay(startCancel(state, item)) : stay(state);
    case "r":
      return steady(state, screen.movedMs, item) ? startReconcile(state, item) : stay(state);
    case "o":
    case "escape":
      return stay({ ...state, screen: { ...screen.back, movedMs: state.nowMs } });
    case "?":
      return stay({ ...state, screen: { kind: "help" } });
    case "q":
      return stay(state, { kind: "quit" });
  }
  return stay(state);
}

const MAX_TOP = 10_000;

/** What acts needs a row that stood still: the person's own move and a change of its state both count. */
function steady(state: WatchState, movedMs: number, item: OperationItem | undefined): item is OperationItem {
  if (item === undefined) return false;
  return state.nowMs - Math.max(movedMs, item.changedMs) >= defaults.cardSteadyMs;
}

function startCancel(state: WatchState, item: OperationItem): WatchState {
  const stops = obstacle(state);
  if (stops !== null) return note(state, stops, "warning");
  if (!stillPossible("cancel", item))
    return note(state, `nothing to cancel: ${nameOperation(item)} is ${sayState(item.summary)}`, "hint");
  const to = { kind: "cancel", operationId: item.summary.operation_id } as const;
  return { ...state, prompt: { kind: "reason", to, text: "" } };
}

/** A read that the gateway would make anyway, only now; where it has stopped, a person stands behind one more. */
function startReconcile(state: WatchState, item: OperationItem): WatchStep {
  const stops = obstacle(state);
  if (stops !== null) return stay(note(state, stops, "warning"));
  const operationId = item.summary.operation_id;
  if (!stillPossible("reconcile", item))
    return stay(note(state, `nothing to read: ${nameOperation(item)} is ${sayState(item.summary)}`, "hint"));
  const { unreadable } = item.summary;
  if (unreadable !== null)
    return stay(
      note(
        state,
        `nothing can be read for ${nameOperation(item)}: ${showBounded(unreadable.detail, 200)} (${showIdentifier(unreadable.code)})`,
        "warning",
      ),
    );
  if (needsPerson(item.summary)) return stay(askYes(state, { kind: "reconcile", operationId }, isGuarded(state)));
  return stay(
    { ...state, errand: { kind: "reconcile", id: operationId } },
    { kind: "reconcileOperation", operationId },
  );
}

export function isGuarded({ link }: WatchState): boolean {
  return link.kind !== "live" || link.guardRail;
}

function obstacle(state: WatchState): string | null {
  if (state.link.kind !== "live") return NOT_CONNECTED;
  if (state.link.locked) return "the gateway is LOCKED: it reads and sends nothing until gw unlock";
  return state.errand === null ? null : `wait: ${sayErrand(state.errand)} is still under way`;
}

export function sayErrand({ kind, id }: Errand): string {
  return kind === "cancel" ? `the request to stop ${id}` : `the read of ${id}`;
}

/** The gateway's answer about one operation. */
export function takeDetail(state: WatchState, detail: OperationDetail): WatchState {
  const { screen } = state;
  if (screen.kind !== "operation" || screen.item.summary.operation_id !== detail.operation_id) return state;
  // Seen here before the board tells it: what acts waits for a person to have seen it too.
  const movedMs = detail.state === (screen.detail ?? screen.item.summary).state ? screen.movedMs : state.nowMs;
  return { ...state, screen: { ...screen, detail, detailMs: state.nowMs, movedMs } };
}

/** What came of an errand: how the operation stands after it, and no more than that. */
export function endErrand(state: WatchState, kind: Errand["kind"], detail: OperationDetail): WatchState {
  const known = findItem(state, detail.operation_id);
  const item = known ?? { summary: detail, atMs: state.nowMs, changedMs: state.nowMs, listed: true };
  const did = kind === "cancel" ? "cancel of" : "read";
  const told = note({ ...state, errand: null }, `${did} ${nameOperation(item)}: now ${sayState(detail)}`);
  return takeDetail(told, detail);
}

export function failErrand(state: WatchState, text: string): WatchState {
  const about = state.errand === null ? "" : `${sayErrand(state.errand)}: `;
  return note({ ...state, errand: null }, `${about}${text}`, "warning");
}
