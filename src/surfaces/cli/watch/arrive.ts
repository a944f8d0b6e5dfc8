import { digestCard } from "../../../conventions/approval/card.ts";
import { withdrawnWords } from "../../../conventions/approval/withdrawn.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import { hasCard } from "../../client/reading.ts";
import type { ApprovalRecord, ApprovalView } from "../../operator/answers.ts";
import { rowsFor } from "./reading.ts";
import {
  type Item,
  markGone,
  note,
  replaceItem,
  stay,
  type WatchEffect,
  type WatchState,
  type WatchStep,
} from "./state.ts";

/** News of one question, from the stream, from the list, or as the answer to a decision of ours. */
export function arrive(state: WatchState, view: ApprovalRecord): WatchStep {
  const id = view.approval_id;
  if (state.gone.includes(id)) return stay(state);
  if (view.state !== "pending") return leave(markGone(state, id), id, endingOf(view));
  // Still in line behind others of the same caller: nobody may see it yet.
  if (!hasCard(view)) return stay(state);
  const known = state.queue.find((item) => item.view.approval_id === id);
  const expiresMs = state.nowMs + view.expires_in_ms;
  if (known === undefined) return open(state, makeItem(state, view, expiresMs));
  if (known.view.card_digest === view.card_digest)
    return stay(replaceItem(state, { ...known, view, expiresMs, planExpiresMs: planEnd(view, expiresMs) }));
  return change(state, { ...makeItem(state, view, expiresMs), firstSeenMs: known.firstSeenMs });
}

/**
 * The whole list. What we show and it lacks has ended while no news reached us, unless it came in after the list was asked for; of what we
 * are deciding ourselves, the answer says how.
 */
export function reconcile(state: WatchState, views: readonly ApprovalRecord[], askedMs: number): WatchStep {
  const listed = new Set(views.map(({ approval_id }) => approval_id));
  let next = state;
  const effects: WatchEffect[] = [];
  const add = (step: WatchStep): void => {
    next = step.state;
    effects.push(...step.effects);
  };
  for (const { view, firstSeenMs } of state.queue) {
    const id = view.approval_id;
    if (listed.has(id) || firstSeenMs >= askedMs || state.busy?.id === id) continue;
    add(leave(markGone(next, id), id, "decided, expired or withdrawn while no news came through"));
  }
  for (const view of views) add(arrive(next, view));
  return { state: next, effects };
}

function makeItem(state: WatchState, view: ApprovalView, expiresMs: number): Item {
  return {
    view,
    digest: digestCard(view.card),
    expiresMs,
    firstSeenMs: state.nowMs,
    ...rowsFor(view, state.size, false),
    unfolded: false,
    top: 0,
    seen: 0,
    pagedMs: state.nowMs,
    planExpiresMs: planEnd(view, expiresMs),
    narrow: null,
  };
}

/** The gateway wrote both times by one clock: what lies between them holds, whatever that clock says now. */
function planEnd({ card }: ApprovalView, expiresMs: number): number | null {
  if (card.plan === undefined) return null;
  const betweenMs = Date.parse(card.plan.expires_at) - Date.parse(card.expires_at);
  return Number.isNaN(betweenMs) ? null : expiresMs + betweenMs;
}

function open(state: WatchState, item: Item): WatchStep {
  const next = { ...state, queue: [...state.queue, item] };
  const waits = next.queue.length === 1 ? "1 card waits for a person" : `${next.queue.length} cards wait for a person`;
  const ring = { kind: "ring", text: waits } as const;
  if (state.selected !== null) return stay(next, ring);
  return stay(showAnew({ ...next, selected: item.view.approval_id }), ring);
}

function change(state: WatchState, item: Item): WatchStep {
  const id = item.view.approval_id;
  const next = note(replaceItem(state, item), `${nameOf(item)} has changed: read it again`, "warning");
  const told = interrupt(next, id, `${nameOf(item)} has changed. Nothing was signed. Read it again.`);
  return { state: state.selected === id ? showAnew(told.state) : told.state, effects: told.effects };
}

function leave(state: WatchState, id: string, how: string): WatchStep {
  const index = state.queue.findIndex(({ view }) => view.approval_id === id);
  const item = state.queue[index];
  if (item === undefined) return stay(state);
  const queue = state.queue.filter((one) => one !== item);
  const noted = note({ ...state, queue }, `${how}: ${nameOf(item)}`);
  const told = interrupt(
    noted,
    id,
    `Gone while you were typing, ${how}: ${nameOf(item)}. Nothing of yours was signed.`,
  );
  if (state.selected !== id) return told;
  const next = queue[Math.min(index, queue.length - 1)]?.view.approval_id ?? null;
  return { state: showAnew({ ...told.state, selected: next }), effects: told.effects };
}

/** Another card stands where the last one stood: no key for a while. */
function showAnew(state: WatchState): WatchState {
  if (state.screen.kind !== "queue") return { ...state, shownMs: state.nowMs };
  return { ...state, shownMs: state.nowMs, frozenMs: state.nowMs + defaults.cardSteadyMs };
}

/** Takes away what a person had open about this question, and says so before any further key counts. */
function interrupt(state: WatchState, id: string, text: string): WatchStep {
  const asked = state.prompt !== null && promptedFor(state) === id;
  const { screen } = state;
  const writing = (screen.kind === "narrow" || screen.kind === "grant") && screen.approvalId === id;
  if (!asked && !writing) return stay(state);
  return stay(
    {
      ...state,
      screen: writing ? { kind: "queue" } : screen,
      prompt: { kind: "told", text },
      frozenMs: state.nowMs + defaults.cardSteadyMs,
    },
    { kind: "clearSecret" },
  );
}

function promptedFor({ prompt }: WatchState): string | null {
  switch (prompt?.kind) {
    case "secret":
    case "confirm":
      return prompt.about.kind === "approve" ? prompt.about.approvalId : null;
    case "reason":
      return prompt.to.kind === "deny" || prompt.to.kind === "ticket" ? prompt.to.approvalId : null;
    case "told":
    case undefined:
      return null;
  }
}

function endingOf({ state, decided_by, reason }: ApprovalRecord): string {
  const by = decided_by === null ? "" : ` by ${showIdentifier(decided_by)}`;
  const why = reason === null || reason === "" ? "" : ` (${showText(reason)})`;
  switch (state) {
    case "approved":
    case "denied":
      return `${state}${by}${why}`;
    case "expired":
      return "expired unanswered, nothing was sent";
    case "withdrawn":
      return `withdrawn${reason === null || reason === "" ? "" : `: ${showText(withdrawnWords(reason))}`}`;
    case "pending":
      return "open";
  }
}

/** How a card is called in a sentence: what it wants, and its id. */
export function nameOf({ view }: Pick<Item, "view">): string {
  return `${wants(view)} (${showIdentifier(view.approval_id)})`;
}

export function wants({ card: { asks, call, scope } }: ApprovalView): string {
  const actions = scope?.actions ?? [];
  const one = actions.length === 1 ? showIdentifier(actions[0] ?? "") : `${actions.length} actions`;
  const action = showIdentifier(call?.action ?? "");
  switch (asks) {
    case "session":
      return `session for ${one}`;
    case "session_and_call":
      return one === action ? `session and call ${action}` : `session for ${one} and call ${action}`;
    case "call":
      return `call ${action}`;
    case "redirect":
      return `redirect of ${action}`;
    case "access":
      return `wider session: ${one}`;
    case "custody":
      return `read ${action} for the gateway`;
  }
}
