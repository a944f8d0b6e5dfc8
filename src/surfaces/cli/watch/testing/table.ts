import { type Card, digestCard } from "../../../../conventions/approval/card.ts";
import { cardOf } from "../../../../conventions/approval/testing/card.ts";
import { defaults } from "../../../../kernel/defaults.ts";
import type { ApprovalView } from "../../../operator/answers.ts";
import type { WatchKey } from "../keys.ts";
import { step, type WatchEvent } from "../model.ts";
import { startState, type WatchEffect, type WatchState } from "../state.ts";

export function viewOf(id: string, change: Partial<ApprovalView> = {}, card: Partial<Card> = {}): ApprovalView {
  const shown = cardOf(id, card);
  return {
    approval_id: id,
    state: "pending",
    run_id: "run_1",
    call_id: null,
    mode: "session",
    action: "acme.a",
    created_at: shown.created_at,
    expires_at: shown.expires_at,
    expires_in_ms: 300_000,
    decided_by: null,
    reason: null,
    given: [],
    card_digest: digestCard(shown),
    card: shown,
    ...change,
  };
}

/** A person at the table: a state, a clock that only the test moves, and everything that was asked of the world. */
export interface Table {
  state: WatchState;
  nowMs: number;
  readonly effects: WatchEffect[];
  tell(event: WatchEvent): void;
  /** Types one key after another, each after the time that a page needs. */
  type(...keys: readonly (string | WatchKey)[]): void;
  wait(ms: number): void;
  /** Pages to the end of the card on screen. */
  readOn(): void;
  take<Kind extends WatchEffect["kind"]>(kind: Kind): (WatchEffect & { readonly kind: Kind }) | undefined;
}

const named = new Set([
  "enter",
  "escape",
  "backspace",
  "kill",
  "up",
  "down",
  "pageUp",
  "pageDown",
  "interrupt",
  "redraw",
]);

export function sitDown(
  options: { readonly hasPin?: boolean; readonly rows?: number; readonly columns?: number } = {},
): Table {
  const size = { columns: options.columns ?? 100, rows: options.rows ?? 30 };
  const table: Table = {
    state: startState("ada", options.hasPin ?? true, size, 1_000, defaults.cardSteadyMs),
    nowMs: 1_000,
    effects: [],
    tell(event) {
      const next = step(table.state, event, table.nowMs);
      table.state = next.state;
      table.effects.push(...next.effects);
    },
    type(...keys) {
      for (const key of keys) {
        table.nowMs += defaults.cardPageMs;
        table.tell({ kind: "key", key: typeof key === "string" ? keyOf(key) : key });
      }
    },
    wait(ms) {
      table.nowMs += ms;
      table.tell({ kind: "tick" });
    },
    readOn() {
      for (let page = 0; page < 500; page++) table.type("enter");
      table.wait(defaults.cardSteadyMs);
    },
    take(kind) {
      const at = table.effects.findIndex((effect) => effect.kind === kind);
      if (at < 0) return undefined;
      return table.effects.splice(at, 1)[0] as never;
    },
  };
  table.wait(defaults.cardSteadyMs);
  return table;
}

/** Connected, in guard-rail mode unless said otherwise. */
export function sitConnected(options: Parameters<typeof sitDown>[0] & { readonly dedicated?: boolean } = {}): Table {
  const table = sitDown(options);
  table.tell({ kind: "live", guardRail: options.dedicated !== true, locked: false });
  return table;
}

function keyOf(key: string): WatchKey {
  return named.has(key) ? ({ kind: key } as WatchKey) : { kind: "text", point: key };
}

/** What the driver does with a secret: only its length reaches the model. */
export function typeSecret(table: Table, length: number): void {
  table.tell({ kind: "secretTyped", length });
  table.type("enter");
}

export function answerPin(table: Table, right: boolean): void {
  const asked = table.take("checkSecret");
  if (asked !== undefined)
    table.tell({ kind: "secretChecked", attempt: asked.attempt, answer: { kind: "pin", right } });
}
