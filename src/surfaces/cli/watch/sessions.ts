import { showBounded, showIdentifier, showText } from "../../../kernel/display.ts";
import type { SessionRecord } from "../../operator/answers.ts";
import type { WatchKey } from "./keys.ts";
import { note, type Screen, type SessionLine, stay, type WatchState, type WatchStep } from "./state.ts";

const MAX_PATH = 60;

/** A session record of the operator plane as one line of ours. */
export function sessionLine(record: SessionRecord): SessionLine {
  const { session_id: id, caller, scope_granted: scope } = record;
  const live = record.ended_at === null;
  const [only = ""] = scope.actions;
  return {
    id,
    live,
    text: [
      live ? "live " : "ended",
      showIdentifier(id),
      ...(record.gateway === undefined ? [] : [`on ${showIdentifier(record.gateway)}`]),
      `pid ${caller.process.pid} uid ${caller.process.uid}`,
      scope.actions.length === 1 ? showIdentifier(only) : `${scope.actions.length} actions`,
      `by ${showIdentifier(record.approved_by)}`,
      live ? `since ${showText(record.approved_at)}` : `(${showText(record.end_reason ?? "not known")})`,
      `"${showBounded(caller.path_observed, MAX_PATH)}"`,
    ].join("  "),
  };
}

/** Live ones first, each group in the order it came. */
export function sortSessions(lines: readonly SessionLine[]): readonly SessionLine[] {
  return [...lines.filter(({ live }) => live), ...lines.filter(({ live }) => !live).reverse()];
}

/** The cursor stays on the session that it was on; when that is gone it stands on none, so that no key hits another. */
export function keepSelection(state: WatchState, sessions: readonly SessionLine[]): WatchState {
  const { screen } = state;
  if (screen.kind !== "sessions") return state;
  const first = screen.sessions === null ? (sessions[0]?.id ?? null) : null;
  const selected = sessions.some(({ id }) => id === screen.selected) ? screen.selected : first;
  return { ...state, screen: { ...screen, sessions, selected } };
}

export function pressSessions(
  state: WatchState,
  screen: Screen & { readonly kind: "sessions" },
  key: WatchKey,
): WatchStep {
  const move = (by: number): WatchStep => {
    const sessions = screen.sessions ?? [];
    const at = sessions.findIndex(({ id }) => id === screen.selected);
    const next = sessions[Math.max(0, Math.min(sessions.length - 1, at + by))];
    return stay({ ...state, screen: { ...screen, selected: next?.id ?? null } });
  };
  switch (key.kind === "text" ? key.point : key.kind) {
    case "down":
    case "j":
      return move(1);
    case "up":
    case "k":
      return move(-1);
    case "r":
      return stay(startRevocation(state, screen));
    case "s":
    case "escape":
      return stay({ ...state, screen: { kind: "queue" }, shownMs: state.nowMs });
    case "?":
      return stay({ ...state, screen: { kind: "help" } });
    case "q":
      return stay(state, { kind: "quit" });
  }
  return stay(state);
}

function startRevocation(state: WatchState, screen: Screen & { readonly kind: "sessions" }): WatchState {
  const chosen = screen.sessions?.find(({ id }) => id === screen.selected);
  if (chosen === undefined) return note(state, "choose a session first: up and down", "hint");
  if (!chosen.live) return note(state, "that session has ended already", "hint");
  if (state.link.kind !== "live") return note(state, "not connected: nothing can be revoked now", "warning");
  if (state.busy !== null) return note(state, "wait: the last decision is still under way");
  return { ...state, prompt: { kind: "reason", to: { kind: "revoke", sessionId: chosen.id }, text: "" } };
}
