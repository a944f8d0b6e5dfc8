import type { NewEvent } from "../audit/event.ts";
import type { CallResult } from "../conventions/outcome/result.ts";
import { isoTime } from "../kernel/clock.ts";
import { Denied } from "../kernel/failure.ts";
import type { CallId } from "../kernel/ids.ts";
import { keyOf, openClaim } from "./attempt/claim.ts";
import { confirmTicket } from "./attempt/confirm-ticket.ts";
import { isTold } from "./attempt/events.ts";
import { decideRepeatOf, nothingOpen, type RepeatAsked } from "./attempt/repeat-of.ts";
import type { Claim, Sending } from "./attempt/sending.ts";
import { authorizeCall, plannedOf } from "./authorize-call.ts";
import { type Core, requireSpace } from "./core.ts";
import { endUnseen } from "./operation/begin-operation.ts";
import { requireCredential, requireFit, requireLiveCaller, requireScope, requireTrusted } from "./outbound/admit.ts";
import { sendOf, tokenNamed } from "./outbound/request.ts";
import { perform } from "./perform.ts";
import type { LiveCaller } from "./ports.ts";
import { type CallRequest, type Prepared, prepare, reachable } from "./prepare.ts";
import type { DenialRecorder } from "./record/denials.ts";
import { UNTOLD } from "./record/requests.ts";
import { lookAtTarget } from "./rollback/stale.ts";
import type { Call, Run, Wait } from "./run/run.ts";
import { StartedCall } from "./run/started-call.ts";
import { callCancelled, unlessTakenBack } from "./take-back.ts";
import { findTicket, ticketUsed } from "./ticket/ticket.ts";

export type { CallRequest };

/** More of them are counted and not named. */
const UNKNOWN_NAMED = 50;

/** Starts the way of a call. The answer is kept with the call, so that whoever asked can come back for it. */
export function startCall(
  core: Core,
  denials: DenialRecorder,
  caller: LiveCaller,
  run: Run,
  request: CallRequest,
): Call {
  const id = core.ports.ids.next("call");
  const createdAt = isoTime(core.ports.clock.wallMs());
  const call = new StartedCall({ id, runId: run.id, callerKey: caller.key, action: request.action, createdAt });
  const context = request.context?.(id);
  call.done = dispatch(core, caller, run, request, call, context).then(
    (result) => {
      call.end(result);
      countOutcome(run, result);
      core.book.keepResult(call, call.resultBytes);
      // Held for whoever waits for it, until they have it.
      if (call.asking === 0) core.answers.leave(call);
      return result;
    },
    async (error: unknown) => {
      call.state = "denied";
      core.answers.leave(call);
      run.tally.denied++;
      if (error instanceof Denied) {
        const before = () => (context === undefined || isTold(context) ? [] : [context]);
        await denials.record(error, { caller, runId: run.id, callId: id, action: request.action, before });
      }
      throw error;
    },
  );
  run.tally.calls++;
  core.book.addCall(call);
  return call;
}

function countOutcome({ tally }: Run, { outcome, call_id }: CallResult): void {
  tally[outcome]++;
  if (outcome === "unknown" && tally.unknownCalls.length < UNKNOWN_NAMED) tally.unknownCalls.push(call_id as CallId);
}

/** The way of a call, in the order of the specification. Each step adds evidence or refuses; none is skipped. */
async function dispatch(
  core: Core,
  caller: LiveCaller,
  run: Run,
  request: CallRequest,
  call: Call,
  context: NewEvent | undefined,
): Promise<CallResult> {
  requireLiveCaller(caller);
  requireSpace(core);
  const preparing = prepareOrRefuse(core, caller, run, request);
  // A rollback that is refused on our own word says what is there now: that is read first.
  if ("refused" in preparing)
    throw await lookAtTarget(core, run, run.sessions.get(caller.key), call.id, preparing.refused);
  const { prepared } = preparing;
  const { outbound } = prepared;
  requireScope(reachable(core, caller, run), outbound);
  core.ports.hub?.admit({ sideEffect: outbound.sideEffect, standing: run.sessions.has(caller.key) });
  const found = findTicket(core, run, outbound, plannedOf(prepared));
  const eachUse = (): boolean => requireCredential(core, outbound).eachUse;
  eachUse();
  requireFit(core, run, outbound);
  const key = outbound.sideEffect ? keyOf(outbound, prepared.intent) : null;
  if (key === null && request.repeatOf !== undefined) throw nothingOpen(request.repeatOf);
  const repeat = (): RepeatAsked | null => (key === null ? null : decideRepeatOf(core, key, request.repeatOf));
  const asking = authorizeCall(core, caller, run, prepared, eachUse, found, call, repeat);
  const { session, authorization, ticket, despite } = await unlessTakenBack(call, asking);
  // Whether caller, session and run still stand after the wait is asked by every attempt, right before it reserves.
  requireScope(session.scope, outbound);
  // A person may have thought for minutes.
  requireTrusted(core, outbound);
  if (!call.wanted) throw callCancelled();
  call.state = "sending";
  const { toolsToken } = request;
  const token = toolsToken === undefined ? null : tokenNamed(outbound, run.id, toolsToken);
  const wire = sendOf(core, outbound, call.id, token);
  const { credential: label } = outbound;
  const errand = "call" as const;
  const claim = key === null ? undefined : openClaim(key, despite);
  const sending = {
    errand,
    run,
    session,
    callId: call.id,
    holder: call,
    outbound,
    authorization,
    request: wire,
    credential: label,
    ticket: ticketUsed(ticket),
    claim,
    traceparent: request.traceparent ?? null,
    context,
    stream: request.stream,
    keepsBytes: request.keepsBytes,
    after: closingOf(core, prepared, request, call),
    onWait: (wait: Wait | null): void => {
      call.wait = wait;
    },
  };
  const confirmed = sending.ticket === undefined ? sending : await confirmTicket(core, sending);
  const carried = carryOut(core, confirmed, prepared, claim);
  const result = await (claim === undefined ? carried : core.effects.during(carried));
  // That nothing left is no news that anybody could lose.
  if (result.transport_observation.kind !== "never_sent") await core.ports.hub?.beforeAnswer(outbound.sideEffect);
  return result;
}

/** A success is the end of a plain read, and its answer; where answers wait for the hub it is not yet. */
function closingOf(
  { ports }: Pick<Core, "ports">,
  { outbound, way }: Prepared,
  { closing }: CallRequest,
  { id }: Call,
): Sending["after"] {
  if (closing === undefined) return undefined;
  if (outbound.sideEffect || way.kind !== "plain" || way.list !== undefined) return undefined;
  return ({ verdict }) => {
    const isAnswer = verdict.kind === "success" && ports.hub?.holdsAnswers() !== true;
    return { rows: [], ...(isAnswer ? closing(id) : UNTOLD) };
  };
}

async function carryOut(
  core: Core,
  sending: Sending,
  { way }: Prepared,
  claim: Claim | undefined,
): Promise<CallResult> {
  const { traffic } = core.ports;
  if (traffic !== undefined) traffic.calls++;
  try {
    return await perform(core, sending, way);
  } catch (error) {
    // Nothing of it left, or the answer that came back is what refuses it.
    if (claim?.doubt !== true) throw error;
    return endUnseen(core, sending, claim, error);
  } finally {
    if (traffic !== undefined) traffic.calls--;
  }
}

/** Nothing is waited for where nothing is refused: a call that comes while its session is asked for joins that very card. */
function prepareOrRefuse(
  core: Core,
  caller: LiveCaller,
  run: Run,
  request: CallRequest,
): { readonly prepared: Prepared } | { readonly refused: unknown } {
  try {
    return { prepared: prepare(core, caller, run, request) };
  } catch (refused) {
    return { refused };
  }
}
