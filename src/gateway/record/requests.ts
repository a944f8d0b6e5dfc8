import type { NewEvent } from "../../audit/event.ts";
import { canonicalJson, digestText } from "../../kernel/canonical-json.ts";
import { defaults } from "../../kernel/defaults.ts";
import type { Denied } from "../../kernel/failure.ts";
import type { RunId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { contentEvents } from "./content.ts";
import { createFloodGate } from "./flood-gate.ts";
import type { RecordNeeds } from "./needs.ts";
import { bytesOf } from "./written.ts";

/** One request of one plane, when its reply is ready. */
export interface PlaneRequest {
  readonly plane: "agent" | "mcp" | "operator" | "callbacks" | "hub";
  /** Whose allowance it takes: a user, a peer, the operators together, whoever else reaches their socket. */
  readonly who: string;
  readonly principal: string;
  readonly operator: string | null;
  /** The trace that the caller says it belongs to. */
  readonly traceparent: string | null;
  readonly endpoint: string;
  readonly mediaType: string | null;
  readonly requestDigest: string | null;
  /** Safe canonical fields alone: what must not be kept has been taken out. */
  readonly fields: JsonObject;
  /** What came in for it. Only a refusal asks: a digest for every request that is answered would be thrown away. */
  body(): { readonly digest: string | null; readonly bytes: number };
  readonly correlationId: string;
  readonly outcome:
    | {
        readonly kind: "answered";
        readonly decision: string;
        readonly status: number;
        readonly runId: string | null;
        readonly callId: string | null;
      }
    | { readonly kind: "denied"; readonly denied: Denied };
}

/** Writes down what the planes take and refuse. It never throws: what was answered was, and a log that failed says so itself. */
export interface RequestRecorder {
  record(request: PlaneRequest): Promise<void>;
  /** What is to be written of a request, for whoever writes it with something else; nothing where it was counted. */
  tell(request: PlaneRequest): readonly NewEvent[];
}

type Counted = Pick<PlaneRequest, "plane" | "principal"> & { readonly code: Denied["code"] | null };

export function createRequestRecorder(core: RecordNeeds): RequestRecorder {
  const tellCounted = async (counted: readonly { what: Counted; count: number; firstAt: string; lastAt: string }[]) =>
    core.ledger.record(
      "requests.counted",
      counted.map(({ what: { plane, principal, code }, count, firstAt, lastAt }): NewEvent => {
        const times = { count, first_at: firstAt, last_at: lastAt };
        return code === null
          ? { ...core.envelope("requests_counted"), plane, principal, ...times }
          : { ...core.envelope("denials_counted"), code, caller: principal, ...times };
      }),
    );
  const ports = { ...core.ports, volume: core.volume, hasRoom: core.ledger.hasRoom };
  const others = (what: Counted): Counted => ({ ...what, principal: "others" });
  const refusals = createFloodGate<Counted>(
    ports,
    { burst: defaults.denialsBurst, perSecond: defaults.denialsPerSecond, others },
    tellCounted,
  );
  const answers = createFloodGate<Counted>(
    ports,
    { burst: defaults.requestsBurst, perSecond: defaults.requestsPerSecond, others },
    tellCounted,
  );

  function tell(request: PlaneRequest): readonly NewEvent[] {
    const { plane, who, outcome } = request;
    const code = outcome.kind === "denied" ? outcome.denied.code : null;
    const recordedAs = outcome.kind === "denied" ? outcome.denied.circumstance.recordedAs : undefined;
    // The gateway has counted it among many already; once is enough.
    if (recordedAs === "counted") return [];
    const gate = outcome.kind === "denied" ? refusals : answers;
    const counted = { plane, principal: who, code };
    // What the gateway wrote on its own has passed one gate; held up at a second it would count twice.
    const payer = isApproved(core, request) ? null : who;
    if (recordedAs === undefined && !gate.pass(`${plane} ${who}`, `${plane} ${who} ${code}`, counted, payer)) return [];
    const events = eventsOf(core, request);
    if (payer !== null) core.volume.charge(payer, bytesOf(events));
    return events;
  }

  return {
    tell,
    async record(request) {
      const events = tell(request);
      if (events.length > 0) await core.ledger.record("request.told", events).catch(() => undefined);
    },
  };
}

/** Whether a person has said yes: it is an operator's own, or a call that was taken in a run with a session. */
function isApproved({ book }: Pick<RecordNeeds, "book">, { operator, outcome }: PlaneRequest): boolean {
  if (operator !== null) return true;
  if (outcome.kind === "denied" || outcome.runId === null || outcome.callId === null) return false;
  return (book.run(outcome.runId as RunId)?.sessions.size ?? 0) > 0;
}

/** Fields longer than this stand by the request's digest alone. What is refused costs whoever sends it nothing. */
const ACCEPTED_UNITS = 524_288;
const REFUSED_UNITS = 4_096;

function textOf(fields: JsonObject, units: number): string | null {
  if (Object.keys(fields).length === 0) return null;
  const text = canonicalJson(fields);
  return text.length > units ? null : text;
}

function eventsOf(core: Pick<RecordNeeds, "envelope">, request: PlaneRequest): readonly NewEvent[] {
  const { plane, principal, operator, traceparent, endpoint, requestDigest, correlationId, outcome } = request;
  const fields = textOf(request.fields, outcome.kind === "denied" ? REFUSED_UNITS : ACCEPTED_UNITS);
  const digest = fields === null ? null : digestText(fields);
  const shared = {
    plane,
    principal,
    ...(operator === null ? {} : { operator }),
    ...(traceparent === null ? {} : { traceparent_claimed: traceparent }),
    endpoint,
    media_type: request.mediaType,
    fields_digest: digest,
    correlation_id: correlationId,
  };
  const kept = fields === null || digest === null ? [] : contentEvents(core.envelope, "fields", fields, digest);
  if (outcome.kind === "answered") {
    const { decision, status, runId, callId } = outcome;
    const names = { ...(runId === null ? {} : { run_id: runId }), ...(callId === null ? {} : { call_id: callId }) };
    const accepted = { request_digest: requestDigest ?? "", decision, status };
    return [...kept, { ...core.envelope("request_accepted"), ...names, ...shared, ...accepted }];
  }
  const { code, message, circumstance } = outcome.denied;
  const body = request.body();
  const { runId, callId, recordedAs } = circumstance;
  return [
    ...kept,
    {
      ...core.envelope("request_refused"),
      ...(runId === undefined ? {} : { run_id: runId }),
      ...(callId === undefined ? {} : { call_id: callId }),
      ...(typeof recordedAs === "object" ? { parent_event_id: recordedAs.eventId } : {}),
      ...shared,
      code,
      reason: message,
      request_digest: requestDigest,
      body_digest: body.digest,
      body_bytes: body.bytes,
    },
  ];
}
