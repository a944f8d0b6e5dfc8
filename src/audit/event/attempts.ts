import { channel, chargeBasis, outcome } from "./call-parts.ts";
import { claim, content, group, nullable, open, optional, person } from "./field.ts";
import { acceptedRequest } from "./requests.ts";

/** What both records of an attempt say: whose it is, what it does, and how its budget stands. What is null is left out. */
const facts = {
  run_id: open.text,
  call_id: open.text,
  session_id: open.text,
  operation_id: optional(open.text),
  action: open.text,
  channel,
  authorization: open.text,
  version_selector: optional(open.text),
  normalized_operation: open.text,
  credential_label: optional(open.text),
  attempt: open.integer,
  destination_class: open.text,
  attempts_remaining: open.integer,
  reserved_spend_cents: open.integer,
  deadline_at: open.text,
  spend_remaining_cents: open.integer,
  maximum_cents: open.integer,
} as const;

/** `event_id` names the attempt. */
const begun = {
  ...facts,
  /** Where this attempt is the first to tell of its authorization. */
  authorized_by: optional(person.text),
  approval_id: optional(open.text),
  caller: claim.text,
  destination: claim.text,
  /** Only where it is another than the destination. */
  target_boundary: optional(claim.text),
  method: open.text,
  path: claim.text,
  /** Only where destination and path are not all of it. */
  url: optional(content.text),
  payload_sha256: optional(open.text),
  media_type: optional(open.text),
  traceparent_claimed: optional(claim.text),
  request_digest: open.text,
  /** Only where values of the request stand by size and digest alone. */
  kept_digest: optional(open.text),
} as const;

const ended = {
  ...facts,
  attempt_id: open.text,
  started_at: open.text,
  target_boundary: claim.text,
  /** Nothing tells what became of it. */
  unobserved: optional(open.flag),
  outcome,
  reason: optional(open.text),
  elapsed_ms: open.integer,
  remote_status: optional(open.integer),
  provider_request_id: optional(claim.text),
  transport_observation: open.text,
  response_digest: optional(open.text),
  streamed_bytes: optional(open.integer),
  recording_digest: optional(nullable(open.text)),
  settled_spend_cents: open.integer,
  charge_basis: chargeBasis,
  charged_cents: optional(open.integer),
  overage_cents: optional(open.integer),
} as const;

/**
 * An attempt as it is written: one record before the send and one when it ended, each fact once. Nobody but the reader
 * meets them: it hands on the events of the specification that each stands for (`read/expand.ts`).
 */
export const attemptRecords = {
  attempt_begun: begun,
  attempt_ended: ended,
  /** With the canonical request, where this attempt is the first of its call and that text is short. */
  call_begun: { ...begun, kept_text: content.text },
  /** With the word about the request to the gateway, where the end of the attempt is the answer to it. */
  call_ended: { ...ended, asked: group({ ...acceptedRequest, fields: optional(content.text) }) },
} as const;

/** The whole URL, where destination and path say it all. */
export function plainUrl(channel: "http" | "ssh", destination: string, path: string): string {
  switch (channel) {
    case "http":
      return `${destination}${path}`;
    case "ssh":
      return `ssh://${destination}${path}`;
  }
}
