import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import {
  anyObject,
  anyValue,
  flag,
  object,
  orNull,
  text,
  textOrNull,
  whole,
} from "../../../packages/request/src/shape.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { costSchema } from "../budget/record.ts";
import { discoverySchema } from "../discovery/report.ts";
import { planSchema } from "../plan/record.ts";
import { parseExactly } from "./exact-numbers.ts";
import type { TransportObservation } from "./observation.ts";

const observation = object({
  kind: { enum: ["never_sent", "answered", "silent"] },
  reason: textOrNull,
  detail: textOrNull,
  elapsed_ms: whole,
});

const response = object({
  status: whole,
  headers: anyObject,
  body: anyValue,
  /** How `body` was read: parsed JSON, text, base64, or nothing. What was streamed went to the tool as it came. */
  body_kind: { enum: ["json", "text", "base64", "none", "withheld", "streamed"] },
  provider_request_id: textOrNull,
});

/** The result an agent gets of one call, with the specification's field names. */
export const resultSchema = object(
  {
    call_id: text,
    run_id: text,
    action: text,
    outcome: { enum: ["success", "error", "unknown"] },
    /** True only when a receipt and a later read both show the expected state. */
    confirmed: flag,
    operation_id: textOrNull,
    correlation_id: text,
    transport_observation: observation,
    retry_allowed: flag,
    reconcile: orNull(object({ method: text, path: text })),
    /** What must not be done now, in words, where the outcome is unknown. */
    guidance: textOrNull,
    response: orNull(response),
  },
  {
    /** Only where the call could cost something. */
    cost: costSchema,
    /** Only for a preview: the plan that was stored. */
    plan: planSchema,
    /** Only for a list: how far it was read and why it ended. The records stand in `response.body.data`. */
    discovery: discoverySchema,
  },
);

export type CallResult = Omit<FromSchema<typeof resultSchema>, "response"> & {
  readonly response: ResponseRecord | null;
};
export type ObservationRecord = FromSchema<typeof observation>;
/** A large JSON body is held as the text that it is passed on as. */
export type ResponseRecord = Omit<FromSchema<typeof response>, "body"> & { readonly body: JsonValue | WrittenJson };

export function observationRecord(observation: TransportObservation): ObservationRecord {
  const elapsed_ms = Math.round(observation.elapsedMs);
  switch (observation.kind) {
    case "answered":
      return { kind: "answered", reason: observation.withheld, detail: null, elapsed_ms };
    case "never_sent":
    case "silent":
      return { kind: observation.kind, reason: observation.reason, detail: observation.detail, elapsed_ms };
  }
}

/**
 * A large JSON body as the text that is passed on. Parsed, it would take several times as much for as long as it is held:
 * up to thirteen times, where somebody means it to.
 */
export class WrittenJson {
  readonly text: string;
  constructor(value: JsonValue) {
    this.text = JSON.stringify(value);
  }
  toJSON(): JsonValue {
    return JSON.parse(this.text) as JsonValue;
  }
}

/** The body of a JSON answer, as a value to read. */
export function readBody({ body }: Pick<ResponseRecord, "body">): JsonValue {
  return body instanceof WrittenJson ? body.toJSON() : body;
}

/** A body that is JSON whatever its type says, such as a host's output or an answer without a type; undefined for any other. */
export function readAnyJson({ body, body_kind }: Pick<ResponseRecord, "body" | "body_kind">): JsonValue | undefined {
  if (body_kind === "json") return readBody({ body });
  if (body_kind !== "text" || typeof body !== "string") return undefined;
  try {
    // Some JSON is text because of its numbers, and what is read here may be handed on.
    return parseExactly(body);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Whether nearly all of a result is one text: it is large, and not held as what is read from it. */
export function isOneText({ response }: CallResult): boolean {
  const body = response?.body ?? null;
  return body instanceof WrittenJson || (typeof body === "string" && body.length > defaults.smallAnswerBytes);
}

/** A result as JSON, its body as it was written. */
export function writeResult(result: CallResult): string {
  const { response, ...rest } = result;
  if (!(response?.body instanceof WrittenJson)) return JSON.stringify(result);
  const { body, ...others } = response;
  return `${openEnded(rest)},"response":${openEnded(others)},"body":${body.text}}}`;
}

/** An object that has members, for one more. */
function openEnded(value: object): string {
  return JSON.stringify(value).slice(0, -1);
}

/** About how much memory a result takes, so that what is held of results can be bounded. */
export function heldBytes(result: CallResult): number {
  const rest: unknown[] = [result];
  let bytes = 0;
  while (rest.length > 0) {
    const value = rest.pop();
    bytes += MEMBER_BYTES;
    if (typeof value === "string") bytes += value.length;
    else if (Array.isArray(value)) for (const item of value) rest.push(item);
    else if (typeof value === "object" && value !== null) for (const name in value) rest.push(value[name as never]);
  }
  return bytes;
}

/** What a member takes in memory besides its text. */
const MEMBER_BYTES = 24;
