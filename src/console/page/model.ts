import type { Card } from "../../conventions/approval/card.ts";
import { withdrawnWords } from "../../conventions/approval/withdrawn.ts";
import type { OperationBoard } from "../../conventions/operation/summary.ts";
import { showIdentifier } from "../../kernel/display.ts";
import { keyOf } from "../card-key.ts";
import type { Connection, News, ShownApproval } from "../live.ts";

export type { Card, Connection, OperationBoard, ShownApproval };

/** Who sits here. */
export interface Me {
  readonly operator: string;
  readonly origin: string;
  readonly version: string;
  readonly steady_ms: number;
  /** This console listens beyond its operator's machine. */
  readonly remote: boolean;
  /** This page was let in to enrol a passkey there, and for nothing else. */
  readonly enrolling: boolean;
  readonly passkeys: number;
  /** It looks at all gateways of a vault by way of a hub, and does what a hub can. */
  readonly hub: boolean;
  /** Its address, for the commands that are named; empty where there is none. It has no password. */
  readonly hub_url: string;
}

/** A card on the page. It stays where it is when it is decided, so that nothing moves under a pointer. */
export interface Row {
  readonly approval: ShownApproval;
  /** When it runs out, on the page's own clock. */
  readonly untilMs: number;
  /** When it last changed: nothing on it can be clicked for a moment after. */
  readonly changedMs: number;
  /** It waits no longer, and nobody told how it ended. */
  readonly untold: boolean;
}

export interface State {
  readonly connection: Connection | null;
  readonly rows: readonly Row[];
  readonly board: OperationBoard;
}

export const START: State = {
  connection: null,
  rows: [],
  board: { open: 0, needs_person: 0, shown: [], ended: [] },
};

const ENDED_KEPT = 20;

export function isOpen({ approval, untold }: Row): boolean {
  return approval.state === "pending" && !untold;
}

/** How one ended, in a word and in all that is known of it. */
export function endingOf({ approval: { state, decided_by, reason }, untold }: Row) {
  if (untold) return { word: "over", more: ": decided elsewhere, expired or taken back. Activity has what came of it" };
  if (state === "expired") return { word: state, more: ": nobody answered, and nothing was sent" };
  const by = decided_by === null ? "" : ` by ${showIdentifier(decided_by)}`;
  const why = state === "withdrawn" && reason !== null ? withdrawnWords(reason) : reason;
  return { word: state, more: `${by}${why === null || why === "" ? "" : `: ${showIdentifier(why)}`}` };
}

export function step(state: State, news: News, nowMs: number): State {
  switch (news.kind) {
    case "connection":
      return { ...state, connection: news.connection };
    case "operations":
      return { ...state, board: news.board };
    case "approval":
      return { ...state, rows: put(state.rows, news.approval, nowMs) };
    case "waiting": {
      const there = new Set(news.approvals.map(keyOf));
      const known = state.rows.map((row) =>
        // It was decided or withdrawn while nobody told us.
        isOpen(row) && !there.has(keyOf(row.approval)) ? { ...row, untold: true, changedMs: nowMs } : row,
      );
      return { ...state, rows: news.approvals.reduce<readonly Row[]>((rows, one) => put(rows, one, nowMs), known) };
    }
  }
}

/** Where it stood before, or below all others. */
function put(rows: readonly Row[], approval: ShownApproval, nowMs: number): readonly Row[] {
  const at = rows.findIndex((row) => keyOf(row.approval) === keyOf(approval));
  const before = rows[at];
  const same =
    before !== undefined &&
    !before.untold &&
    before.approval.state === approval.state &&
    before.approval.card_digest === approval.card_digest &&
    before.approval.given.length === approval.given.length;
  if (same) return rows;
  const row = { approval, untilMs: nowMs + approval.expires_in_ms, changedMs: nowMs, untold: false };
  if (before === undefined) return approval.state === "pending" ? trim([...rows, row]) : rows;
  return rows.map((one, index) => (index === at ? row : one));
}

/** Old ones that ended go first, and only when there is something new. */
function trim(rows: readonly Row[]): readonly Row[] {
  const ended = rows.filter((row) => !isOpen(row));
  const tooMany = new Set(ended.slice(0, Math.max(0, ended.length - ENDED_KEPT)));
  return rows.filter((row) => !tooMany.has(row));
}
