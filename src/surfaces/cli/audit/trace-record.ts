import type { AuditEvent, EventOf } from "../../../audit/event.ts";
import type { Trace } from "../../../audit/journals/trace.ts";
import { type DecisionStatement, type Narrowing, verifyStatement } from "../../../conventions/approval/decision.ts";
import { digestText } from "../../../kernel/canonical-json.ts";
import { Denied } from "../../../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../kernel/json.ts";
import { checkHand, type HandCheck, type Signers } from "./check-hand.ts";

/** What a digest in the log says of the text beside it, worked out anew from the bytes. */
export type DigestCheck = "matches" | "differs" | "not_kept";

export interface ApprovalRecord {
  readonly approval_id: string;
  readonly mode: string | null;
  readonly shown_at: string | null;
  readonly card: JsonObject | null;
  readonly card_digest: string | null;
  readonly card_check: DigestCheck;
  /** Where two people had to approve it: the first. */
  readonly given: readonly DecisionRecord[];
  readonly decision: DecisionRecord | null;
}

export interface DecisionRecord {
  readonly kind: "given" | "approved" | "denied" | "expired" | "withdrawn";
  readonly at: string;
  readonly operator: string | null;
  readonly operator_key_id: string | null;
  readonly reason: string | null;
  /** What was taken away of what the card asks for, as it was signed; null where nothing was, or the statement is not in the log. */
  readonly narrow: Narrowing | null;
  readonly head_frame: number | null;
  /** Whether it is over the very card above. */
  readonly same_card: boolean | null;
  readonly signature: "verifies" | "does_not_verify" | "key_not_held" | "not_kept" | null;
  readonly passkey: HandCheck;
}

/** What an attempt is beside those before it: the call itself, a redirect of it, the very request once more, a read about it, or what else its definition sends (as to stop a job). */
export type AttemptSort = "call" | "redirect" | "again" | "read" | "further";

export interface AttemptRecord {
  readonly attempt_id: string;
  readonly sort: AttemptSort;
  readonly at: string;
  readonly action: string;
  readonly method: string | null;
  readonly url: string | null;
  readonly credential_label: string | null;
  readonly version_selector: string | null;
  readonly authorization: string;
  /** The trace that the agent said the call belongs to. */
  readonly traceparent_claimed: string | null;
  readonly request_digest: string | null;
  /** The canonical request; null where the log does not have it. */
  readonly request: JsonObject | null;
  /** Against the digest it is kept under. */
  readonly request_check: DigestCheck;
  /** False where values stand by size and digest. */
  readonly request_whole: boolean | null;
  readonly dispatched: boolean;
  readonly outcome: "succeeded" | "failed" | "unknown" | "pending";
  readonly status: number | null;
  readonly provider_request_id: string | null;
  /** Of the answer as it came. */
  readonly response_digest: string | null;
  readonly reason: string | null;
  readonly elapsed_ms: number | null;
  readonly ended_at: string | null;
}

export interface TraceRecord {
  readonly id: string;
  readonly run_id: string | null;
  readonly approvals: readonly ApprovalRecord[];
  readonly attempts: readonly AttemptRecord[];
  /** Whatever else the log has about it, as it stands there but for contents. */
  readonly events: readonly AuditEvent[];
}

/** Card, decision, request and outcome of one thing, with every digest worked out again. */
export function recordTrace(id: string, trace: Trace, signers: Signers): TraceRecord {
  const { events } = trace;
  const approvals = approvalsOf(trace, signers);
  const intents = events.filter(
    (event): event is Intent => event.event_type === "intent_accepted" || event.event_type === "preview_requested",
  );
  const asked = askedFor(events, approvals, intents[0]);
  const run = events.map((event) => ("run_id" in event ? event.run_id : undefined)).find((one) => one !== undefined);
  return {
    id,
    run_id: run ?? null,
    approvals,
    attempts: intents
      .map((intent) => attemptOf(intent, trace))
      .map((attempt, at, all) => ({ ...attempt, sort: sortOf(attempt, all.slice(0, at), asked) })),
    events: events.filter(({ event_type }) => !TOLD.has(event_type)),
  };
}

/** Told in their own words above. */
const TOLD: ReadonlySet<string> = new Set([
  "approval_requested",
  "approval_given",
  "approval_approved",
  "approval_denied",
  "approval_expired",
  "approval_withdrawn",
  "intent_accepted",
  "action_started",
  "transport_started",
  "action_finished",
  "preview_requested",
  "budget_reserved",
  "budget_settled",
]);

function approvalsOf({ events, contents }: Trace, signers: Signers): readonly ApprovalRecord[] {
  const ids = [...new Set(events.flatMap((event) => (isApproval(event) ? [event.approval_id] : [])))];
  return ids.map((approval_id) => {
    const about = events.filter(
      (event): event is ApprovalEvent => isApproval(event) && event.approval_id === approval_id,
    );
    const given = about.filter((event) => event.event_type === "approval_given");
    const end = about.find(({ event_type }) => event_type !== "approval_requested" && event_type !== "approval_given");
    const signed = end?.event_type === "approval_approved" || end?.event_type === "approval_denied" ? end : null;
    // More time makes another card: the one that was signed is shown, or else the last.
    const cards = about.filter(
      (event): event is EventOf<"approval_requested"> => event.event_type === "approval_requested",
    );
    const asked = cards.find(({ card_digest }) => card_digest === signed?.card_digest) ?? cards.at(-1);
    const digest = signed?.card_digest ?? asked?.card_digest ?? null;
    const text = digest === null ? null : contents.find(digest);
    return {
      approval_id,
      mode: asked?.mode ?? null,
      shown_at: asked?.occurred_at ?? null,
      card: readObject(text),
      card_digest: digest,
      card_check: checkDigest(text, digest),
      given: given.map((event) => decisionOf(event, asked?.card_digest ?? null, contents, signers)),
      decision: end === undefined ? null : decisionOf(end, asked?.card_digest ?? null, contents, signers),
    };
  });
}

type ApprovalEvent =
  | EventOf<"approval_requested">
  | EventOf<"approval_given">
  | EventOf<"approval_approved">
  | EventOf<"approval_denied">
  | EventOf<"approval_expired">
  | EventOf<"approval_withdrawn">;

function isApproval(event: AuditEvent): event is ApprovalEvent {
  return event.event_type.startsWith("approval_");
}

function decisionOf(
  event: ApprovalEvent,
  shown: string | null,
  contents: Trace["contents"],
  signers: Signers,
): DecisionRecord {
  const base = {
    operator: null,
    operator_key_id: null,
    reason: null,
    narrow: null,
    head_frame: null,
    same_card: null,
    signature: null,
    passkey: null,
  };
  switch (event.event_type) {
    case "approval_requested":
    case "approval_expired":
      return { ...base, kind: "expired", at: event.occurred_at };
    case "approval_withdrawn":
      return { ...base, kind: "withdrawn", at: event.occurred_at, reason: event.reason };
    case "approval_given":
    case "approval_approved":
    case "approval_denied": {
      const { operator, operator_key_id, head_frame, card_digest } = event;
      return {
        kind: KINDS[event.event_type],
        at: event.signed_at,
        operator,
        operator_key_id,
        reason: event.event_type === "approval_denied" ? event.reason : null,
        head_frame,
        same_card: shown === null ? null : shown === card_digest,
        ...checkSignature(event, contents, signers),
      };
    }
  }
}

const KINDS = { approval_given: "given", approval_approved: "approved", approval_denied: "denied" } as const;

/** The signature over the statement as it was kept, by a key that this vault knows; and the statement is about this card. */
function checkSignature(
  {
    statement_digest,
    signature,
    card_digest,
    operator_key_id,
    assertion_digest,
  }: EventOf<"approval_given"> | EventOf<"approval_approved"> | EventOf<"approval_denied">,
  contents: Trace["contents"],
  signers: Signers,
): Pick<DecisionRecord, "signature" | "passkey" | "narrow"> {
  const { vaultId, keys } = signers;
  const kept = readObject(statement_digest === undefined ? null : contents.find(statement_digest));
  const unchecked = assertion_digest === undefined ? null : ("not_kept" as const);
  if (kept === null) return { signature: "not_kept", passkey: unchecked, narrow: null };
  const statement = kept as unknown as DecisionStatement;
  const narrow = isJsonObject(kept["narrow"] ?? null) ? statement.narrow : null;
  if (!keys.some(({ keyId }) => keyId === operator_key_id))
    return { signature: "key_not_held", passkey: unchecked, narrow };
  const passkey = checkHand(assertion_digest, statement, contents, signers);
  try {
    verifyStatement({ statement, signature }, vaultId, keys);
    return { signature: statement.card_digest === card_digest ? "verifies" : "does_not_verify", passkey, narrow };
  } catch (error) {
    if (error instanceof Denied) return { signature: "does_not_verify", passkey, narrow };
    throw error;
  }
}

/** The actions that were called themselves. The read of a ticket goes out before the call that it is for, under its name. */
function askedFor(
  events: readonly AuditEvent[],
  approvals: readonly ApprovalRecord[],
  first: Intent | undefined,
): ReadonlySet<unknown> {
  const onCards = approvals.map(({ card }) => card?.["call"] as JsonObject | null | undefined);
  const named = [
    ...onCards.map((call) => [call?.["call_id"], call?.["action"]]),
    ...events.map((event) => {
      if (event.event_type === "call_denied") return [event.call_id, event.action];
      return event.event_type === "action.intent" ? [event.call_id, event.action.operation] : [];
    }),
  ];
  const actions = new Set(named.map(([, action]) => action));
  if (first !== undefined && !named.some(([call]) => call !== undefined && call === first.call_id))
    actions.add(actionOf(first));
  return actions;
}

/** By what the log says of both: a redirect was answered with one, what goes out again has the same digest. */
function sortOf(attempt: Unsorted, before: readonly Unsorted[], asked: ReadonlySet<unknown>): AttemptSort {
  if (!asked.has(attempt.action)) return attempt.method === "GET" || attempt.method === "HEAD" ? "read" : "further";
  const last = before.findLast(({ action }) => action === attempt.action);
  const redirected = last?.status != null && last.status >= 300 && last.status < 400;
  if (redirected && last.url !== attempt.url) return "redirect";
  return before.some(({ request_digest }) => request_digest !== null && request_digest === attempt.request_digest)
    ? "again"
    : "call";
}

type Unsorted = Omit<AttemptRecord, "sort">;
type Intent = EventOf<"intent_accepted"> | EventOf<"preview_requested">;

function actionOf(intent: Intent): string {
  return intent.action ?? (intent.event_type === "intent_accepted" ? intent.action_id : "");
}

function attemptOf(intent: Intent, { events, contents }: Trace): Unsorted {
  const { attempt_id = intent.event_id, kept_digest, request } = intent;
  const of = (event: AuditEvent): boolean => "attempt_id" in event && event.attempt_id === attempt_id;
  const finished = events.find(
    (event): event is EventOf<"action_finished"> => event.event_type === "action_finished" && of(event),
  );
  const started = events.some((event) => event.event_type === "transport_started" && of(event));
  const text = kept_digest === undefined ? null : contents.find(kept_digest);
  const accepted = intent.event_type === "intent_accepted" ? intent : null;
  return {
    attempt_id,
    at: intent.occurred_at,
    action: actionOf(intent),
    method: accepted?.method ?? request.normalized_operation.split(" ")[0] ?? null,
    url: intent.url ?? (accepted === null ? null : `${accepted.destination}${accepted.path}`),
    credential_label: request.credential_label,
    version_selector: request.version_selector,
    authorization: accepted?.authorization ?? request.decision,
    traceparent_claimed: intent.traceparent_claimed ?? null,
    request_digest: intent.request_digest ?? null,
    request: readObject(text),
    request_check: checkDigest(text, kept_digest ?? null),
    request_whole: intent.kept_whole ?? null,
    dispatched: started,
    outcome: finished?.outcome ?? "pending",
    status: finished?.remote_status ?? null,
    provider_request_id: finished?.provider_request_id ?? null,
    response_digest: finished?.response_digest ?? null,
    reason: finished?.reason ?? null,
    elapsed_ms: finished?.elapsed_ms ?? null,
    ended_at: finished?.occurred_at ?? null,
  };
}

function checkDigest(text: string | null, digest: string | null): DigestCheck {
  if (text === null || digest === null) return "not_kept";
  return digestText(text) === digest ? "matches" : "differs";
}

function readObject(text: string | null): JsonObject | null {
  if (text === null) return null;
  try {
    const value = JSON.parse(text) as JsonValue;
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}
