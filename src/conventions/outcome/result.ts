import type { JsonObject, JsonValue } from "../../kernel/json.ts";
import type { CostRecord } from "../budget/record.ts";
import type { DiscoveryReport } from "../discovery/report.ts";
import type { TransportObservation } from "./observation.ts";

/** The result an agent gets of one call, with the specification's field names. */
export interface CallResult {
  readonly call_id: string;
  readonly run_id: string;
  readonly action: string;
  readonly outcome: "success" | "error" | "unknown";
  /** True only when a receipt and a later read both show the expected state. */
  readonly confirmed: boolean;
  readonly operation_id: string | null;
  readonly correlation_id: string;
  readonly transport_observation: ObservationRecord;
  readonly retry_allowed: boolean;
  readonly reconcile: { readonly method: string; readonly path: string } | null;
  /** What must not be done now, in words, where the outcome is unknown. */
  readonly guidance: string | null;
  readonly response: ResponseRecord | null;
  /** Only where the call could cost something. */
  readonly cost?: CostRecord;
  /** Only for a preview: the plan that was stored. */
  readonly plan?: JsonObject;
  /** Only for a list: how far it was read and why it ended. The records stand in `response.body.data`. */
  readonly discovery?: DiscoveryReport;
}

export interface ObservationRecord {
  readonly kind: "never_sent" | "answered" | "silent";
  readonly reason: string | null;
  readonly detail: string | null;
  readonly elapsed_ms: number;
}

export interface ResponseRecord {
  readonly status: number;
  readonly headers: JsonObject;
  readonly body: JsonValue;
  /** How `body` was read: parsed JSON, text, base64, or nothing. What was streamed went to the tool as it came. */
  readonly body_kind: "json" | "text" | "base64" | "none" | "withheld" | "streamed";
  readonly provider_request_id: string | null;
}

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
