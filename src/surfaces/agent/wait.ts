import type { JsonSchema } from "../../conventions/request/schema.ts";
import type { Answer } from "../../conventions/request/serve.ts";
import type { Call } from "../../gateway/run/run.ts";
import type { Sleep, Waking } from "../../kernel/clock.ts";
import type { JsonValue } from "../../kernel/json.ts";
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

/** Waits up to `waitMs`; undefined when it took longer. A refusal is thrown, as it would be without the wait. */
export async function waitFor<Value>(
  work: Promise<Value> | undefined,
  waitMs: number,
  sleep: Sleep,
): Promise<Value | undefined> {
  if (work === undefined) return undefined;
  const settled = new Settled();
  try {
    return await Promise.race([work, sleep.sleep(waitMs, settled).then(() => undefined)]);
  } finally {
    settled.tell();
  }
}

/** What wakes one sleeper. Every call has one: an AbortController costs ten times as much. */
class Settled implements Waking {
  aborted = false;
  #hear: (() => void) | null = null;
  addEventListener(_event: "abort", hear: () => void): void {
    this.#hear = hear;
  }
  removeEventListener(): void {
    this.#hear = null;
  }
  tell(): void {
    this.aborted = true;
    this.#hear?.();
  }
}

/** A call that was refused at once answers with its refusal, also where nobody wanted to wait. */
export async function answerCall(call: Call, waited: unknown): Promise<Answer> {
  const over = call.state === "done" || call.state === "denied";
  const result = waited ?? (over ? await call.done : undefined);
  if (result !== undefined) return { status: 200, body: result as never as JsonValue };
  const body = pendingCallRecord(call);
  return { status: 202, body, headers: { location: `/v1/calls/${call.id}` } };
}
