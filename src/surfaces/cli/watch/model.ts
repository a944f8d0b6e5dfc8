import type { OperationBoard, OperationDetail } from "../../../conventions/operation/summary.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import type { ApprovalRecord } from "../../operator/answers.ts";
import { arrive, reconcile } from "./arrive.ts";
import { postBoard } from "./board.ts";
import type { WatchKey } from "./keys.ts";
import { endErrand, failErrand, takeDetail } from "./operations.ts";
import { press, takeWhereCheck } from "./press.ts";
import { type SecretAnswer, takeSecretAnswer } from "./prompt.ts";
import { areasOf, isTooSmall, markSeen, relayout } from "./reading.ts";
import { keepSelection } from "./sessions.ts";
import {
  type Errand,
  type Link,
  note,
  type SessionLine,
  type Size,
  selectedItem,
  stay,
  type WatchState,
  type WatchStep,
} from "./state.ts";

/**
 * Everything that `gw watch` decides: a state and what happened give the next state and what to do. No clock, terminal
 * or socket here, so that every rule of approving can be tested, and none depends on how fast something was drawn.
 */
export type WatchEvent =
  | { readonly kind: "tick" }
  /** The program did not run for a while: what was typed meanwhile was typed at an old screen. */
  | { readonly kind: "stalled" }
  | { readonly kind: "resized"; readonly size: Size }
  | { readonly kind: "key"; readonly key: WatchKey }
  | { readonly kind: "secretTyped"; readonly length: number }
  | { readonly kind: "secretChecked"; readonly attempt: number; readonly answer: SecretAnswer }
  | {
      readonly kind: "live";
      readonly guardRail: boolean;
      readonly locked: boolean;
      readonly unread?: readonly string[] | undefined;
    }
  | { readonly kind: "lost"; readonly why: string; readonly retryInMs: number }
  | { readonly kind: "approval"; readonly view: ApprovalRecord }
  | { readonly kind: "list"; readonly views: readonly ApprovalRecord[]; readonly askedMs: number }
  | { readonly kind: "operations"; readonly board: OperationBoard }
  | { readonly kind: "operation"; readonly detail: OperationDetail }
  | { readonly kind: "operationRefused"; readonly code: string }
  | { readonly kind: "errandDone"; readonly errand: Errand["kind"]; readonly detail: OperationDetail }
  | { readonly kind: "errandFailed"; readonly text: string }
  | { readonly kind: "sessions"; readonly sessions: readonly SessionLine[] }
  /** `behind` names who has not taken the grant yet that was signed with it. */
  | { readonly kind: "decided"; readonly view: ApprovalRecord; readonly behind?: readonly string[] }
  | { readonly kind: "extended"; readonly view: ApprovalRecord }
  | { readonly kind: "revoked"; readonly sessionId: string }
  | { readonly kind: "whereChecked"; readonly approvalId: string; readonly problem: string | null }
  | { readonly kind: "refused"; readonly code: string; readonly message: string }
  | { readonly kind: "silent"; readonly message: string };

export function step(before: WatchState, event: WatchEvent, nowMs: number): WatchStep {
  const state = { ...before, nowMs: Math.max(before.nowMs, nowMs) };
  const { state: after, effects } = react(state, event);
  return { state: look(after), effects };
}

function noteBehind(state: WatchState, behind: readonly string[]): WatchState {
  if (behind.length === 0) return state;
  return note(state, `the grant is not taken yet by ${behind.map(showIdentifier).join(", ")}`, "warning");
}

function react(state: WatchState, event: WatchEvent): WatchStep {
  switch (event.kind) {
    case "tick":
      return stay(state);
    case "stalled":
      return stay({ ...state, frozenMs: Math.max(state.frozenMs, state.nowMs + defaults.cardSteadyMs) });
    case "resized":
      return stay(resize(state, event.size), { kind: "redraw" });
    case "key":
      return press(state, event.key);
    case "secretTyped":
      if (state.prompt?.kind !== "secret") return stay(state);
      return stay({ ...state, prompt: { ...state.prompt, length: event.length } });
    case "secretChecked":
      return takeSecretAnswer(state, event.attempt, event.answer);
    case "live":
      return stay(
        connect(state, {
          kind: "live",
          guardRail: event.guardRail,
          locked: event.locked,
          unread: event.unread ?? [],
        }),
      );
    case "lost":
      return stay(disconnect(state, event.why, event.retryInMs));
    case "approval":
      return arrive(state, event.view);
    case "list":
      return reconcile(state, event.views, event.askedMs);
    case "operations":
      return postBoard(state, event.board);
    case "operation":
      return stay(takeDetail(state, event.detail));
    case "operationRefused":
      return stay(note(state, `the gateway does not show it: ${showIdentifier(event.code)}`, "warning"));
    case "errandDone":
      return stay(endErrand(state, event.errand, event.detail));
    case "errandFailed":
      return stay(failErrand(state, event.text));
    case "sessions":
      return stay(keepSelection(state, event.sessions));
    case "decided":
      return arrive(noteBehind({ ...state, busy: null }, event.behind ?? []), event.view);
    case "extended": {
      const left = Math.ceil(event.view.expires_in_ms / 1000);
      return arrive(
        note({ ...state, busy: null }, `${showIdentifier(event.view.approval_id)} now has ${left} s; read it again`),
        event.view,
      );
    }
    case "revoked": {
      const next = note({ ...state, busy: null }, `session ${showIdentifier(event.sessionId)} was revoked`);
      return state.screen.kind === "sessions" ? stay(next, { kind: "loadSessions" }) : stay(next);
    }
    case "whereChecked":
      return stay(takeWhereCheck(state, event.approvalId, event.problem));
    case "refused":
      return stay(note({ ...state, busy: null }, `refused, ${event.code}: ${showText(event.message)}`, "warning"));
    case "silent":
      return stay(
        note(
          { ...state, busy: null },
          `no answer: it is NOT KNOWN whether that took effect (${showText(event.message)})`,
          "warning",
        ),
      );
  }
}

function resize(state: WatchState, size: Size): WatchState {
  if (size.columns === state.size.columns && size.rows === state.size.rows) return state;
  const queue = size.columns === state.size.columns ? state.queue : state.queue.map((item) => relayout(item, size));
  return { ...state, size, queue, shownMs: state.nowMs };
}

function connect(state: WatchState, link: Link & { readonly kind: "live" }): WatchState {
  const before = state.link;
  const again = before.kind === "lost" ? note(state, "connected again") : state;
  const locked = link.locked && !(before.kind === "live" && before.locked);
  const told = locked ? note(again, "the gateway is LOCKED: nothing can be asked until gw unlock", "warning") : again;
  const known = before.kind === "live" ? before.unread : [];
  const fresh = link.unread.filter((text) => !known.includes(text));
  return { ...fresh.reduce((next, text) => note(next, text, "warning"), told), link };
}

function disconnect(state: WatchState, why: string, retryInMs: number): WatchState {
  const sinceMs = state.link.kind === "lost" ? state.link.sinceMs : state.nowMs;
  const told = state.link.kind === "lost" ? state : note(state, `connection lost: ${showText(why)}`, "warning");
  return { ...told, link: { kind: "lost", why, sinceMs, retryMs: state.nowMs + retryInMs } };
}

/** After every step: the rows that the screen shows now count as seen. */
function look(state: WatchState): WatchState {
  const item = selectedItem(state);
  if (item === undefined || state.screen.kind !== "queue" || isTooSmall(state.size)) return state;
  const seen = markSeen(item, areasOf(state.size).card);
  return seen === item ? state : { ...state, queue: state.queue.map((one) => (one === item ? seen : one)) };
}
