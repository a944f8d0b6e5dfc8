import { type Digest, digestJson } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { Send } from "../action/send.ts";
import type { LimitsRecord } from "../budget/record.ts";
import type { Assumption, EffectGroup, ReadRevision, Validation } from "../plan/record.ts";
import type { ScopeRecord } from "../scope/scope.ts";
import type { TicketNeed } from "../ticket/need.ts";

/**
 * What a person sees and signs. We write every word of it from the canonical command and the evidence; what the agent
 * wrote appears only as a claim. The signature covers the digest of this exact object, so that what was shown is what is sent.
 */
export type Card = {
  readonly format: "gw.card/v1";
  readonly approval_id: string;
  readonly asks: CardAsks;
  readonly created_at: string;
  readonly expires_at: string;
  /** The first line: who vouches for the image of the calling process. */
  readonly authority: string;
  /** What this gateway can and cannot keep from a program of the same user. */
  readonly mode: "guard-rail" | "dedicated";
  readonly caller: JsonObject;
  readonly context: JsonObject;
  readonly run: CardRun;
  /** Only in a session that stands: who let this very caller in, so that the card need not tell all of it again. */
  readonly session?: CardSession;
  readonly scope: ScopeRecord | null;
  readonly call: CardCall | null;
  /** Only where the call carries out a plan: what the provider said it would change. */
  readonly plan?: CardPlan;
  /** Only where the action needs one: the signed work context that the call rests on. */
  readonly ticket?: CardTicket;
  /** Only where the action needs a ticket and the run has none: what whoever approves assigns, and nothing beside it. */
  readonly ticket_needed?: TicketNeed;
  /** Only where policy demands more of a yes than one operator's key. */
  readonly decide?: CardDemand;
  /** What else a person should know before signing, most important first. */
  readonly notes: readonly string[];
  readonly if_unanswered: string;
};

/** One card serves both modes when both apply: `session_and_call`. */
export type CardAsks = "session" | "call" | "session_and_call" | "redirect" | "access" | "custody";

export type CardDemand = {
  readonly passkey: boolean;
  readonly approvers: 1 | 2;
  /** Where passkeys decide, as policy names it. */
  readonly where: readonly string[];
};

export type CardRun = {
  readonly run_id: string;
  /** The agent's own words. */
  readonly purpose_claimed: string;
  /** The command that a wrapper says it will start. */
  readonly command_claimed?: readonly string[];
  readonly budget: LimitsRecord;
  /** What is gone of it already, where something can be. */
  readonly used?: { readonly attempts: number; readonly side_effects: number; readonly spend_cents: number };
  readonly deadline_at: string;
};

export type CardSession = {
  readonly session_id: string;
  readonly approved_by: string;
  readonly approved_at: string;
};

export type CardCall = {
  readonly call_id: string;
  readonly action: string;
  readonly effect: string;
  readonly channel: Send["kind"];
  readonly method: string;
  /** The whole URL, or host, user and host-key fingerprint for SSH. */
  readonly target: string;
  readonly credential: string | null;
  /** The exact arguments, never shortened; a field that the pack calls opaque stands as size and digest. */
  readonly arguments: JsonObject;
  /** Arguments whose name on the wire is another, or that go out as a header field, and what that is. */
  readonly sent_as?: JsonObject;
  readonly request_digest: string;
  readonly maximum_cents: number | null;
  /** Why this very call needs a person. */
  readonly because: readonly string[];
};

/** A stored preview, as it was answered and read. All of it is the provider's word, and is shown as such. */
export type CardPlan = {
  readonly plan_id: string;
  readonly preview_action: string;
  /** What the preview was asked for. */
  readonly arguments: JsonObject;
  readonly request_digest: string;
  readonly previewed_at: string;
  readonly expires_at: string;
  readonly validation: readonly Validation[];
  readonly read_revisions: readonly ReadRevision[];
  readonly effects: readonly EffectGroup[];
  readonly assumptions: readonly Assumption[];
};

export type CardTicket = {
  readonly system: string;
  readonly reference: string;
  readonly observed_state: string;
  readonly issued_by: string;
  readonly issued_by_kind: "operator" | "issuer";
  readonly issued_at: string;
  readonly expires_at: string;
  readonly scope_digest: string;
  readonly allowed_operations: readonly string[];
  readonly allowed_targets: readonly string[];
  readonly emergency: { readonly reason: string; readonly normal_ticket_opened_at: string | null } | null;
  readonly batch: { readonly change_execution_id: string; readonly manifest_digest: string } | null;
};

export function digestCard(card: Card): Digest {
  return digestJson(card);
}
