import type { Narrowing } from "../../../conventions/approval/decision.ts";
import type { OperationDetail, OperationSummary } from "../../../conventions/operation/summary.ts";
import { FRESH_PIN_GUARD, type PinGuard } from "../../../vault/passphrase/pin.ts";
import type { TicketEntered } from "../../client/draft-decision.ts";
import type { ApprovalView } from "../../operator/answers.ts";
import type { WhereWords } from "../operator/where.ts";
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
  /** How many of the rows, from the first, have to be read; the rest is evidence. */
  readonly essential: number;
  /** Whether the evidence is among the rows. */
  readonly unfolded: boolean;
  /** The first row on screen. */
  readonly top: number;
  /** Rows from the first that have all been on screen. */
  readonly seen: number;
  readonly pagedMs: number;
  /** When the plan behind the card runs out; null where there is none. */
  readonly planExpiresMs: number | null;
  readonly narrow: NarrowDraft | null;
}

export type Link =
  | { readonly kind: "connecting" }
  | {
      readonly kind: "live";
      readonly guardRail: boolean;
      readonly locked: boolean;
      /** What waits and could not be read with the rest. */
      readonly unread: readonly string[];
    }
  | { readonly kind: "lost"; readonly why: string; readonly sinceMs: number; readonly retryMs: number };

export type Screen =
  | { readonly kind: "queue" }
  | { readonly kind: "help" }
  | { readonly kind: "narrow"; readonly approvalId: string; readonly draft: NarrowDraft }
  /** The grant that the person writes, from what the card proposed. */
  | { readonly kind: "grant"; readonly approvalId: string; readonly digest: string; readonly text: string }
  | { readonly kind: "sessions"; readonly sessions: readonly SessionLine[] | null; readonly selected: string | null }
  | OperationsScreen
  | {
      readonly kind: "operation";
      readonly item: OperationItem;
      /** Null until the gateway has answered; then as it stood at `detailMs`. */
      readonly detail: OperationDetail | null;
      readonly detailMs: number;
      readonly top: number;
      readonly movedMs: number;
      readonly back: OperationsScreen;
    };

/** Rows in the order they had when the screen was opened: they change in place, and new ones come at the end. */
export interface OperationsScreen {
  readonly kind: "operations";
  readonly rows: readonly OperationItem[];
  readonly selected: string | null;
  /** When the person last moved here. */
  readonly movedMs: number;
}

/** An operation as it was last told, and when: its times count on from there. */
export interface OperationItem {
  readonly summary: OperationSummary;
  readonly atMs: number;
  /** When its state, or what stopped it, last changed under our eyes. */
  readonly changedMs: number;
  /** False once the gateway no longer lists it. */
  readonly listed: boolean;
}

/** The last board. Null before the first, and from a gateway that sends none. */
export interface Board {
  readonly open: number;
  readonly needsPerson: number;
  /** The most urgent first, and after them what ended last. */
  readonly items: readonly OperationItem[];
}

/** What the screen of sessions needs of a session record. */
export interface SessionLine {
  readonly id: string;
  readonly live: boolean;
  readonly text: string;
}

export type Prompt =
  /** A line of text. `note` says what was wrong with the last one, until something is typed. */
  | { readonly kind: "reason"; readonly to: ReasonTo; readonly text: string; readonly note?: string }
  | {
      readonly kind: "secret";
      readonly which: "pin" | "passphrase";
      readonly about: About;
      readonly length: number;
      /** Set while it is checked. An answer to another attempt is nobody's. */
      readonly checking: boolean;
      readonly attempt: number;
      readonly note: string | null;
    }
  | { readonly kind: "confirm"; readonly about: About }
  /** What a person was typing has lost its object. Nothing typed on goes anywhere until they have seen that. */
  | { readonly kind: "told"; readonly text: string };

/** What a yes is about. It is fixed when the question is put: nothing that arrives later can change it. */
export type About =
  | {
      readonly kind: "approve";
      readonly approvalId: string;
      readonly digest: string;
      readonly ticket?: string;
      readonly grant?: string;
    }
  | { readonly kind: "cancel"; readonly operationId: string; readonly reason: string }
  /** One read beyond what the gateway may make by itself. */
  | { readonly kind: "reconcile"; readonly operationId: string };

export type ReasonTo =
  | { readonly kind: "deny"; readonly approvalId: string; readonly digest: string }
  /** The ticket that an approval of this card has to name. */
  | { readonly kind: "ticket"; readonly approvalId: string; readonly digest: string; readonly guardRail: boolean }
  | { readonly kind: "revoke"; readonly sessionId: string }
  | { readonly kind: "cancel"; readonly operationId: string };

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

/** A request about an operation. It may take as long as the provider does, and holds up no decision. */
export interface Errand {
  readonly kind: "cancel" | "reconcile";
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
  readonly board: Board | null;
  readonly errand: Errand | null;
  readonly notices: readonly Notice[];
  readonly attempts: number;
}

/** What the world has to do. The model never does it itself. */
export type WatchEffect =
  | {
      readonly kind: "decide";
      readonly approval: ApprovalView;
      readonly decision: "approve" | "deny";
      readonly reason: string | null;
      readonly narrow: Narrowing | null;
      /** What was typed about arguments, to be typed against packs before it is signed. */
      readonly where?: readonly WhereWords[];
      readonly ticket?: TicketEntered;
      /** Signed before the yes: where it does not hold, nothing is approved. */
      readonly grant?: string;
    }
  | { readonly kind: "checkWhere"; readonly approvalId: string; readonly where: readonly WhereWords[] }
  | { readonly kind: "extend"; readonly approval: ApprovalView; readonly seconds: number }
  | { readonly kind: "revoke"; readonly sessionId: string; readonly reason: string | null }
  | { readonly kind: "loadSessions" }
  | { readonly kind: "loadOperation"; readonly operationId: string }
  | { readonly kind: "cancelOperation"; readonly operationId: string; readonly reason: string }
  | { readonly kind: "reconcileOperation"; readonly operationId: string }
  | { readonly kind: "checkSecret"; readonly which: "pin" | "passphrase"; readonly attempt: number }
  /** Wipe what was typed of a secret. */
  | { readonly kind: "clearSecret" }
  | { readonly kind: "redraw" }
  /** Heard by a person who looks elsewhere. The words are ours: nothing that an agent wrote leaves the screen this way. */
  | { readonly kind: "ring"; readonly text: string }
  | { readonly kind: "quit" };

export interface WatchStep {
  readonly state: WatchState;
  readonly effects: readonly WatchEffect[];
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
    board: null,
    errand: null,
    notices: [],
    attempts: 0,
  };
}

const MAX_NOTICES = 20;
const MAX_GONE = 500;

export function stay(state: WatchState, ...effects: readonly WatchEffect[]): WatchStep {
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
