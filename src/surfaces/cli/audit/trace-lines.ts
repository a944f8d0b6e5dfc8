import type { AuditEvent, EventOf } from "../../../audit/event.ts";
import type { Card } from "../../../conventions/approval/card.ts";
import { renderCard } from "../../../conventions/approval/render.ts";
import { leavesOf } from "../../../conventions/approval/render-arguments.ts";
import { narrowingWords } from "../../../conventions/approval/render-narrowing.ts";
import { withdrawnWords } from "../../../conventions/approval/withdrawn.ts";
import { showIdentifier, showText } from "../../../kernel/display.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { readSshPublicLine, sshFingerprint } from "../../../kernel/ssh-key.ts";
import type { ApprovalRecord, AttemptRecord, DecisionRecord, DigestCheck, TraceRecord } from "./trace-record.ts";

/** One thing as a person reads it: what was shown, who decided, what went out and what came of it. No line is raw JSON. */
export function traceLines(trace: TraceRecord): readonly string[] {
  return [
    `${showIdentifier(trace.id)}${trace.run_id === null ? "" : ` in ${showIdentifier(trace.run_id)}`}`,
    ...trace.approvals.flatMap((approval) => ["", ...approvalLines(approval)]),
    ...trace.attempts.flatMap((attempt) => ["", ...attemptLines(attempt, trace.approvals)]),
    ...(trace.events.length === 0 ? [] : ["", "What else the log has about it", ...trace.events.map(eventLine)]),
  ];
}

function approvalLines(approval: ApprovalRecord): readonly string[] {
  const { approval_id, card, card_digest, shown_at, decision } = approval;
  const when = shown_at === null ? "" : `, shown ${showText(shown_at)}`;
  const shown = card === null ? null : asCard(card);
  return [
    `The card ${showIdentifier(approval_id)}${when}`,
    ...(card === null
      ? ["  The log does not have its words: it was written by a gateway that kept the digest alone."]
      : (shown === null ? leavesOf("card", card) : renderCard(shown)).map((line) => `  | ${line}`.trimEnd())),
    `  digest    ${card_digest ?? "none"}`,
    `  worked out again from the bytes above: ${CHECKS[approval.card_check]}`,
    "The decision",
    ...approval.given.flatMap(decisionLines).map((line) => `  ${line}`),
    ...decisionLines(decision).map((line) => `  ${line}`),
  ];
}

const CHECKS: Readonly<Record<DigestCheck, string>> = {
  matches: "it matches",
  differs: "IT DOES NOT MATCH; do not believe what is shown",
  not_kept: "not possible, the bytes are not in the log",
};

function decisionLines(decision: DecisionRecord | null): readonly string[] {
  if (decision === null) return ["none is in the log yet"];
  const { kind, at, operator, operator_key_id, reason, narrow, head_frame } = decision;
  switch (kind) {
    case "expired":
      return [`nobody decided in time, ${showText(at)}`];
    case "withdrawn":
      return [
        `the question was taken back ${showText(at)}: ${showText(reason === null ? "no reason kept" : withdrawnWords(reason))}`,
      ];
    case "given":
    case "approved":
    case "denied":
      return [
        `${showIdentifier(operator ?? "somebody")} ${kind === "given" ? "was the first of two who approved" : kind} it ${showText(at)}, with the key ${showIdentifier(operator_key_id ?? "-")}`,
        ...(reason === null ? [] : [`the reason given: ${showText(reason)}`]),
        ...(narrow === null ? [] : [`narrowed to ${narrowingWords(narrow)}`]),
        `the log stood at frame ${head_frame ?? 0} when they decided`,
        ...(decision.same_card === false ? ["IT IS OVER ANOTHER CARD than the one above"] : []),
        SIGNATURES[decision.signature ?? "not_kept"],
        ...(decision.passkey === null ? [] : [HANDS[decision.passkey]]),
      ];
  }
}

const SIGNATURES: Readonly<Record<NonNullable<DecisionRecord["signature"]>, string>> = {
  verifies: "the signature over the statement verifies, and the statement names this card's digest",
  does_not_verify: "THE SIGNATURE DOES NOT VERIFY; do not believe that this was approved",
  key_not_held: "the signature cannot be checked here: this vault no longer holds that key",
  not_kept: "the statement that was signed is not in the log, so its signature cannot be checked from it",
};

const HANDS: Readonly<Record<NonNullable<DecisionRecord["passkey"]>, string>> = {
  verifies: "a passkey of theirs answered for exactly this, and its enrolment is signed by their key",
  does_not_verify: "THE PASSKEY'S ANSWER DOES NOT VERIFY; do not believe that a hand was there",
  not_kept: "a passkey answered, and what it said is not in the log",
};

function attemptLines(attempt: AttemptRecord, approvals: readonly ApprovalRecord[]): readonly string[] {
  const { request, version_selector, credential_label, traceparent_claimed } = attempt;
  return [
    `${SORTS[attempt.sort]} ${showIdentifier(attempt.attempt_id)}, ${showText(attempt.at)}`,
    ...besides(attempt, approvals),
    `  credential       ${credential_label === null ? "none" : showIdentifier(credential_label)}`,
    `  version selector ${version_selector === null ? "none" : showIdentifier(version_selector)}`,
    `  allowed by       ${showIdentifier(attempt.authorization)}`,
    ...(traceparent_claimed === null
      ? []
      : [`  trace            ${showIdentifier(traceparent_claimed)}, as the agent said`]),
    ...(request === null ? ["  its text is not in the log"] : requestLines(request)),
    `  worked out again from the text above: ${requestCheck(attempt)}`,
    "The outcome",
    ...outcomeLines(attempt).map((line) => `  ${line}`),
  ];
}

const SORTS: Readonly<Record<AttemptRecord["sort"], string>> = {
  call: "The request",
  redirect: "The redirect that was followed",
  again: "The same request, sent again",
  read: "A read about it",
  further: "A further request of it",
};

/** Approved and sent, side by side. Where a session was approved there is no call on its card to hold against it. */
function besides(attempt: AttemptRecord, approvals: readonly ApprovalRecord[]): readonly string[] {
  // Sent beside the call, as its definition or its ticket says: it stands in the place of nothing.
  if (attempt.sort === "read" || attempt.sort === "further")
    return [
      `  action   ${showIdentifier(attempt.action)}`,
      `  request  ${attempt.method} ${showIdentifier(placeOf(attempt))}`,
      `  digest   ${attempt.request_digest === null ? "-" : showIdentifier(attempt.request_digest)}`,
    ];
  const call = approvals.map(({ card }) => card?.["call"] as JsonObject | null | undefined).find((one) => one != null);
  const rows: readonly (readonly [string, string | null, string | null])[] = [
    ["action", text(call?.["action"]), attempt.action],
    [
      "request",
      call == null ? null : `${text(call["method"])} ${text(call["target"])}`,
      `${attempt.method} ${placeOf(attempt)}`,
    ],
    ["digest", text(call?.["request_digest"]), attempt.request_digest],
  ];
  const mine = (value: string | null): string => (value === null ? "-" : showIdentifier(value));
  return rows.flatMap(([name, approved, sent]) => [
    `  ${name.padEnd(8)} approved ${approved === null ? "by the session, not one by one" : mine(approved)}`,
    `  ${"".padEnd(8)} sent     ${mine(sent)}${approved === null ? "" : approved === sent ? "  (the same)" : "  (ANOTHER)"}`,
  ]);
}

/** As a card writes it: of a host that is with its key, which stands in the request's own text. */
function placeOf({ url, request }: AttemptRecord): string {
  const { user, host, port, operation, host_key: line } = request ?? {};
  const key = url?.startsWith("ssh://") === true && typeof line === "string" ? readSshPublicLine(line) : undefined;
  return key === undefined ? `${url}` : `${user}@${host}:${port} ${operation}, host key ${sshFingerprint(key.blob)}`;
}

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

function requestLines(request: JsonObject): readonly string[] {
  const { headers, body, fields } = request;
  return [
    ...leavesOf("headers", headers ?? {}).map((line) => `    ${line}`),
    ...leavesOf(fields === undefined ? "body" : "fields", (fields ?? body ?? null) as never).map(
      (line) => `    ${line}`,
    ),
  ];
}

function requestCheck({ request_check, request_whole }: AttemptRecord): string {
  if (request_check === "matches" && request_whole === false) {
    return "it matches what was kept; values that the pack hides stand by size and digest";
  }
  return CHECKS[request_check];
}

function outcomeLines(attempt: AttemptRecord): readonly string[] {
  const { outcome, status, provider_request_id, reason, elapsed_ms, ended_at, dispatched } = attempt;
  if (outcome === "pending")
    return [dispatched ? "sent, and no end of it is in the log" : "no end of it is in the log"];
  const took = elapsed_ms === null ? "" : ` after ${elapsed_ms} ms`;
  return [
    `${outcome}${status === null ? "" : `, status ${status}`}${took}, ${showText(ended_at ?? "")}`,
    ...(reason === null ? [] : [`because ${showIdentifier(reason)}`]),
    ...(attempt.response_digest === null ? [] : [`answer digest ${showIdentifier(attempt.response_digest)}`]),
    `provider request id ${provider_request_id === null ? "none" : showIdentifier(provider_request_id)}`,
  ];
}

function eventLine(event: AuditEvent): string {
  return `  ${showText(event.occurred_at)} ${eventWords(event)} (${showIdentifier(event.event_id)})`;
}

/** An event in its own words: what it is, and what it says beyond the names that led to it. */
export function eventWords(event: AuditEvent): string {
  const { event_type, ...rest } = event as AuditEvent & Record<string, unknown>;
  const said = Object.entries(rest)
    .filter(([name, value]) => SAYS.has(name) && value !== null && typeof value !== "object")
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${showText(String(value))}`);
  const words = event_type.replaceAll(/[._]/g, " ");
  const all = [...said, ...(event.event_type === "action.intent" ? ticketWords(event) : [])];
  return `${words}${all.length === 0 ? "" : `: ${all.join(", ")}`}`;
}

/** The work that it was done for, and that there was no time for one. */
function ticketWords({ ticket, emergency }: EventOf<"action.intent">): readonly string[] {
  return [
    ...(emergency === undefined
      ? []
      : [
          `EMERGENCY "${showText(emergency.reason)}" declared by ${showIdentifier(emergency.approver)}`,
          emergency.normal_ticket_opened_at === null
            ? "normal ticket not opened then"
            : `normal ticket opened at ${showText(emergency.normal_ticket_opened_at)}`,
        ]),
    ...(ticket === null
      ? []
      : [`ticket ${showIdentifier(`${ticket.system}:${ticket.reference}`)} "${showText(ticket.observed_state)}"`]),
  ];
}

const SAYS: ReadonlySet<string> = new Set([
  "code",
  "reason",
  "from",
  "to",
  "cause",
  "actor",
  "source",
  "receipt",
  "proof",
  "outcome",
  "status",
  "endpoint",
  "traceparent_claimed",
  "plan_id",
  "remote_job_id",
  "effect",
  "observed_state",
  "ticket_ref",
  "target",
  "authorized_by",
]);

/** A card of ours, as far as its own words say; anything else is shown as the values it holds. */
function asCard(card: JsonObject): Card | null {
  return card["format"] === "gw.card/v1" ? (card as unknown as Card) : null;
}
