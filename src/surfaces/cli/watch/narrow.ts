import type { Card } from "../../../conventions/approval/card.ts";
import type { Narrowing } from "../../../conventions/approval/decision.ts";
import { counted, showIdentifier, showText } from "../../../kernel/display.ts";
import type { ApprovalView } from "../../operator/answers.ts";
import type { WhereWords } from "../operator/where.ts";

/** What a person takes away before approving. A limit can only go down, an action can only go off. */
export interface NarrowDraft {
  readonly actions: readonly ActionChoice[];
  readonly limits: readonly Limit[];
  /** The row under the cursor: actions first, then limits. */
  readonly at: number;
  /** A condition on the arguments of the action under the cursor, while it is typed. */
  readonly writing: string | null;
  /** Why it cannot be approved like this, once the conditions were held against the packs and the card. */
  readonly problem: string | null;
}

export interface ActionChoice {
  readonly name: string;
  readonly kept: boolean;
  /** The call on this very card needs it. */
  readonly needed: boolean;
  /** What its arguments have to be, as typed. */
  readonly where: readonly string[];
}

export interface Limit {
  readonly name: LimitName;
  readonly asked: number;
  /** As typed; empty means as asked. */
  readonly typed: string;
}

type LimitName = "attempts" | "side_effects" | "duration_seconds" | "spend_cents" | "request_bytes";

const limitLabels: Readonly<Record<LimitName, string>> = {
  attempts: "attempts",
  side_effects: "side effects",
  duration_seconds: "seconds",
  spend_cents: "cents to spend",
  request_bytes: "bytes of a request",
};

/** Null when there is nothing to take away: a card for one call is signed as it stands. */
export function startNarrowing({ card, mode }: Pick<ApprovalView, "card" | "mode">): NarrowDraft | null {
  const { scope } = card;
  if (scope === null) return null;
  // The budget belongs to the run: whoever joins a run later cannot change it. A session that is widened keeps its size.
  const budget = mode === "session" ? budgetLimits(card) : [];
  const size = mode === "access" ? [] : [limit("request_bytes", scope.request_bytes)];
  return {
    actions: scope.actions.map((name) => ({ name, kept: true, needed: card.call?.action === name, where: [] })),
    limits: [...budget, ...size],
    ...{ at: 0, writing: null, problem: null },
  };
}

function budgetLimits({ run }: Card): Limit[] {
  const { attempts, side_effects, duration_seconds, spend_cents } = run.budget;
  return [
    limit("attempts", attempts),
    limit("side_effects", side_effects),
    limit("duration_seconds", duration_seconds),
    limit("spend_cents", spend_cents),
  ];
}

function limit(name: LimitName, asked: number): Limit {
  return { name, asked, typed: "" };
}

export function labelOf({ name }: Limit): string {
  return limitLabels[name];
}

/** What the limit will be: as typed, never above what was asked. */
export function grantedOf({ asked, typed }: Limit): number {
  return typed === "" ? asked : Math.min(asked, Number(typed));
}

export function moveIn(draft: NarrowDraft, by: number): NarrowDraft {
  const last = draft.actions.length + draft.limits.length - 1;
  return { ...draft, at: Math.max(0, Math.min(last, draft.at + by)) };
}

/** Switches the action under the cursor; the last one stays, and so does the one that this call needs. */
export function toggleIn(draft: NarrowDraft): NarrowDraft | "needed" | "last" {
  const chosen = draft.actions[draft.at];
  if (chosen === undefined) return draft;
  if (chosen.needed) return "needed";
  if (chosen.kept && draft.actions.filter(({ kept }) => kept).length === 1) return "last";
  return {
    ...draft,
    actions: draft.actions.map((one, index) => (index === draft.at ? { ...one, kept: !one.kept } : one)),
  };
}

/** Begins a condition for the action under the cursor; a limit has none, and neither has what is off. */
export function openCondition(draft: NarrowDraft): NarrowDraft {
  return draft.actions[draft.at]?.kept === true ? { ...draft, writing: "" } : draft;
}

export function keepCondition(draft: NarrowDraft): NarrowDraft {
  const text = draft.writing?.trim() ?? "";
  return { ...changeWhere(draft, (where) => (text === "" ? where : [...where, text])), writing: null };
}

export function dropCondition(draft: NarrowDraft): NarrowDraft {
  return changeWhere(draft, (where) => where.slice(0, -1));
}

function changeWhere(draft: NarrowDraft, change: (where: readonly string[]) => readonly string[]): NarrowDraft {
  return {
    ...draft,
    problem: null,
    actions: draft.actions.map((one, at) => (at === draft.at ? { ...one, where: change(one.where) } : one)),
  };
}

/** What was typed about the arguments of the actions that stay. */
export function conditionsOf(draft: NarrowDraft | null): readonly WhereWords[] {
  const kept = draft?.actions.filter((one) => one.kept) ?? [];
  return kept.flatMap(({ name, where }) => where.map((text) => ({ action: name, text })));
}

const MAX_DIGITS = 12;

export function typeIn(draft: NarrowDraft, key: string | "backspace" | "kill"): NarrowDraft {
  const index = draft.at - draft.actions.length;
  return {
    ...draft,
    limits: draft.limits.map((one, at) => (at === index ? { ...one, typed: typed(one.typed, key) } : one)),
  };
}

function typed(before: string, key: string): string {
  if (key === "backspace") return before.slice(0, -1);
  if (key === "kill") return "";
  return /^[0-9]$/.test(key) && before.length < MAX_DIGITS ? `${before}${key}`.replace(/^0+(?=[0-9])/, "") : before;
}

/** The statement's form, but for conditions, which are typed against packs; null when nothing else was taken away. */
export function narrowingOf(draft: NarrowDraft | null): Narrowing | null {
  if (draft === null) return null;
  const off = draft.actions.some(({ kept }) => !kept);
  const lowered = draft.limits.filter((one) => grantedOf(one) < one.asked);
  if (!off && lowered.length === 0) return null;
  const value = (name: LimitName): number | null => {
    const found = draft.limits.find((one) => one.name === name);
    return found === undefined ? null : grantedOf(found);
  };
  const bytes = lowered.some(({ name }) => name === "request_bytes");
  const budget = lowered.some(({ name }) => name !== "request_bytes");
  return {
    actions: off ? draft.actions.filter(({ kept }) => kept).map(({ name }) => name) : null,
    request_bytes: bytes ? value("request_bytes") : null,
    budget: budget
      ? {
          attempts: value("attempts") ?? 0,
          side_effects: value("side_effects") ?? 0,
          duration_seconds: value("duration_seconds") ?? 0,
          spend_cents: value("spend_cents") ?? 0,
        }
      : null,
  };
}

/** In words, for the line above the question; empty when nothing was taken away. */
export function sayNarrowing(draft: NarrowDraft | null): string {
  if (draft === null || (narrowingOf(draft) === null && conditionsOf(draft).length === 0)) return "";
  const kept = draft.actions.filter((one) => one.kept).length;
  const parts = [
    ...(kept < draft.actions.length ? [`${kept} of ${draft.actions.length} actions`] : []),
    ...draft.limits
      .filter((one) => grantedOf(one) < one.asked)
      .map((one) => counted(grantedOf(one), labelOf(one).replace(/s$/, ""))),
    ...conditionsOf(draft).map(({ action, text }) => `${showIdentifier(action)} where ${showText(text)}`),
  ];
  return `narrowed to ${parts.join(", ")}`;
}
