import type { AuditEvent, EventOf } from "../../audit/event.ts";
import { rememberEnded } from "../../audit/journals/ended.ts";
import type { LogItem } from "../../audit/read/reader.ts";

/** A quarter of an hour: every time zone's days begin at one, so that a page can put its own days together. */
const SLOT_MS = 900_000;
/** What is kept of each: the newest. */
const SLOTS_KEPT = 96 * 92;
const WAITS_KEPT = 5_000;
const DENIALS_KEPT = 5_000;
const RUNS_KEPT = 200;
const OPEN_KEPT = 2_000;

export const OUTCOMES = ["succeeded", "failed", "unknown", "denied"] as const;
export type ChartOutcome = (typeof OUTCOMES)[number];

export type Slot = Readonly<Record<ChartOutcome, number>> & {
  /** When it began. */
  readonly at: string;
  readonly spend_cents: number;
  /** Calls whose end was not known, and is known now. */
  readonly found_out: number;
};

export interface Wait {
  readonly at: string;
  readonly seconds: number;
  readonly ended: "approved" | "denied" | "expired";
}

/** Of one slot. */
export interface Denial {
  readonly at: string;
  readonly code: string;
  readonly count: number;
}

export interface RunUse {
  readonly run_id: string;
  readonly at: string;
  readonly purpose: string;
  readonly attempts: number;
  readonly attempts_most: number;
  readonly spend_cents: number;
  readonly spend_cents_most: number;
}

/** What the charts are drawn from, as far back as the log was opened. */
export interface Charts {
  readonly slots: readonly Slot[];
  readonly waits: readonly Wait[];
  readonly denials: readonly Denial[];
  /** The newest first. */
  readonly runs: readonly RunUse[];
  readonly whole: boolean;
}

export interface ChartFold {
  add(item: LogItem): void;
  tell(): Omit<Charts, "whole">;
}

type Open<Record> = { -readonly [Name in keyof Record]: Record[Name] };

export function startCharts(): ChartFold {
  const slots = new Map<number, Open<Slot>>();
  const asked = new Map<string, string>();
  const ended = rememberEnded();
  const waits: Wait[] = [];
  const denials = new Map<string, Open<Denial>>();
  const runs = new Map<string, Open<RunUse>>();

  function slotOf(at: string): Open<Slot> {
    const start = Math.floor(Date.parse(at) / SLOT_MS) * SLOT_MS;
    let slot = slots.get(start);
    if (slot === undefined) {
      const none = { succeeded: 0, failed: 0, unknown: 0, denied: 0, spend_cents: 0, found_out: 0 };
      slot = { at: new Date(start).toISOString(), ...none };
      slots.set(start, slot);
      forgetOldest(slots, SLOTS_KEPT);
    }
    return slot;
  }

  function refuse(event: AuditEvent, code: string, count = 1): void {
    const slot = slotOf(event.occurred_at);
    slot.denied += count;
    const key = `${slot.at} ${code}`;
    const denial = denials.get(key) ?? { at: slot.at, code, count: 0 };
    denial.count += count;
    denials.set(key, denial);
    forgetOldest(denials, DENIALS_KEPT);
  }

  function end(event: EventOf<"action_finished" | "outcome_unobserved">, outcome: ChartOutcome): void {
    const { attempt_id = event.event_id } = event;
    if (outcome === "unknown" && ended.has(attempt_id)) return;
    slotOf(event.occurred_at)[outcome]++;
    ended.add(attempt_id);
  }

  function decided(event: AuditEvent & { readonly approval_id: string }, ended: Wait["ended"]): void {
    const since = asked.get(event.approval_id);
    asked.delete(event.approval_id);
    if (since === undefined) return;
    const seconds = Math.max(0, Math.round((Date.parse(event.occurred_at) - Date.parse(since)) / 1000));
    waits.push({ at: event.occurred_at, seconds, ended });
    if (waits.length > WAITS_KEPT) waits.shift();
  }

  function take(event: AuditEvent): void {
    switch (event.event_type) {
      case "action_finished":
        end(event, event.outcome);
        return;
      case "outcome_unobserved":
        end(event, "unknown");
        return;
      case "reconciled_success":
      case "reconciled_failure":
      case "reconciled_accepted":
      case "operation_settled":
        slotOf(event.occurred_at).found_out++;
        return;
      case "call_denied":
        refuse(event, event.code);
        return;
      case "budget_denied":
        refuse(event, event.reason ?? event.outcome);
        return;
      case "denials_counted":
        refuse(event, event.code, event.count);
        return;
      case "approval_requested":
        // A card that was given more time is shown anew: it has waited since the first.
        if (!asked.has(event.approval_id)) asked.set(event.approval_id, event.occurred_at);
        forgetOldest(asked, OPEN_KEPT);
        return;
      case "approval_approved":
        decided(event, "approved");
        return;
      case "approval_denied":
        decided(event, "denied");
        return;
      case "approval_expired":
        decided(event, "expired");
        return;
      case "run_started": {
        const { run_id, occurred_at: at, purpose, budget } = event;
        const most = { attempts_most: budget.attempts, spend_cents_most: budget.spend_cents };
        runs.set(run_id, { run_id, at, purpose, attempts: 0, spend_cents: 0, ...most });
        forgetOldest(runs, RUNS_KEPT);
        return;
      }
      case "budget_reserved": {
        const run = runs.get(event.run_id);
        if (run !== undefined) run.attempts++;
        return;
      }
      case "budget_settled": {
        const cents = event.charged_cents ?? 0;
        const run = runs.get(event.run_id);
        if (run !== undefined) run.spend_cents += cents;
        slotOf(event.occurred_at).spend_cents += cents;
        return;
      }
      default:
        return;
    }
  }

  return {
    add(item) {
      // A time that is none has no place in a chart; the journal still has its entry.
      if (item.kind === "record" && Number.isFinite(Date.parse(item.event.occurred_at))) take(item.event);
    },
    tell: () => ({
      slots: [...slots.values()],
      waits,
      denials: [...denials.values()],
      runs: [...runs.values()].reverse(),
    }),
  };
}

/** Of several logs: a page adds up what is of the same time. */
export function mergeCharts(all: readonly Charts[]): Charts {
  return {
    slots: all.flatMap(({ slots }) => slots),
    waits: all.flatMap(({ waits }) => waits),
    denials: all.flatMap(({ denials }) => denials),
    runs: all.flatMap(({ runs }) => runs).sort((one, other) => (one.at < other.at ? 1 : -1)),
    whole: all.every(({ whole }) => whole),
  };
}

function forgetOldest(kept: Map<unknown, unknown>, most: number): void {
  if (kept.size <= most) return;
  for (const oldest of kept.keys()) {
    kept.delete(oldest);
    return;
  }
}
