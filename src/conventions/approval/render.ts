import { showIdentifier, showText } from "../../kernel/display.ts";
import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { Card, CardAsks, CardCall } from "./card.ts";
import { nameOf } from "./diff-values.ts";
import { callerLines } from "./render-caller.ts";
import { entry, group, list, quote } from "./render-line.ts";
import { planLines } from "./render-plan.ts";
import { neededLines, ticketLines } from "./render-ticket.ts";

/**
 * The card as lines of a terminal or a page. The first line is the authority; every value that an agent or a pack
 * wrote is escaped and stands behind a label of ours, indented, so that no line of theirs can pass for one of ours.
 */
export function renderCard(card: Card): readonly string[] {
  return [
    plain(card.authority),
    "",
    ...group("Who is calling", card.asks === "custody" ? NOBODY : callerLines(card)),
    ...group("What it asks", askLines(card)),
    ...(card.call === null ? [] : group("This call", callLines(card.call))),
    ...(card.ticket === undefined ? [] : group("The ticket behind it", ticketLines(card.ticket))),
    ...(card.ticket_needed === undefined ? [] : group("The ticket that is missing", neededLines(card.ticket_needed))),
    ...(card.plan === undefined ? [] : group("What the plan changes", planLines(card.plan))),
    ...group("Budget of the run", budgetLines(card)),
    ...group("What happens if nobody answers", [`  ${showText(card.if_unanswered)}`]),
    ...modeLines(card.mode),
  ];
}

const NOBODY = [entry("caller", "none: the program that started the work has no session any more")];

function askLines(card: Card): readonly string[] {
  const { scope, run } = card;
  const lines = [
    entry("asks for", asksFor(card.asks)),
    ...list(
      "note",
      card.notes.map((note) => showText(note)),
    ),
    entry("run", showIdentifier(run.run_id)),
    entry("the agent says", `${quote(run.purpose_claimed)} (its own words, unchecked)`),
  ];
  if (scope === null) return lines;
  return [
    ...lines,
    ...list("actions", scope.actions.map(showIdentifier)),
    ...list("hosts", scope.hosts.map(showIdentifier)),
    ...list("SSH destinations", scope.ssh_destinations.map(showIdentifier)),
    ...list("methods", scope.methods.length === 0 ? [] : [scope.methods.map(showIdentifier).join(", ")]),
    ...list("paths", scope.paths.map(showIdentifier)),
    ...list("credentials", scope.credentials.length === 0 ? ["none"] : scope.credentials.map(showIdentifier)),
    entry("request size", `at most ${scope.request_bytes} bytes each`),
  ];
}

function asksFor(asks: CardAsks): string {
  switch (asks) {
    case "session":
      return "a session: the actions below, again and again, within the budget";
    case "call":
      return "one call, exactly as it stands below";
    case "session_and_call":
      return "a session within the budget, and the first call in it";
    case "redirect":
      return "one redirect: the call goes on to the address below";
    case "access":
      return "more for a session that stands: every action below too, without another question, within its budget";
    case "custody":
      return "one read about work that an ended session left behind, exactly as it stands below";
  }
}

function callLines(call: CardCall): readonly string[] {
  return [
    entry("action", `${showIdentifier(call.action)}, effect: ${showIdentifier(call.effect)}`),
    entry(
      call.channel === "ssh" ? "SSH to" : "request",
      `${showIdentifier(call.method)} ${showIdentifier(call.target)}`,
    ),
    entry("credential", call.credential === null ? "none" : showIdentifier(call.credential)),
    ...list("asked because", call.because.map(showText)),
    entry("most it can cost", costOf(call.maximum_cents)),
    entry("request digest", showIdentifier(call.request_digest)),
    ...argumentLines(call.arguments, call.sent_as ?? {}),
  ];
}

function costOf(cents: number | null): string {
  if (cents === null) return "NOT LIMITED by its definition";
  return cents === 0 ? "nothing" : `${cents} cents`;
}

function argumentLines(input: JsonObject, sentAs: JsonObject): readonly string[] {
  const leaves = Object.keys(input).flatMap((name) => [
    ...leavesOf(nameOf(name), input[name] ?? null),
    ...(Object.hasOwn(sentAs, name) ? [`  ${nameOf(name)} goes out as ${quote(String(sentAs[name]))}`] : []),
  ]);
  if (leaves.length === 0) return [entry("arguments", "none")];
  return [entry("arguments", "each shown whole, one value a line"), ...leaves.map((leaf) => `    ${leaf}`)];
}

/** One line a value, its whole path before it; nothing is cut, nothing is left out. */
export function leavesOf(path: string, value: JsonValue): readonly string[] {
  if (typeof value === "string") return [`${path} = ${quote(value)}`];
  if (value === null || typeof value !== "object") return [`${path} = ${JSON.stringify(value)}`];
  if (Array.isArray(value)) {
    if (value.length === 0) return [`${path} = [] (an empty list)`];
    return value.flatMap((one: JsonValue, index) => leavesOf(`${path}[${index}]`, one));
  }
  const members = Object.entries(value as JsonObject);
  if (members.length === 0) return [`${path} = {} (an empty object)`];
  return members.flatMap(([name, one]) => leavesOf(`${path}.${nameOf(name)}`, one));
}

function budgetLines({ run, asks, call }: Card): readonly string[] {
  const { attempts, side_effects, duration_seconds, spend_cents } = run.budget;
  const whole =
    asks === "call" || asks === "redirect" || asks === "access"
      ? " in the whole run, granted before"
      : asks === "custody"
        ? " of the operation"
        : "";
  return [
    entry("attempts", `${attempts}${whole} (every send counts, retries and redirects too)`),
    entry("side effects", `${side_effects}${whole}`),
    entry("time", `${durationOf(duration_seconds)}, until ${showText(run.deadline_at)}; waiting for you counts`),
    entry("money", spend_cents === 0 ? "none may be spent" : `${spend_cents} cents${whole}`),
    ...(call !== null && call.maximum_cents !== null && call.maximum_cents > spend_cents
      ? [entry("", "this call can cost more than that, and would be refused")]
      : []),
  ];
}

function durationOf(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`;
  const minutes = Math.floor(seconds / 60);
  const rest = seconds % 60;
  return rest === 0 ? `${minutes} minutes` : `${minutes} minutes ${rest} seconds`;
}

function modeLines(mode: Card["mode"]): readonly string[] {
  return mode === "guard-rail"
    ? [
        "Guard-rail mode: the caller may run as the same user as this gateway.",
        "That stops mistakes and misled agents. It does not stop malware of the same user.",
      ]
    : ["Dedicated mode: the gateway runs as its own user."];
}

/** Our own sentence, already escaped where it quotes; looked at again because it stands where nothing is before it. */
function plain(line: string): string {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u.test(line) && !line.startsWith(" ") ? line : showText(line);
}
