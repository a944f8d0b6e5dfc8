import { proposeGrant } from "../../../conventions/grant/propose.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { Denied } from "../../../kernel/failure.ts";
import { readGrantLine, writeGrantLine } from "../grant/line.ts";
import { nameOf } from "./arrive.ts";
import type { WatchKey } from "./keys.ts";
import {
  conditionsOf,
  dropCondition,
  keepCondition,
  moveIn,
  type NarrowDraft,
  openCondition,
  startNarrowing,
  toggleIn,
  typeIn,
} from "./narrow.ts";
import { openOperations, pressOperation, pressOperations } from "./operations.ts";
import { askYes, NOT_CONNECTED, pressPrompt } from "./prompt.ts";
import { areasOf, bodyRows, isReadToEnd, isTooSmall, pageBack, pageForward, toggleEvidence } from "./reading.ts";
import { pressSessions } from "./sessions.ts";
import {
  dropHint,
  type Item,
  note,
  replaceItem,
  type Screen,
  selectedItem,
  stay,
  type WatchState,
  type WatchStep,
} from "./state.ts";

/** One key. Where it may not count, it is dropped: nothing is kept for later. */
export function press(before: WatchState, key: WatchKey): WatchStep {
  if (key.kind === "interrupt") return stay(before, { kind: "quit" });
  if (before.nowMs < before.frozenMs) return stay(before);
  const state = dropHint(before);
  if (key.kind === "redraw") return stay(state, { kind: "redraw" });
  if (isTooSmall(state.size)) return letterOf(key) === "q" ? stay(state, { kind: "quit" }) : stay(state);
  if (state.prompt !== null) return pressPrompt(state, state.prompt, key);
  if (state.screen.kind === "grant") return pressGrant(state, state.screen, key);
  if (key.kind === "paste") return stay(note(state, "pasted text was dropped: keys have to be typed here", "hint"));
  switch (state.screen.kind) {
    case "queue":
      return pressQueue(state, key);
    case "help":
      return stay(backToQueue(state));
    case "narrow":
      return pressNarrow(state, state.screen, key);
    case "sessions":
      return pressSessions(state, state.screen, key);
    case "operations":
      return pressOperations(state, state.screen, key);
    case "operation":
      return pressOperation(state, state.screen, key, Math.max(1, bodyRows(state.size) - 4));
  }
}

export function letterOf(key: WatchKey): string {
  return key.kind === "text" ? key.point : key.kind;
}

function pressQueue(state: WatchState, key: WatchKey): WatchStep {
  const item = selectedItem(state);
  switch (letterOf(key)) {
    case "q":
      return stay(state, { kind: "quit" });
    case "?":
      return stay({ ...state, screen: { kind: "help" } });
    case "s":
      return stay({ ...state, screen: { kind: "sessions", sessions: null, selected: null } }, { kind: "loadSessions" });
    case "o":
      return stay(openOperations(state));
    case "down":
    case "j":
      return stay(select(state, 1));
    case "up":
    case "k":
      return stay(select(state, -1));
  }
  if (item === undefined) return stay(state);
  const page = areasOf(state.size).card;
  switch (letterOf(key)) {
    case "enter":
    case " ":
    case "pageDown":
      return stay(replaceItem(state, pageForward(item, page, state.nowMs)));
    case "b":
    case "pageUp":
      return stay(replaceItem(state, pageBack(item, page)));
    case "v":
      return stay(replaceItem(state, toggleEvidence(item, state.size)));
  }
  // What follows decides something: the card must have stood still, also after the person's own move.
  if (state.nowMs - state.shownMs < defaults.cardSteadyMs) return stay(state);
  switch (letterOf(key)) {
    case "a":
      return stay(startApproval(state, item));
    case "d":
      return stay(startDenial(state, item));
    case "e":
      return extend(state, item);
    case "g":
      return stay(openGrant(state, item));
    case "n":
      return stay(openNarrowing(state, item));
  }
  return stay(state);
}

function select(state: WatchState, by: number): WatchState {
  const at = state.queue.findIndex(({ view }) => view.approval_id === state.selected);
  const next = state.queue[Math.max(0, Math.min(state.queue.length - 1, at + by))];
  if (next === undefined || next.view.approval_id === state.selected) return state;
  return { ...state, selected: next.view.approval_id, shownMs: state.nowMs };
}

/** What stands in the way of any decision, in words; null when nothing does. */
function obstacle(state: WatchState, item: Item): string | null {
  if (state.link.kind !== "live") return NOT_CONNECTED;
  if (state.busy !== null) return "wait: the last decision is still under way";
  return item.expiresMs <= state.nowMs ? `${nameOf(item)} has run out of time` : null;
}

/** What keeps this card from being approved as it stands; null when nothing does. */
function unready(state: WatchState, item: Item): WatchState | null {
  const stops = obstacle(state, item);
  if (stops !== null) return note(state, stops, "warning");
  if (item.digest !== item.view.card_digest) return note(state, MISMATCH, "warning");
  if (item.view.card.decide?.passkey === true) return note(state, BY_HAND, "hint");
  if (item.planExpiresMs !== null && item.planExpiresMs <= state.nowMs) return note(state, PLAN_OVER, "warning");
  if (item.narrow?.problem != null) return note(state, item.narrow.problem, "warning");
  if (isReadToEnd(item)) return null;
  return note(state, "read the card to its end first: Enter or space shows the next page", "hint");
}

function asksPin(state: WatchState, item: Item): boolean {
  return (state.link.kind === "live" && state.link.guardRail) || item.view.card.mode !== "dedicated";
}

function startApproval(state: WatchState, item: Item): WatchState {
  const stopped = unready(state, item);
  if (stopped !== null) return stopped;
  const card = { approvalId: item.view.approval_id, digest: item.digest } as const;
  const guardRail = asksPin(state, item);
  if (item.view.card.ticket_needed === undefined) return askYes(state, { kind: "approve", ...card }, guardRail);
  return { ...state, prompt: { kind: "reason", to: { kind: "ticket", ...card, guardRail }, text: "" } };
}

const BY_HAND = "a yes needs a passkey, where the card says: open it with gw console; d denies it here";
const MISMATCH = "the gateway names another digest than this card has: do not trust it, and do not approve";

const PLAN_OVER = "its plan has run out and would be refused: deny it, and the agent makes a new preview";

function startDenial(state: WatchState, item: Item): WatchState {
  const stops = obstacle(state, item);
  if (stops !== null) return note(state, stops, "warning");
  const to = { kind: "deny", approvalId: item.view.approval_id, digest: item.digest } as const;
  return { ...state, prompt: { kind: "reason", to, text: "" } };
}

function extend(state: WatchState, item: Item): WatchStep {
  const stops = obstacle(state, item);
  if (stops !== null) return stay(note(state, stops, "warning"));
  const id = item.view.approval_id;
  return stay(
    { ...state, busy: { kind: "extend", id } },
    { kind: "extend", approval: item.view, seconds: defaults.watchExtendSeconds },
  );
}

function openNarrowing(state: WatchState, item: Item): WatchState {
  const draft = item.narrow ?? startNarrowing(item.view);
  if (draft === null)
    return note(state, "nothing to narrow: this card asks for one call; approve or deny it as it stands", "hint");
  return { ...state, screen: { kind: "narrow", approvalId: item.view.approval_id, draft } };
}

function pressNarrow(state: WatchState, screen: Screen & { readonly kind: "narrow" }, key: WatchKey): WatchStep {
  const { draft } = screen;
  const show = (next: typeof draft): WatchStep => stay({ ...state, screen: { ...screen, draft: next } });
  if (draft.writing !== null) return show(writeCondition({ ...draft, writing: draft.writing }, key));
  const letter = letterOf(key);
  switch (letter) {
    case "w":
      return show(openCondition(draft));
    case "backspace":
      return show(draft.at < draft.actions.length ? dropCondition(draft) : typeIn(draft, letter));
    case "down":
    case "j":
      return show(moveIn(draft, 1));
    case "up":
    case "k":
      return show(moveIn(draft, -1));
    case "escape":
      return stay(backToQueue(state));
    case "enter": {
      const where = conditionsOf(draft);
      const next = backToQueue(keepDraft(state, screen));
      return where.length === 0 ? stay(next) : stay(next, { kind: "checkWhere", approvalId: screen.approvalId, where });
    }
    case " ": {
      const next = toggleIn(draft);
      if (next === "needed")
        return stay(note(state, "the call on this card needs that action: deny the card instead", "hint"));
      if (next === "last") return stay(note(state, "at least one action stays: deny the card instead", "hint"));
      return show(next);
    }
  }
  return show(typeIn(draft, letter));
}

function writeCondition(draft: NarrowDraft & { readonly writing: string }, key: WatchKey): NarrowDraft {
  const write = (text: string): NarrowDraft => ({
    ...draft,
    writing: [...text].slice(0, defaults.watchReasonCharacters).join(""),
  });
  switch (key.kind) {
    case "text":
      return write(draft.writing + key.point);
    case "paste":
      return write(draft.writing + key.text);
    case "backspace":
      return write([...draft.writing].slice(0, -1).join(""));
    case "kill":
      return write("");
    case "escape":
      return { ...draft, writing: null };
    case "enter":
      return keepCondition(draft);
    default:
      return draft;
  }
}

/** What holding the conditions against packs and card said; null where nothing is wrong with them. */
export function takeWhereCheck(state: WatchState, approvalId: string, problem: string | null): WatchState {
  const item = state.queue.find(({ view }) => view.approval_id === approvalId);
  if (item === undefined || item.narrow === null) return state;
  const next = replaceItem(state, { ...item, narrow: { ...item.narrow, problem } });
  return problem === null ? next : note(next, problem, "warning");
}

function keepDraft(state: WatchState, { approvalId, draft }: Screen & { readonly kind: "narrow" }): WatchState {
  const item = state.queue.find(({ view }) => view.approval_id === approvalId);
  return item === undefined ? state : replaceItem(state, { ...item, narrow: { ...draft, at: 0 } });
}

function openGrant(state: WatchState, item: Item): WatchState {
  const stopped = unready(state, item);
  if (stopped !== null) return stopped;
  const proposal = proposeGrant(item.view.card);
  if (proposal.kind === "none") return note(state, `no grant could cover this: ${proposal.why}`, "hint");
  const text = writeGrantLine(proposal.words);
  return { ...state, screen: { kind: "grant", approvalId: item.view.approval_id, digest: item.digest, text } };
}

function pressGrant(state: WatchState, screen: Screen & { readonly kind: "grant" }, key: WatchKey): WatchStep {
  const write = (text: string): WatchStep =>
    stay({ ...state, screen: { ...screen, text: [...text].slice(0, defaults.watchGrantCharacters).join("") } });
  switch (key.kind) {
    case "text":
      return write(screen.text + key.point);
    case "paste":
      return write(screen.text + key.text);
    case "backspace":
      return write([...screen.text].slice(0, -1).join(""));
    case "kill":
      return write("");
    case "escape":
      return stay(backToQueue(state));
    case "enter":
      return signGrant(state, screen);
    default:
      return stay(state);
  }
}

/** A grant that cannot be read is told here, before anybody types a PIN for it. */
function signGrant(state: WatchState, { approvalId, digest, text }: Screen & { readonly kind: "grant" }): WatchStep {
  const item = state.queue.find(({ view }) => view.approval_id === approvalId);
  if (item === undefined || item.digest !== digest) return stay(backToQueue(state));
  const stopped = unready(state, item);
  if (stopped !== null) return stay(stopped);
  try {
    readGrantLine(text);
  } catch (error) {
    if (error instanceof Denied) return stay(note(state, error.message, "hint"));
    throw error;
  }
  return stay(askYes(backToQueue(state), { kind: "approve", approvalId, digest, grant: text }, asksPin(state, item)));
}

export function backToQueue(state: WatchState): WatchState {
  return { ...state, screen: { kind: "queue" }, shownMs: state.nowMs };
}
