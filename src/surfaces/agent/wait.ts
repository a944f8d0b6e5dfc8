import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { Answer } from "../../../packages/request/src/serve.ts";
import { type CallResult, writeResult } from "../../conventions/outcome/result.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { AnswerRoom } from "../../gateway/ports.ts";
import type { Call } from "../../gateway/run/run.ts";
import { type Sleep, Waker } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { endingOf } from "../plane/ending.ts";
import { listInput } from "../plane/list.ts";
import type { AgentContext } from "./context.ts";
import { pendingCallRecord } from "./records.ts";

export const callSchema = {
  type: "object",
  properties: {
    action: { type: "string", minLength: 3, maxLength: 130 },
    input: { type: "object", additionalProperties: true },
  },
  required: ["action", "input"],
} as const satisfies JsonSchema;

/** A call that may be of a list: less than its definition would read, or on from where an earlier call stopped. */
const listCallSchema = {
  ...callSchema,
  properties: {
    ...callSchema.properties,
    list: listInput,
  },
} as const satisfies JsonSchema;

export const runParams = {
  type: "object",
  properties: { run_id: { type: "string", maxLength: 64 } },
  required: ["run_id"],
} as const satisfies JsonSchema;

/** A call may name the open one that a person is to be asked to go past. */
export const repeatOf = { type: "string", minLength: 3, maxLength: 64 } as const;

export const repeatableCallSchema = {
  ...listCallSchema,
  properties: { ...listCallSchema.properties, repeat_of: repeatOf },
} as const satisfies JsonSchema;

/** The connection was identified before the request was read: whoever it is may ask; the gateway decides. */
export function anyCaller({ caller }: AgentContext): string {
  return `caller ${caller.key}`;
}

/** Waits as long as whoever asked would, and is there; undefined when it took longer. A refusal is thrown, as it would be without the wait. */
export async function waitFor<Value>(
  work: Promise<Value> | undefined,
  { waitMs, onGone }: Pick<AgentContext, "waitMs" | "onGone">,
  sleep: Sleep,
): Promise<Value | undefined> {
  if (work === undefined) return undefined;
  const ending = endingOf(work);
  if (!ending.over) {
    const waker = new Waker();
    ending.waiting.add(waker);
    onGone(() => waker.wake());
    await sleep.sleep(waitMs, waker);
    ending.waiting.delete(waker);
  }
  return ending.over ? await work : undefined;
}

/** Waits for a call as long as whoever asked would, and answers with what there is. */
export async function answerWaiting(
  gateway: Pick<Gateway, "answers">,
  call: Call,
  context: AgentContext,
  sleep: Sleep,
): Promise<Answer> {
  let waited: CallResult | undefined;
  call.asking++;
  try {
    waited = await waitFor(call.done, context, sleep);
  } finally {
    call.asking--;
  }
  return answerCall(gateway, call, waited, context, sleep);
}

/** A call that was refused at once answers with its refusal, also where nobody wanted to wait. */
export function answerCall(
  { answers }: Pick<Gateway, "answers">,
  call: Call,
  waited: CallResult | undefined,
  context: AgentContext,
  sleep: Sleep,
): Answer | Promise<Answer> {
  const over = call.state === "done" || call.state === "denied";
  if (!over) return answerPending(call);
  if (call.resultBytes > defaults.smallAnswerBytes) return answerLarge(answers, call, waited, context, sleep);
  if (call.asking === 0) answers.leave(call);
  return waited === undefined ? call.done.then((result) => answerDone(call, result)) : answerDone(call, waited);
}

/** Written here and not later: what is parsed on the way is gone again with this turn. */
function answerDone({ written }: Call, result: CallResult): Answer {
  return { status: 200, body: result as never as JsonValue, text: written ?? writeResult(result) };
}

function answerPending(call: Call): Answer {
  return { status: 202, body: pendingCallRecord(call), headers: { location: `/v1/calls/${call.id}` } };
}

/**
 * A large answer is written for who has a place for it: the first who waited for the call has the call's, everybody else
 * takes one. It is theirs until they have read it, and not for ever: the result is there for who asks again.
 */
function answerLarge(
  answers: AnswerRoom,
  call: Call,
  waited: CallResult | undefined,
  context: AgentContext,
  sleep: Sleep,
): Answer | Promise<Answer> {
  const holder = { callerKey: call.callerKey };
  const passed = answers.pass(call, holder);
  const room = Promise.withResolvers<void>();
  let gone = false;
  context.onGone(() => {
    gone = true;
    answers.leave(holder);
    room.resolve();
  });
  const write = (result: CallResult | undefined): Answer | Promise<Answer> => {
    if (gone) return answerPending(call);
    boundReading(context, sleep);
    return result === undefined ? call.done.then((held) => answerDone(call, held)) : answerDone(call, result);
  };
  if (passed || gone || answers.take(holder, call.resultBytes, room.resolve)) return write(waited);
  // Nobody holds on to a result while they wait: it may make room for others meanwhile.
  return room.promise.then(() => write(undefined));
}

/** Whoever asked for something large and does not read on is let go of: others wait for its place. */
export function boundReading({ onGone, connection }: AgentContext, sleep: Sleep): void {
  const settled = new Waker();
  onGone(() => settled.wake());
  void endUnread(connection, sleep, settled);
}

async function endUnread(connection: AgentContext["connection"], sleep: Sleep, settled: Waker): Promise<void> {
  while (!settled.aborted) {
    const before = connection.sentBytes ?? 0;
    await sleep.sleep(defaults.answerReadMs, settled);
    if (settled.aborted) return;
    if ((connection.sentBytes ?? 0) - before < defaults.answerReadBytes) return void connection.destroy();
  }
}
