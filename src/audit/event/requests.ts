import { claim, nullable, oneOf, open, optional, person } from "./field.ts";

const plane = oneOf("agent", "mcp", "operator", "callbacks", "hub");

/** What is written of a request that was answered, but for the names of its call. */
export const acceptedRequest = {
  plane,
  principal: claim.text,
  operator: optional(person.text),
  /** The trace that an agent says the request belongs to; nothing is decided by it. */
  traceparent_claimed: optional(claim.text),
  endpoint: open.text,
  media_type: nullable(open.text),
  request_digest: open.text,
  /** The fields, as a content of the log. */
  fields_digest: nullable(open.text),
  decision: open.text,
  status: open.integer,
  correlation_id: open.text,
} as const;

/** What was asked on the planes of the gateway itself. */
export const requestEvents = {
  /**
   * A request that was answered on one of the planes, in the words of the specification: principal, endpoint, accepted
   * media type, digest, safe canonical fields, decision, result. Reads of the gateway's own state are not written down.
   */
  request_accepted: { run_id: optional(open.text), call_id: optional(open.text), ...acceptedRequest },
  /** A request that was answered with a problem; `parent_event_id` names the denial that the gateway wrote of it. */
  request_refused: {
    run_id: optional(open.text),
    call_id: optional(open.text),
    parent_event_id: optional(open.text),
    plane,
    principal: claim.text,
    operator: optional(person.text),
    traceparent_claimed: optional(claim.text),
    endpoint: open.text,
    code: open.text,
    reason: claim.text,
    media_type: nullable(open.text),
    /** Null where the bytes never became a command. */
    request_digest: nullable(open.text),
    fields_digest: nullable(open.text),
    /** Of the body as it came, as far as it was read before the refusal. */
    body_digest: nullable(open.text),
    body_bytes: open.integer,
    correlation_id: open.text,
  },
  requests_counted: {
    plane,
    principal: claim.text,
    count: open.integer,
    first_at: open.text,
    last_at: open.text,
  },
} as const;
