import type { Narrowing } from "../../../conventions/approval/decision.ts";
import { FRESH_PIN_GUARD, type PinGuard } from "../../../vault/passphrase/pin.ts";
import type { ApprovalView } from "../../client/operator.ts";
import type { CardRow } from "./layout.ts";
import type { NarrowDraft } from "./narrow.ts";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

/** One question in the queue, and how far this person has read it. */
export interface Item {
  readonly view: ApprovalView;
  /** The digest that we computed of what we show. It is what gets signed, whatever the gateway called it. */
  readonly digest: string;
  readonly expiresMs: number;
  readonly firstSeenMs: number;
  readonly rows: readonly CardRow[];
  /** The first row on screen. */
  readonly top: number;
  /** Rows from the first that have all been on screen. */
  readonly seen: number;
  readonly pagedMs: number;
  readonly narrow: NarrowDraft | null;
}

export type Link =
  | { readonly kind: "connecting" }
  | { readonly kind: "live"; readonly guardRail: boolean; readonly locked: boolean }
  | { readonly kind: "lost"; readonly why: string; readonly sinceMs: number; readonly retryMs: number };

export type Screen =
  | { readonly kind: "queue" }
  | { readonly kind: "help" }
  | { readonly kind: "narrow"; readonly approvalId: string; readonly draft: NarrowDraft }
  | { readonly kind: "sessions"; readonly sessions: readonly SessionLine[] | null; readonly selected: string | null };

/** What the screen of sessions needs of a session record. */
export interface SessionLine {
  readonly id: string;
  readonly live: boolean;
  readonly text: string;
}

export type Prompt =
  | { readonly kind: "reason"; readonly to: ReasonTo; readonly text: string }
  | {
      readonly kind: "secret";
      readonly which: "pin" | "passphrase";
      readonly approvalId: string;
      readonly digest: string;
      readonly length: number;
      /** Set while it is checked. An answer to another attempt is nobody's. */
      readonly checking: boolean;
      readonly attempt: number;
      readonly note: string | null;
    }
  | { readonly kind: "confirm"; readonly approvalId: string; readonly digest: string }
  /** What a person was typing has lost its object. Nothing typed on goes anywhere until they have seen that. */
  | { readonly kind: "told"; readonly text: string };

export type ReasonTo =
  | { readonly kind: "deny"; readonly approvalId: string; readonly digest: string }
  | { readonly kind: "revoke"; readonly sessionId: string };

export interface Notice {
  readonly atMs: number;
  readonly text: string;
  /** A hint is about the last key and goes with the next one. */
  readonly weight: "plain" | "warning" | "hint";
}

/** A request under way. Only its own answer ends it. */
export interface Busy {
  readonly kind: "approve" | "deny" | "extend" | "revoke";
  readonly id: string;
}

export interface WatchState {
  readonly nowMs: number;
  readonly size: Size;
  readonly operator: string;
  readonly hasPin: boolean;
  readonly pinGuard: PinGuard;
  readonly link: Link;
  readonly queue: readonly Item[];
  readonly selected: string | null;
  /** When the card on screen came to be there. */
  readonly shownMs: number;
  /** Until then every key but the one that quits is dropped. */
  readonly frozenMs: number;
  /** Decided, expired or withdrawn: late news about these is old. */
  readonly gone: readonly string[];
  readonly screen: Screen;
  readonly prompt: Prompt | null;
  readonly busy: Busy | null;
  readonly notices: readonly Notice[];
  readonly attempts: number;
}

/** What the world has to do. The model never does it itself. */
export type Effect =
  | {
      readonly kind: "decide";
      readonly approval: ApprovalView;
      readonly decision: "approve" | "deny";
      readonly reason: string | null;
      readonly narrow: Narrowing | null;
    }
  | { readonly kind: "extend"; readonly approvalId: string; readonly seconds: number }
  | { readonly kind: "revoke"; readonly sessionId: string; readonly reason: string | null }
  | { readonly kind: "loadSessions" }
  | { readonly kind: "checkSecret"; readonly which: "pin" | "passphrase"; readonly attempt: number }
  /** Wipe what was typed of a secret. */
  | { readonly kind: "clearSecret" }
  | { readonly kind: "redraw" }
  | { readonly kind: "bell" }
  | { readonly kind: "quit" };

export interface Step {
  readonly state: WatchState;
  readonly effects: readonly Effect[];
}

export function startState(operator: string, hasPin: boolean, size: Size, nowMs: number, freezeMs: number): WatchState {
  return {
    nowMs,
    size,
    operator,
    hasPin,
    pinGuard: FRESH_PIN_GUARD,
    link: { kind: "connecting" },
    queue: [],
    selected: null,
    shownMs: nowMs,
    // What was typed before there was a screen is nobody's decision.
    frozenMs: nowMs + freezeMs,
    gone: [],
    screen: { kind: "queue" },
    prompt: null,
    busy: null,
    notices: [],
    attempts: 0,
  };
}

const MAX_NOTICES = 20;
const MAX_GONE = 500;

export function stay(state: WatchState, ...effects: readonly Effect[]): Step {
  return { state, effects };
}

export function note(state: WatchState, text: string, weight: Notice["weight"] = "plain"): WatchState {
  const notices = [...state.notices, { atMs: state.nowMs, text, weight }];
  return { ...state, notices: notices.slice(-MAX_NOTICES) };
}

export function dropHint(state: WatchState): WatchState {
  return { ...state, notices: state.notices.filter(({ weight }) => weight !== "hint") };
}

export function markGone(state: WatchState, id: string): WatchState {
  return { ...state, gone: [...state.gone.filter((one) => one !== id), id].slice(-MAX_GONE) };
}

export function selectedItem(state: WatchState): Item | undefined {
  return state.queue.find(({ view }) => view.approval_id === state.selected);
}

export function replaceItem(state: WatchState, item: Item): WatchState {
  const id = item.view.approval_id;
  return { ...state, queue: state.queue.map((one) => (one.view.approval_id === id ? item : one)) };
}
