import { showIdentifier, showText } from "../../kernel/display.ts";
import type { JsonValue } from "../../kernel/json.ts";
import type { Card, CardCall } from "./card.ts";

/**
 * The card as lines of a terminal or a page. The first line is the authority; every value that an agent or a pack
 * wrote is escaped and stands behind a label of ours, indented, so that no line of theirs can pass for one of ours.
 */
export function renderCard(card: Card): readonly string[] {
  return [
    card.authority,
    ...callerLines(card),
    "",
    ...(card.call === null ? [] : callLines(card.call)),
    ...sessionLines(card),
    ...card.notes.map((note) => `Note: ${note}`),
    card.mode === "guard-rail"
      ? "Guard-rail mode: the caller may run as the same user as this gateway. It is stopped from mistakes, not from malware."
      : "Dedicated mode: the gateway runs as its own user.",
    `If nobody answers: ${card.if_unanswered}`,
  ];
}

function callerLines(card: Card): readonly string[] {
  const process = card.caller["process"];
  const fields = typeof process === "object" && process !== null && !Array.isArray(process) ? process : {};
  const lines = [
    `  file (context only)  ${shown(card.caller["path_observed"])}`,
    `  process              ${Object.entries(fields)
      .map(([name, value]) => `${name} ${shown(value)}`)
      .join(", ")}`,
    `  image digest         ${shown(card.caller["cdhash"])} (${shown(card.caller["validity"])})`,
  ];
  for (const [name, value] of Object.entries(card.context)) {
    if (name === "authority" || value === null || (Array.isArray(value) && value.length === 0)) continue;
    lines.push(`  ${name.padEnd(20)} ${shown(value)}`);
  }
  return lines;
}

function callLines(call: CardCall): readonly string[] {
  return [
    `This call: ${showIdentifier(call.action)} (${call.effect})`,
    `  ${showIdentifier(call.method)} ${showIdentifier(call.target)}`,
    `  credential           ${call.credential === null ? "none" : showIdentifier(call.credential)}`,
    ...argumentLines(call),
    `  request digest       ${call.request_digest}`,
    `  most it can cost     ${call.maximum_cents === null ? "NOT LIMITED by its definition" : cents(call.maximum_cents)}`,
    ...call.because.map((why) => `  asked because        ${why}`),
    "",
  ];
}

function argumentLines(call: CardCall): readonly string[] {
  const names = Object.keys(call.arguments);
  if (names.length === 0) return ["  arguments            none"];
  return [
    `  arguments            ${names.length}, each shown whole`,
    ...names.map((name) => `    ${showIdentifier(name)} = ${shown(call.arguments[name])}`),
  ];
}

function sessionLines(card: Card): readonly string[] {
  const { run, scope } = card;
  const lines = [
    `Run ${run.run_id}`,
    `  the agent says       "${showText(run.purpose_claimed)}" (its own words)`,
    `  budget               ${run.budget.attempts} attempts, ${run.budget.side_effects} side effects, ${run.budget.duration_seconds} s, ${cents(run.budget.spend_cents)}`,
    `  ends at              ${run.deadline_at}`,
  ];
  if (scope === null) return lines;
  return [
    ...lines,
    "Session scope",
    ...listLines("actions", scope.actions),
    ...listLines("hosts", scope.hosts),
    ...listLines("ssh destinations", scope.ssh_destinations),
    ...listLines("credentials", scope.credentials),
    ...listLines("paths", scope.paths),
    `  request size         at most ${scope.request_bytes} bytes`,
  ];
}

function listLines(label: string, values: readonly string[]): readonly string[] {
  return values.map((value, index) => `  ${(index === 0 ? label : "").padEnd(20)} ${showIdentifier(value)}`);
}

function shown(value: JsonValue | undefined): string {
  if (value === undefined) return "not known";
  return typeof value === "string" ? `"${showText(value)}"` : showText(JSON.stringify(value));
}

function cents(amount: number): string {
  return `${amount} cents`;
}
