import type { Asked, NewEvent } from "../../audit/event.ts";
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
  /** What is to be written of one that was answered, for whoever writes it with the end of its call; nothing where it was counted. */
  tellWithEnd(request: AnsweredRequest): ToldWithEnd;
}

export interface AnsweredRequest extends PlaneRequest {
  readonly outcome: Answered;
}

type Answered = Extract<PlaneRequest["outcome"], { readonly kind: "answered" }>;

/** A word about a request: in the record of an end, where it is short, or behind it. */
export interface ToldWithEnd {
  readonly asked?: Asked;
  readonly events: readonly NewEvent[];
}

export const UNTOLD: ToldWithEnd = { events: [] };

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

  /** Who pays for what is told of it, nobody where a person has said yes; undefined where it was counted. */
  function admit(request: PlaneRequest): string | null | undefined {
    const { plane, who, outcome } = request;
    const code = outcome.kind === "denied" ? outcome.denied.code : null;
    const recordedAs = outcome.kind === "denied" ? outcome.denied.circumstance.recordedAs : undefined;
    // The gateway has counted it among many already; once is enough.
    if (recordedAs === "counted") return undefined;
    const gate = outcome.kind === "denied" ? refusals : answers;
    const counted = { plane, principal: who, code };
    // What the gateway wrote on its own has passed one gate; held up at a second it would count twice.
    const payer = isApproved(core, request) ? null : who;
    if (recordedAs !== undefined || gate.pass(`${plane} ${who}`, `${plane} ${who} ${code}`, counted, payer))
      return payer;
    return undefined;
  }

  function charge(payer: string | null, told: readonly object[]): void {
    if (payer !== null) core.volume.charge(payer, bytesOf(told));
  }

  return {
    tellWithEnd(request) {
      const payer = admit(request);
      if (payer === undefined) return UNTOLD;
      const asked = askedOf(request, request.outcome);
      const told =
        (asked.fields?.length ?? 0) <= defaults.logInlineUnits
          ? { asked, events: [] }
          : { events: acceptedEvents(core, asked, request.outcome) };
      charge(payer, "asked" in told ? [asked] : told.events);
      return told;
    },
    async record(request) {
      const payer = admit(request);
      if (payer === undefined) return;
      const events = eventsOf(core, request);
      charge(payer, events);
      await core.ledger.record("request.told", events).catch(() => undefined);
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

/** What is the same of every request, but for what became of it. */
function commonOf({ plane, principal, operator, traceparent, endpoint, mediaType, correlationId }: PlaneRequest) {
  return {
    plane,
    principal,
    operator: operator ?? undefined,
    traceparent_claimed: traceparent ?? undefined,
    endpoint,
    media_type: mediaType,
    correlation_id: correlationId,
  };
}

function askedOf(request: PlaneRequest, { decision, status }: Answered): Asked {
  const fields = textOf(request.fields, ACCEPTED_UNITS);
  return {
    ...commonOf(request),
    request_digest: request.requestDigest ?? "",
    fields_digest: fields === null ? null : digestText(fields),
    decision,
    status,
    fields: fields ?? undefined,
  };
}

function acceptedEvents(
  core: Pick<RecordNeeds, "envelope">,
  { fields, ...accepted }: Asked,
  { runId, callId }: Answered,
): readonly NewEvent[] {
  return [
    ...fieldsKept(core, fields, accepted.fields_digest),
    {
      ...core.envelope("request_accepted"),
      run_id: runId ?? undefined,
      call_id: callId ?? undefined,
      ...accepted,
    },
  ];
}

function fieldsKept(
  core: Pick<RecordNeeds, "envelope">,
  fields: string | null | undefined,
  digest: string | null,
): readonly NewEvent[] {
  return fields == null || digest === null ? [] : contentEvents(core.envelope, "fields", fields, digest);
}

function eventsOf(core: Pick<RecordNeeds, "envelope">, request: PlaneRequest): readonly NewEvent[] {
  const { outcome } = request;
  if (outcome.kind === "answered") return acceptedEvents(core, askedOf(request, outcome), outcome);
  const fields = textOf(request.fields, REFUSED_UNITS);
  const digest = fields === null ? null : digestText(fields);
  const { code, message, circumstance } = outcome.denied;
  const body = request.body();
  const { runId, callId, recordedAs } = circumstance;
  return [
    ...fieldsKept(core, fields, digest),
    {
      ...core.envelope("request_refused"),
      run_id: runId,
      call_id: callId,
      parent_event_id: typeof recordedAs === "object" ? recordedAs.eventId : undefined,
      ...commonOf(request),
      code,
      reason: message,
      request_digest: request.requestDigest,
      fields_digest: digest,
      body_digest: body.digest,
      body_bytes: body.bytes,
    },
  ];
}
