import type { KeyObject } from "node:crypto";
import { join } from "node:path";
import { gatherContents } from "../../../audit/journals/contents.ts";
import type { Card } from "../../../conventions/approval/card.ts";
import { coverCard } from "../../../conventions/grant/cover-card.ts";
import { type Grant, namesAction } from "../../../conventions/grant/grant.ts";
import { isoTime } from "../../../kernel/clock.ts";
import { counted, showIdentifier, showText } from "../../../kernel/display.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { answering } from "../answer.ts";
import { readTime } from "../audit/read-time.ts";
import { type CliIo, type Exit, exits } from "../io.ts";
import { type VaultCliPorts, type VaultOptions, withReader } from "../vault/session.ts";
import { readGrants, requireGrant } from "./grant.ts";
import { readEvents } from "./last-use.ts";

/** One question of the past about a call that the grant names. */
interface PastCall {
  readonly approval_id: string;
  readonly at: string;
  readonly action: string;
  readonly arguments: JsonObject;
  readonly covered: boolean;
  /** Why not, where it is not. */
  readonly why: string | null;
  readonly answer: "approved" | "denied" | "unanswered";
  readonly by: string | null;
  readonly reason: string | null;
}

/** `gw grant simulate NAME --since 7d`: what it would have let pass of what people were asked, and what they said to it. */
export function runGrantSimulate(
  name: string,
  options: VaultOptions & { readonly since: string },
  io: CliIo,
  ports: VaultCliPorts,
): Promise<Exit> {
  return answering(io, async () => {
    const grant = requireGrant(readGrants(options, ports), name);
    const sinceMs = readTime("--since", options.since, ports.clock.wallMs());
    return await withReader(options, io, ports, async ({ operator: { readingKey } }) => {
      const { calls, unasked } = readPast(join(options.home, "audit"), readingKey, grant, sinceMs);
      if (options.json) io.out(JSON.stringify({ grant: name, since: isoTime(sinceMs), calls, unasked }, null, 2));
      else for (const line of pastLines(grant, options.since, calls, unasked)) io.out(line);
      return exits.done;
    });
  });
}

function readPast(log: string, readingKey: KeyObject, grant: Grant, sinceMs: number) {
  const contents = gatherContents();
  const asked = new Map<string, { readonly card: string; readonly at: string }>();
  const answers = new Map<string, Pick<PastCall, "answer" | "by" | "reason">>();
  /** Attempts whose call somebody was asked about are in the cards. */
  const sent = new Map<string, string>();
  readEvents(log, readingKey, (event) => {
    if (event.event_type === "content_kept" && event.what === "card") contents.add(event);
    if (Date.parse(event.occurred_at) < sinceMs) return;
    if (event.event_type === "approval_requested")
      asked.set(event.approval_id, { card: event.card_digest, at: event.occurred_at });
    if (event.event_type === "approval_approved")
      answers.set(event.approval_id, { answer: "approved", by: event.operator, reason: null });
    if (event.event_type === "approval_denied")
      answers.set(event.approval_id, { answer: "denied", by: event.operator, reason: event.reason });
    if (event.event_type === "intent_accepted" && namesAction(grant.actions, event.action ?? "")) {
      sent.set(event.call_id ?? event.event_id, event.authorization);
    }
  });
  const calls: PastCall[] = [];
  for (const [approval_id, { card: digest, at }] of asked) {
    const text = contents.find(digest);
    const card = text === null ? null : (JSON.parse(text) as Card);
    if (card?.call == null || !namesAction(grant.actions, card.call.action)) continue;
    sent.delete(card.call.call_id);
    const cover = coverCard(grant, card);
    const { action, arguments: given } = card.call;
    const covered = cover.kind === "covered";
    const answer = answers.get(approval_id) ?? { answer: "unanswered" as const, by: null, reason: null };
    calls.push({ approval_id, at, action, arguments: given, covered, why: covered ? null : cover.why, ...answer });
  }
  return { calls, unasked: sent.size };
}

function pastLines(grant: Grant, since: string, calls: readonly PastCall[], unasked: number): readonly string[] {
  const covered = calls.filter((call) => call.covered);
  const count = (answer: PastCall["answer"]): number => covered.filter((call) => call.answer === answer).length;
  const reasons = new Map<string, number>();
  for (const { why } of calls) if (why !== null) reasons.set(why, (reasons.get(why) ?? 0) + 1);
  return [
    `Since ${since} people were asked about ${counted(calls.length, "call")} of its actions. ${grant.name} would have covered ${covered.length}:`,
    `  ${count("approved")} that were approved, ${count("denied")} that were DENIED, ${count("unanswered")} that nobody answered`,
    ...covered.filter(({ answer }) => answer === "denied").map((call) => `  DENIED   ${callWords(call)}`),
    ...covered.filter(({ answer }) => answer === "approved").map((call) => `  approved ${callWords(call)}`),
    ...[...reasons].map(([why, times]) => `  not covered, ${times}: ${showText(why)}`),
    ...(unasked === 0
      ? []
      : [`  ${unasked} more passed without a card of their own, in approved sessions or by a grant.`]),
  ];
}

function callWords({ at, action, arguments: given, by, reason }: PastCall): string {
  const values = Object.entries(given).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const said = reason === null ? "" : `: ${showText(reason)}`;
  return `${at.slice(0, 19)}Z ${showIdentifier(action)} ${showText(values.join(" "))} by ${showText(by ?? "nobody")}${said}`;
}
