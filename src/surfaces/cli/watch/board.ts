import { isSettled } from "../../../conventions/operation/state.ts";
import { needsPerson, type OperationBoard, type OperationSummary } from "../../../conventions/operation/summary.ts";
import { sayState } from "../../../conventions/operation/words.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier } from "../../../kernel/display.ts";
import {
  type About,
  note,
  type OperationItem,
  type OperationsScreen,
  stay,
  type WatchEffect,
  type WatchState,
  type WatchStep,
} from "./state.ts";

/**
 * News of operations. It changes what is said, never what a key acts on: rows stay where they are, the choice stays on the
 * operation that it was on, and no card, page or prompt about a card is touched.
 */
export function postBoard(state: WatchState, board: OperationBoard): WatchStep {
  const before = new Map(state.board?.items.map((item) => [item.summary.operation_id, item]));
  const items = [...board.shown, ...board.ended].map((summary) =>
    renew(before.get(summary.operation_id), summary, state.nowMs),
  );
  const posted = { ...state, board: { open: board.open, needsPerson: board.needs_person, items } };
  const told = tellNeed(state, posted);
  const shown = showOnScreen(told.state);
  const asked = interruptErrand(shown.state);
  return { state: asked.state, effects: [...told.effects, ...shown.effects, ...asked.effects] };
}

function renew(known: OperationItem | undefined, summary: OperationSummary, nowMs: number): OperationItem {
  const same =
    known !== undefined &&
    known.summary.state === summary.state &&
    known.summary.problem?.code === summary.problem?.code &&
    needsPerson(known.summary) === needsPerson(summary);
  return { summary, atMs: nowMs, changedMs: same ? known.changedMs : nowMs, listed: true };
}

/** Rings once for each one that begins to need a person, and says it in one line however many there are. */
function tellNeed(before: WatchState, state: WatchState): WatchStep {
  const waiting = (items: readonly OperationItem[]): readonly string[] =>
    items.filter(({ summary }) => needsPerson(summary)).map(({ summary }) => summary.operation_id);
  const known = new Set(waiting(before.board?.items ?? []));
  const fresh = waiting(state.board?.items ?? []).filter((id) => !known.has(id));
  if (fresh.length === 0) return stay(state);
  const [first] = fresh;
  const item = state.board?.items.find(({ summary }) => summary.operation_id === first);
  const what =
    fresh.length > 1 || item === undefined ? `${fresh.length} operations need` : `${nameOperation(item)} needs`;
  return stay(note(state, `${what} a person: o shows what to do`, "warning"), {
    kind: "ring",
    text: fresh.length === 1 ? "an operation needs a person" : `${fresh.length} operations need a person`,
  });
}

function showOnScreen(state: WatchState): WatchStep {
  const { screen } = state;
  switch (screen.kind) {
    case "operations":
      return stay({ ...state, screen: mergeRows(screen, state) });
    case "operation": {
      const back = mergeRows(screen.back, state);
      const item = back.rows.find(({ summary }) => summary.operation_id === screen.item.summary.operation_id);
      if (item === undefined) return stay({ ...state, screen: { ...screen, back } });
      const stale = screen.detail === null || differs(screen.item.summary, item.summary);
      const next = { ...state, screen: { ...screen, back, item } };
      return stale ? stay(next, loadOf(item)) : stay(next);
    }
    case "queue":
    case "help":
    case "narrow":
    case "grant":
    case "sessions":
      return stay(state);
  }
}

/** In place by name; what is new goes to the end, and what is no longer listed keeps its row and says so. */
export function mergeRows(screen: OperationsScreen, { board }: WatchState): OperationsScreen {
  const listed = new Map(board?.items.map((item) => [item.summary.operation_id, item]));
  const kept = screen.rows.map((row) => listed.get(row.summary.operation_id) ?? { ...row, listed: false });
  const known = new Set(screen.rows.map(({ summary }) => summary.operation_id));
  const fresh = (board?.items ?? []).filter(({ summary }) => !known.has(summary.operation_id));
  // A sitting can be long: what is gone for good makes room before the list grows without end.
  const rows = [...kept, ...fresh];
  const room = MAX_ROWS - rows.filter((row) => row.listed || isChosen(screen, row)).length;
  let gone = 0;
  return { ...screen, rows: rows.filter((row) => row.listed || isChosen(screen, row) || ++gone <= room) };
}

const MAX_ROWS = 500;

function isChosen({ selected }: OperationsScreen, { summary }: OperationItem): boolean {
  return summary.operation_id === selected;
}

/** Whether a person would read something else about it, times apart: those are counted here. */
function differs(one: OperationSummary, other: OperationSummary): boolean {
  const said = ({ next_poll_in_ms, result_in_ms, ...rest }: OperationSummary): string =>
    JSON.stringify({ ...rest, looks: next_poll_in_ms !== null });
  return said(one) !== said(other);
}

export function loadOf({ summary }: OperationItem): WatchEffect {
  return { kind: "loadOperation", operationId: summary.operation_id };
}

/** What was being asked about an operation lost its object: said before any further key counts. */
function interruptErrand(state: WatchState): WatchStep {
  const about = errandAsked(state);
  if (about === null) return stay(state);
  const item = findItem(state, about.operationId);
  if (item !== undefined && stillPossible(about.kind, item)) return stay(state);
  const how = item === undefined ? "no longer listed" : sayState(item.summary);
  const name = item === undefined ? showIdentifier(about.operationId) : nameOperation(item);
  const text = `Changed while you were typing: ${name} is ${how}. Nothing of yours was sent.`;
  return stay(
    { ...state, prompt: { kind: "told", text }, frozenMs: state.nowMs + defaults.cardSteadyMs },
    { kind: "clearSecret" },
  );
}

function errandAsked({
  prompt,
}: WatchState): { readonly kind: "cancel" | "reconcile"; readonly operationId: string } | null {
  switch (prompt?.kind) {
    case "reason":
      return prompt.to.kind === "cancel" ? prompt.to : null;
    case "secret":
    case "confirm":
      return prompt.about.kind === "approve" ? null : prompt.about;
    case "told":
    case undefined:
      return null;
  }
}

/** Whether the gateway would still take it. It decides; this only saves a person from asking in vain. */
export function stillPossible(kind: Exclude<About["kind"], "approve">, { summary }: OperationItem): boolean {
  if (kind === "reconcile") return !isSettled(summary.state);
  return summary.kind === "job" && ["accepted", "observing", "cancel_requested"].includes(summary.state);
}

export function findItem({ board, screen }: WatchState, id: string): OperationItem | undefined {
  const named = ({ summary }: OperationItem): boolean => summary.operation_id === id;
  const rows = screen.kind === "operations" ? screen.rows : screen.kind === "operation" ? screen.back.rows : [];
  return board?.items.find(named) ?? rows.find(named);
}

export function nameOperation({ summary }: OperationItem): string {
  return `${showIdentifier(summary.action)} (${showIdentifier(summary.operation_id)})`;
}

/** The times of an operation as they are now. */
export function nowOf({ summary, atMs }: OperationItem, nowMs: number): OperationSummary {
  const passedMs = nowMs - atMs;
  const { next_poll_in_ms, result_in_ms } = summary;
  return {
    ...summary,
    next_poll_in_ms: next_poll_in_ms === null ? null : next_poll_in_ms - passedMs,
    result_in_ms: result_in_ms - passedMs,
  };
}
