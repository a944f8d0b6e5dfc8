import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import {
  anyObject,
  count,
  flag,
  list,
  object,
  orNull,
  text,
  textOrNull,
  wholeOrNull,
} from "../../../packages/request/src/shape.ts";
import { type Digest, digestJson } from "../../kernel/canonical-json.ts";
import { limitsSchema } from "../budget/record.ts";
import { previewShown } from "../plan/record.ts";
import { scopeSchema } from "../scope/scope.ts";

const asks = ["session", "call", "session_and_call", "redirect", "access", "custody"] as const;

/** One card serves both modes when both apply: `session_and_call`. */
export type CardAsks = (typeof asks)[number];

const demand = object({
  passkey: flag,
  approvers: { enum: [1, 2] },
  /** Where passkeys decide, as policy names it. */
  where: list(text),
});

const run = object(
  {
    run_id: text,
    /** The agent's own words. */
    purpose_claimed: text,
    budget: limitsSchema,
    deadline_at: text,
  },
  {
    /** The command that a wrapper says it will start. */
    command_claimed: list(text),
    /** What is gone of it already, where something can be. */
    used: object({ attempts: count, side_effects: count, spend_cents: count }),
  },
);

const session = object({ session_id: text, approved_by: text, approved_at: text });

const call = object(
  {
    call_id: text,
    action: text,
    effect: text,
    channel: { enum: ["http", "ssh"] },
    method: text,
    /** The whole URL, or host, user and host-key fingerprint for SSH. */
    target: text,
    credential: textOrNull,
    /** The exact arguments, never shortened; a field that the pack calls opaque stands as size and digest. */
    arguments: anyObject,
    request_digest: text,
    maximum_cents: wholeOrNull,
    /** Why this very call needs a person. */
    because: list(text),
  },
  {
    /** Arguments whose name on the wire is another, or that go out as a header field, and what that is. */
    sent_as: anyObject,
  },
);

/** A stored preview, as it was answered and read. All of it is the provider's word, and is shown as such. */
const plan = object({
  plan_id: text,
  preview_action: text,
  /** What the preview was asked for. */
  arguments: anyObject,
  request_digest: text,
  previewed_at: text,
  ...previewShown,
});

const ticket = object({
  system: text,
  reference: text,
  observed_state: text,
  issued_by: text,
  issued_by_kind: { enum: ["operator", "issuer"] },
  issued_at: text,
  expires_at: text,
  scope_digest: text,
  allowed_operations: list(text),
  allowed_targets: list(text),
  emergency: orNull(object({ reason: text, normal_ticket_opened_at: textOrNull })),
  batch: orNull(object({ change_execution_id: text, manifest_digest: text })),
});

/**
 * What a person sees and signs. We write every word of it from the canonical command and the evidence; what the agent
 * wrote appears only as a claim. The signature covers the digest of this exact object, so that what was shown is what is sent:
 * a card with a member that nobody here knows, and nobody would be shown, is not read as one.
 */
export const cardSchema = object(
  {
    format: { const: "gw.card/v1" },
    approval_id: text,
    asks: { enum: asks },
    created_at: text,
    expires_at: { type: "string", format: "date-time" },
    /** The first line: who vouches for the image of the calling process. */
    authority: text,
    /** What this gateway can and cannot keep from a program of the same user. */
    mode: { enum: ["guard-rail", "dedicated"] },
    /** Evidence, of which is shown what is known: empty where the gateway itself asks. */
    caller: anyObject,
    context: anyObject,
    run,
    scope: orNull(scopeSchema),
    call: orNull(call),
    /** What else a person should know before signing, most important first. */
    notes: list(text),
    if_unanswered: text,
  },
  {
    /** Only in a session that stands: who let this very caller in, so that the card need not tell all of it again. */
    session,
    /** Only where the call carries out a plan: what the provider said it would change. */
    plan,
    /** Only where the action needs one: the signed work context that the call rests on. */
    ticket,
    /** Only where the action needs a ticket and the run has none: what whoever approves assigns, and nothing beside it. */
    ticket_needed: object({ operation: text, target: text }),
    /** Only where policy demands more of a yes than one operator's key. */
    decide: demand,
  },
);

export type Card = FromSchema<typeof cardSchema>;
export type CardDemand = FromSchema<typeof demand>;
export type CardRun = FromSchema<typeof run>;
export type CardSession = FromSchema<typeof session>;
export type CardCall = FromSchema<typeof call>;
export type CardPlan = FromSchema<typeof plan>;
export type CardTicket = FromSchema<typeof ticket>;

export function digestCard(card: Card): Digest {
  return digestJson(card);
}
