import { counted, showIdentifier, showText } from "../../kernel/display.ts";
import type { ScopeRecord } from "../scope/scope.ts";
import type { Card, CardAsks, CardCall, CardDemand, CardRun } from "./card.ts";
import { argumentLines } from "./render-arguments.ts";
import { anomalyLines } from "./render-caller.ts";
import { field, fields, group, quote } from "./render-line.ts";
import { planLines } from "./render-plan.ts";
import { neededLines, ticketLines } from "./render-ticket.ts";

/**
 * What a person has to have read before a yes counts: who vouches for the caller, the call with every argument, what it
 * can cost, what is granted beside it, and what happens without an answer. For an ordinary call it is one screen of 80x24.
 */
export function essentialLines(card: Card): readonly string[] {
  const { call, scope, run } = card;
  return [
    ...anomalyLines(card),
    field("asks for", asksFor(card)),
    ...(card.decide === undefined ? [] : fields("a yes needs", demandLines(card.decide))),
    ...(card.session === undefined ? [] : [field("session", standingOf(card.session))]),
    ...fields("will start", run.command_claimed === undefined ? [] : [commandOf(run.command_claimed)]),
    ...(call === null ? [] : callLines(call, run.budget.spend_cents)),
    ...(scope === null ? [] : scopeLines(scope, call)),
    ...fields("note", card.notes.map(showText)),
    ...(card.ticket === undefined ? [] : group("The ticket behind it", ticketLines(card.ticket))),
    ...(card.ticket_needed === undefined ? [] : group("The ticket that is missing", neededLines(card.ticket_needed))),
    ...(card.plan === undefined ? [] : group("What the plan changes", planLines(card.plan))),
    field("agent says", `${quote(run.purpose_claimed)} (its own words, unchecked)`),
    field("budget", budgetOf(card)),
    field("no answer", showText(card.if_unanswered)),
  ];
}

function asksFor({ asks, scope, call }: Card): string {
  switch (asks) {
    case "session":
      return "a session: the actions below, again and again, within the budget";
    case "call":
      return "one call, exactly as it stands below";
    case "session_and_call":
      return isForOneAction(scope, call)
        ? "this call, then its action again with any arguments"
        : "this call, then a session: the actions below again and again";
    case "redirect":
      return "one redirect: the call goes on to the address below";
    case "access":
      if (isForOneAction(scope, call)) return "this call, then its action again with any arguments, in the session";
      return "more for a session that stands: every action below too, without another question, within its budget";
    case "custody":
      return "one read about work that an ended session left behind, exactly as it stands below";
  }
}

/** What policy demands of whoever approves it, and where that is done. */
function demandLines({ passkey, approvers, where }: CardDemand): readonly string[] {
  const places = where.length === 0 ? "NONE IS ENROLLED YET" : `at ${where.map(showIdentifier).join(" or ")}`;
  return [
    ...(passkey ? [`a passkey, ${places} (gw console); a terminal can only say no`] : []),
    ...(approvers === 2 ? ["two operators: it is carried out when the second has approved it too"] : []),
  ];
}

function standingOf({ approved_by, approved_at }: NonNullable<Card["session"]>): string {
  return `the same caller, approved by ${showText(approved_by)} at ${showText(approved_at)}`;
}

/** Words as the wrapper was given them, each in quotes where a shell would need them. */
function commandOf(words: readonly string[]): string {
  return words.map((word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : quote(word))).join(" ");
}

const SENDS = { http: "request", ssh: "SSH to" } as const satisfies Record<CardCall["channel"], string>;

function callLines(call: CardCall, spendCents: number): readonly string[] {
  const sends = SENDS[call.channel];
  const values = argumentLines(call.arguments, call.sent_as ?? {});
  return [
    field(
      "call",
      `${showIdentifier(call.action)}, effect: ${showIdentifier(call.effect)}, ${call.credential === null ? "no credential" : `credential: ${showIdentifier(call.credential)}`}`,
    ),
    field(sends, `${showIdentifier(call.method)} ${showIdentifier(call.target)}`),
    ...fields("arguments", values.length === 0 ? ["none"] : values),
    ...fields("because", call.because.map(showText)),
    field("can cost", costOf(call.maximum_cents, spendCents)),
  ];
}

/** What the call can cost and what the run may spend, in one sentence that is true of both. */
function costOf(cents: number | null, spendCents: number): string {
  if (cents === null) return "ANY AMOUNT: its definition names no ceiling, and no budget here can hold a charge back";
  if (cents === 0) return "nothing";
  if (cents > spendCents) return `${cents} cents, MORE than the ${spendCents} this run may spend: it would be refused`;
  return `at most ${cents} cents, of the ${spendCents} that this run may spend`;
}

/** What is granted beside the call; a session for nothing but the action of the call needs no list. */
function scopeLines(scope: ScopeRecord, call: CardCall | null): readonly string[] {
  const joined = (values: readonly string[]): readonly string[] =>
    values.length === 0 ? [] : [values.map(showIdentifier).join(", ")];
  if (isForOneAction(scope, call)) return [];
  return [
    ...fields(scope.actions.length === 1 ? "action" : `${scope.actions.length} actions`, joined(scope.actions)),
    ...fields("hosts", joined(scope.hosts)),
    ...fields("SSH to", scope.ssh_destinations.map(showIdentifier)),
    field("credentials", joined(scope.credentials)[0] ?? "none"),
    ...fields("only where", (scope.where ?? []).map(showText)),
  ];
}

function isForOneAction(scope: ScopeRecord | null, call: CardCall | null): boolean {
  return scope?.actions.length === 1 && scope.actions[0] === call?.action;
}

function budgetOf({ run, asks, call }: Card): string {
  const { attempts, side_effects, duration_seconds, spend_cents } = run.budget;
  const { used } = run;
  const left = (limit: number, gone: number | undefined, noun: string): string =>
    `${gone === undefined ? "" : `${Math.max(0, limit - gone)} of `}${counted(limit, noun)}`;
  const money =
    spend_cents === 0
      ? call?.maximum_cents === null
        ? "no money for calls that name a price"
        : "no money"
      : left(spend_cents, used?.spend_cents, "cent");
  return [
    `${used === undefined ? "" : "left: "}${left(attempts, used?.attempts, "attempt")}`,
    left(side_effects, used?.side_effects, "side effect"),
    `${durationOf(duration_seconds)} (to ${clockOf(run)})`,
    `${money}${used === undefined ? whoseOf(asks) : ""}`,
  ].join(", ");
}

function whoseOf(asks: CardAsks): string {
  switch (asks) {
    case "call":
    case "redirect":
    case "access":
      return ", in the whole run, granted before";
    case "custody":
      return ", of the operation";
    case "session":
    case "session_and_call":
      return "";
  }
}

/** To the minute is enough for a person; the exact moment is in the evidence. */
function clockOf({ deadline_at }: CardRun): string {
  const found = /^\d{4}-\d\d-\d\dT(\d\d:\d\d)/.exec(deadline_at)?.[1];
  return found === undefined ? showText(deadline_at) : `${found} UTC`;
}

function durationOf(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
