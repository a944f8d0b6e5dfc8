/**
 * Requests of tools in a box. The wrapper hands over what a tool sent; here it becomes one action of a trusted pack, and
 * from then on it is a call like any other: card, budget, intent, outcome, log. Whatever is refused is an answer too.
 */
import type { NewEvent } from "../../audit/event.ts";
import { documentOf, hasSideEffect } from "../../conventions/action/pack.ts";
import { isSpooled } from "../../conventions/action/spooled.ts";
import { type BoxRefusal, boxRefusals } from "../../conventions/box/refusal.ts";
import { type CallResult, readBody } from "../../conventions/outcome/result.ts";
import { placeholderOf } from "../../conventions/reverse/placeholder.ts";
import type { FoundAction, NoAction, PlainRequest } from "../../conventions/reverse/plain.ts";
import { reverse } from "../../conventions/reverse/reverse.ts";
import { digestText } from "../../kernel/canonical-json.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CallId } from "../../kernel/ids.ts";
import type { Core } from "../core.ts";
import { startCall } from "../dispatch.ts";
import type { LiveCaller } from "../ports.ts";
import { contentEvents } from "../record/content.ts";
import type { DenialRecorder } from "../record/denials.ts";
import type { Call, Run } from "../run/run.ts";
import { takeBackCall } from "../take-back.ts";
import { type ContainedAnswer, type StreamEnd, tellRefusal, tellResult } from "./answer.ts";
import { keepPlain, pathOf } from "./keep-plain.ts";
import { learnNames, nameIds, type Speaker } from "./names.ts";
import { type AnswerHead, openPipe, type Pipe } from "./pipe.ts";

export interface ContainedRequest extends PlainRequest {
  /** Who sent it in the box, as the wrapper says. */
  readonly process: ProcessClaim | null;
  /** The trace that the tool says it belongs to. */
  readonly traceparent: string | null;
}

export interface ProcessClaim {
  readonly pid: number;
  readonly executable: string;
  readonly arguments: readonly string[];
}

/** `onGone` is told how to take it back: before it is sent, nothing is sent. */
export async function answerContained(
  core: Core,
  denials: DenialRecorder,
  caller: LiveCaller,
  run: Run,
  request: ContainedRequest,
  onGone: (takeBack: () => void) => void,
): Promise<ContainedAnswer> {
  const plainText = isGit(request);
  const found = reverse(packsOf(core, run, caller), request, placeholderOf(run.id));
  if (found.kind === "refused") {
    const { code, message, nearest } = found;
    await refuse(core, denials, caller, run, request, found);
    return tellRefusal({ code, message, callId: null, outcome: "refused", nearest, plainText });
  }
  const speaker = { pack: found.pack.name, origin: request.origin };
  const leaving = new AbortController();
  const streams = found.action.kind === "http" && found.action.streams;
  const pipe = streams ? openPipe(AbortSignal.any([leaving.signal, run.over.signal])) : null;
  const call = startCall(core, denials, caller, run, {
    action: found.action.qualifiedName,
    input: found.input,
    ...(found.page === null ? {} : { page: found.page }),
    traceparent: request.traceparent,
    keepsBytes: true,
    toolsToken: tokenIn(request, found),
    context: (callId) => containedEvent(core, run, request, found, callId),
    ...(pipe === null ? {} : { stream: pipe }),
    notes: nameIds(run, speaker, found.input),
    ...(request.body !== null && isSpooled(request.body) ? { spooled: request.body } : {}),
  });
  call.asking++;
  onGone(() => {
    call.asking--;
    if (call.state === "done") core.answers.leave(call);
    void takeBackCall(core, caller, call).catch(() => undefined);
    leaving.abort(GONE);
  });
  // Of constants of the pack alone: in other answers anybody's own text could give an id a name.
  if (!hasSideEffect(found.action.effect) && documentOf(found.action) !== null)
    void call.done.then(
      (result) => readNames(run, speaker, result),
      () => undefined,
    );
  const told = tell(call, plainText).finally(() => pipe?.finish());
  if (pipe === null) return told;
  const first = await Promise.race([told, pipe.head]);
  return "code" in first ? first : passOn(call.id, first, pipe, told);
}

function readNames(run: Run, speaker: Speaker, { action, outcome, response }: CallResult): void {
  if (outcome === "success" && response?.body_kind === "json") learnNames(run, speaker, action, readBody(response));
}

/** With a reason of ours no error object, and no stack, is made for every request. */
const GONE = "gone";

async function tell(call: Call, plainText: boolean): Promise<ContainedAnswer> {
  try {
    return tellResult(await call.done, plainText);
  } catch (error) {
    if (!(error instanceof Denied)) throw error;
    const { code, message } = error;
    const nearest = { action: call.action, why: "this is the action it would be", depth: 0 };
    return tellRefusal({ code, message, callId: call.id, outcome: "refused", nearest, plainText });
  }
}

/** The tool reads while it comes. That it has all of it is said once its end is on record, and not before. */
function passOn(callId: string, head: AnswerHead, pipe: Pipe, told: Promise<ContainedAnswer>): ContainedAnswer {
  const end = told.then(
    ({ outcome, code }): StreamEnd => ({ outcome, broken: outcome === "success" ? null : (code ?? "outcome_unknown") }),
    (): StreamEnd => ({ outcome: "unknown", broken: "internal_fault" }),
  );
  return { callId, outcome: "streaming", code: null, ...head, body: NOTHING, stream: { pieces: pipe.pieces(), end } };
}

const NOTHING = Buffer.alloc(0);

/** The packs of the session's scope, whole: which action a request is does not depend on which are allowed. */
function packsOf(core: Pick<Core, "packs">, run: Run, caller: LiveCaller) {
  const scope = run.sessions.get(caller.key)?.scope ?? run.asked;
  const names = new Set(scope.actions.map(({ action }) => action));
  const reached = core
    .packs()
    .all()
    .filter(({ action }) => names.has(action.qualifiedName));
  return [...new Set(reached.map(({ pack }) => pack))];
}

async function refuse(
  core: Pick<Core, "envelope">,
  denials: DenialRecorder,
  caller: LiveCaller,
  run: Run,
  request: ContainedRequest,
  { code, message }: NoAction,
): Promise<void> {
  const action = `${request.method} ${request.origin}`.slice(0, 200);
  await denials.record(new Denied(code, message), {
    caller,
    runId: run.id,
    callId: null,
    action,
    before: () => {
      const text = keepPlain(request, code);
      const event = containedEvent(core, run, request, null, null);
      return [...contentEvents(core.envelope, "plain_request", text), { ...event, kept_digest: digestText(text) }];
    },
  });
  run.tally.calls++;
  run.tally.denied++;
}

/** What the wrapper carried nowhere, and would be seen by nobody otherwise. Its word: no request of it ever came here. */
export async function recordRefused(
  denials: DenialRecorder,
  caller: LiveCaller,
  run: Run,
  { why, origin, method, more }: WrapperRefusal,
): Promise<void> {
  const others = more === 0 ? "" : ` ${more} more went by unnamed.`;
  await denials.record(new Denied("box_request_refused", `${boxRefusals[why]}${others}`), {
    caller,
    runId: run.id,
    callId: null,
    action: `${method || "(no request)"} ${origin}`.slice(0, 200),
  });
  run.tally.denied += more + 1;
  run.tally.calls += more + 1;
}

export interface WrapperRefusal {
  readonly why: BoxRefusal;
  readonly origin: string;
  readonly method: string;
  readonly more: number;
}

function containedEvent(
  core: Pick<Core, "envelope">,
  run: Run,
  { origin, method, target, process }: ContainedRequest,
  found: FoundAction | null,
  callId: CallId | null,
): Extract<NewEvent, { readonly event_type: "contained_request" }> {
  return {
    ...core.envelope("contained_request"),
    run_id: run.id,
    ...(callId === null ? {} : { call_id: callId }),
    origin,
    method,
    path: pathOf(target),
    action: found?.action.qualifiedName ?? null,
    dropped: found?.dropped ?? [],
    ...(process === null ? {} : { process }),
  };
}

function tokenIn({ headers }: PlainRequest, { pack }: FoundAction): string | undefined {
  const field = pack.provider?.idempotency?.header.toLowerCase();
  return headers.find(([name]) => name === field)?.[1];
}

/** Git prints an error only where it is plain text. */
function isGit({ headers }: PlainRequest): boolean {
  return headers.some(([name, value]) => name === "user-agent" && value.startsWith("git/"));
}
