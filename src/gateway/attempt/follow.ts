import { isNestedWithin } from "../../../packages/request/src/json/depth.ts";
import { timeLeftMs } from "../../conventions/budget/budget.ts";
import { adviseAfter } from "../../conventions/outcome/advice.ts";
import { hasExactNumbers } from "../../conventions/outcome/exact-numbers.ts";
import type { Answered } from "../../conventions/outcome/observation.ts";
import type { CallResult, ResponseRecord } from "../../conventions/outcome/result.ts";
import { observationRecord, WrittenJson } from "../../conventions/outcome/result.ts";
import { decideRetry } from "../../conventions/outcome/retry.ts";
import { isoTime } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied, Fault } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { draw, now } from "../core.ts";
import { askOf, requireTrusted } from "../outbound/admit.ts";
import { tokenOf } from "../outbound/request.ts";
import { attempt } from "./attempt.ts";
import { confirmTicket, forgetLookup } from "./confirm-ticket.ts";
import type { AttemptNeeds } from "./needs.ts";
import { allowRepeat, redirect } from "./redirect.ts";
import type { Attempted, CarriedSend, Sending } from "./sending.ts";

/** The last attempt of a call, and what it comes to. */
export interface Followed extends Attempted {
  readonly result: CallResult;
  /** Boot time right before the first send: a token is remembered from then on. */
  readonly firstSentMs: number;
}

export function followThrough(core: AttemptNeeds, first: Sending): Promise<CallResult> {
  return follow(core, first).then(({ result }) => result);
}

/**
 * Makes attempts until the call is settled: follows the redirects that the rule allows, retries what the action's class
 * allows, and asks a person where the pack says to ask. Each of them is an attempt of its own.
 */
export async function follow(core: AttemptNeeds, first: Sending): Promise<Followed> {
  let sending = first;
  const firstSentMs = core.ports.clock.bootMs();
  let followed = 0;
  let tries = 0;
  let renewed = false;
  let challenged = false;
  let before: Attempted | null = null;
  let carries: CarriedSend | undefined;
  for (;;) {
    const attempted: Attempted | null = await again(core, { ...sending, carries }, before, firstSentMs);
    carries = undefined;
    if (attempted === null) return { ...ended(before), result: resultOf(sending, ended(before), null), firstSentMs };
    tries++;
    before = attempted;
    if (attempted.verdict.kind === "redirect") {
      const next = await redirect(core, sending, attempted.verdict.observation, attempted.verdict.location, followed);
      if (next === null) return { ...attempted, result: resultOf(sending, attempted, "redirect_refused"), firstSentMs };
      sending = forgetLookup(next);
      // It is one call, so that it is charged once.
      carries = { ...attempted.reservation, spent: true, counted: attempted.counted ?? null };
      followed++;
      tries = 0;
      before = null;
      continue;
    }
    const challenge: boolean = !challenged && isChallenge(core, sending, attempted);
    if (challenge || (!renewed && mayRenew(core, sending, attempted, firstSentMs))) {
      if (challenge) challenged = true;
      else renewed = true;
      const repeat = await allowRepeat(core, sending, sayAgain(attempted));
      if (repeat === null) return { ...attempted, result: resultOf(sending, attempted, null), firstSentMs };
      sending = repeat;
      continue;
    }
    const waitMs = retryWaitMs(core, sending, attempted, tries, firstSentMs);
    if (waitMs === null) return { ...attempted, result: resultOf(sending, attempted, null), firstSentMs };
    await pause(core, sending, attempted, waitMs);
    const repeat = await allowRepeat(core, sending, sayAgain(attempted));
    if (repeat === null) return { ...attempted, result: resultOf(sending, attempted, null), firstSentMs };
    sending = repeat;
  }
}

/** The provider proved by its 401 that it did nothing, and no earlier attempt may have had its effect. */
function provedNothingDone({ claim }: Sending, { observation, verdict }: Attempted): boolean {
  if (verdict.kind !== "error" || observation.kind !== "answered" || observation.status !== 401) return false;
  return !(typeof claim === "object" && claim.doubt);
}

/** Whether a newer token may help: one was refused that was older than this call. */
function mayRenew(
  core: Pick<AttemptNeeds, "tokens">,
  sending: Sending,
  attempted: Attempted,
  sinceMs: number,
): boolean {
  const { credential, outbound } = sending;
  if (credential === null || !provedNothingDone(sending, attempted)) return false;
  return core.tokens.refused(credential, outbound, sinceMs);
}

/** Whether the provider wants to see another nonce in the proof, and named it. */
function isChallenge(core: Pick<AttemptNeeds, "tokens">, sending: Sending, attempted: Attempted): boolean {
  const { credential } = sending;
  if (credential === null || !provedNothingDone(sending, attempted)) return false;
  return core.tokens.challenged(credential, attempted.observation);
}

/**
 * The next attempt, or null where it is refused and the one before may have gone through: then the call ends unknown, and
 * not denied. Under one token there is one charge at most, so that a repeat takes over the reserve.
 */
function again(
  core: AttemptNeeds,
  sending: Sending,
  before: Attempted | null,
  firstSentMs: number,
): Promise<Attempted | null> {
  if (before?.verdict.kind === "unknown") return againInDoubt(core, sending, before, firstSentMs);
  requireTrusted(core, sending.outbound);
  // Nearly all have no ticket: no turn is waited for one.
  if (sending.ticket === undefined) return attempt(core, sending);
  return confirmTicket(core, sending).then((confirmed) => attempt(core, confirmed));
}

async function againInDoubt(
  core: AttemptNeeds,
  sending: Sending,
  before: Attempted,
  firstSentMs: number,
): Promise<Attempted | null> {
  try {
    requireTrusted(core, sending.outbound);
    const confirmed = await confirmTicket(core, sending);
    // The provider may have said to wait, or a person have thought, for longer than it remembers the token.
    if (tokenLeftMs(core, sending, firstSentMs) <= 0) return null;
    const carries = { ...before.reservation, counted: before.counted ?? null };
    return await attempt(core, { ...confirmed, carries });
  } catch (error) {
    if (error instanceof Denied) return null;
    throw error;
  }
}

function ended(attempted: Attempted | null): Attempted {
  if (attempted === null) throw new Fault("a call ended before its first attempt");
  return attempted;
}

function retryWaitMs(
  core: Pick<AttemptNeeds, "ports">,
  sending: Sending,
  { observation, verdict }: Attempted,
  tries: number,
  firstSentMs: number,
): number | null {
  if (verdict.kind === "success" || verdict.kind === "accepted") return null;
  // Nobody is there for another answer, or has part of this one.
  if (sending.stream?.begun === true || sending.stream?.gone.aborted === true) return null;
  const decision = decideRetry({
    retryClass: sending.outbound.definition.action.retry,
    attempt: tries,
    observation,
    tokenLeftMs: tokenLeftMs(core, sending, firstSentMs),
    timeLeftMs: timeLeftMs(sending.run.budget, now(core)),
    wallMs: core.ports.clock.wallMs(),
    spread: draw(core),
    jitter: defaults.pollJitter,
  });
  return decision.kind === "retry" ? decision.waitMs : null;
}

/** Whoever asks about the call meanwhile is told when it goes on. */
async function pause({ ports }: AttemptNeeds, sending: Sending, attempted: Attempted, waitMs: number): Promise<void> {
  const { onWait } = sending;
  onWait?.({ until: isoTime(ports.clock.wallMs() + waitMs), after: whatCame(attempted) });
  await ports.sleep.sleep(waitMs, sending.run.over.signal);
  onWait?.(null);
}

function whatCame({ observation }: Attempted): string {
  return observation.kind === "answered" ? `status ${observation.status}` : observation.reason;
}

function sayAgain(attempted: Attempted): string {
  return `it is sent again after ${whatCame(attempted)}`;
}

/** For how long a repeat arrives while the provider knows the request by its token. Past that it would be a second request. */
function tokenLeftMs(
  { ports: { clock } }: Pick<AttemptNeeds, "ports">,
  { request, outbound }: Sending,
  firstSentMs: number,
): number {
  const { pack } = outbound.definition;
  if (tokenOf(request, pack) === null) return 0;
  return firstSentMs + (pack.provider?.idempotency?.windowMs ?? 0) - askOf(outbound).capMs - clock.bootMs();
}

export function resultOf(
  sending: Sending,
  { observation, verdict, cost }: Pick<Attempted, "observation" | "verdict" | "cost">,
  refused: string | null,
): CallResult {
  const { outbound, run, callId, claim } = sending;
  const { action } = outbound.definition;
  // An earlier attempt of the call may have gone through, whatever became of the last one.
  const doubt = outbound.sideEffect && (refused !== null || (typeof claim === "object" && claim.doubt));
  const unknown = verdict.kind === "unknown" || verdict.kind === "accepted" || doubt;
  const outcome = unknown ? "unknown" : verdict.kind === "success" ? "success" : "error";
  return {
    call_id: callId,
    run_id: run.id,
    action: outbound.action,
    outcome,
    confirmed: false,
    operation_id: null,
    correlation_id: callId,
    transport_observation: {
      ...observationRecord(observation),
      ...(refused === null ? {} : { reason: refused }),
    },
    ...adviseAfter(outcome, action.unknown.retryAllowed),
    reconcile: null,
    response: observation.kind === "answered" ? responseOf(observation, sending.keepsBytes === true) : null,
    ...(cost.reserved_cents === 0 && cost.charged_cents === 0 ? {} : { cost }),
  };
}

/** The very bytes of an answer, for who hands them on as they came. */
const bytes = new WeakMap<ResponseRecord, Buffer>();

export function bytesOf(response: ResponseRecord): Buffer | null {
  return bytes.get(response) ?? null;
}

/** The same answer with another body, also for who hands on its bytes. */
export function withBody(response: ResponseRecord, body: JsonValue, headers = response.headers): ResponseRecord {
  const next = { ...response, headers, body, body_kind: "json" as const };
  if (bytes.has(response)) bytes.set(next, Buffer.from(JSON.stringify(body), "utf8"));
  return next;
}

function responseOf(answer: Answered, keepsBytes: boolean): ResponseRecord {
  const response = {
    status: answer.status,
    headers: { ...answer.headers },
    ...bodyOf(answer),
    provider_request_id: answer.remoteRequestId,
  };
  if (keepsBytes && answer.withheld === null) bytes.set(response, answer.body);
  return response;
}

function bodyOf({ body, headers, withheld, streamed }: Answered): Pick<ResponseRecord, "body" | "body_kind"> {
  if (withheld !== null) return { body: null, body_kind: "withheld" };
  if (streamed !== undefined) return { body: null, body_kind: "streamed" };
  if (body.byteLength === 0) return { body: null, body_kind: "none" };
  const type = headers["content-type"] ?? "";
  const text = body.toString("utf8");
  if (type.includes("json") && isReadable(text)) {
    try {
      const value = JSON.parse(text) as JsonValue;
      const written = body.byteLength > defaults.smallAnswerBytes ? new WrittenJson(value) : value;
      return { body: written, body_kind: "json" };
    } catch {
      // What calls itself JSON and is none is handed on as the text it is.
    }
  }
  if (Buffer.from(text, "utf8").equals(body)) return { body: text, body_kind: "text" };
  return { body: body.toString("base64"), body_kind: "base64" };
}

/** Nobody after us should have to survive what we would refuse in a request, or act on another number than was answered. */
function isReadable(text: string): boolean {
  return isNestedWithin(text, defaults.jsonDepth, defaults.jsonContainers) && hasExactNumbers(text);
}
