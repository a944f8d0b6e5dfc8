import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import {
  anyValue,
  count,
  flag,
  list,
  object,
  orNull,
  text,
  textOrNull,
  whole,
  wholeOrNull,
} from "../../../packages/request/src/shape.ts";
import { cardSchema } from "../../conventions/approval/card.ts";
import { approvalStates } from "../../conventions/approval/state.ts";
import { limitsSchema } from "../../conventions/budget/record.ts";
import { callerSchema } from "../../conventions/caller/evidence.ts";
import { boardSchema, detailSchema } from "../../conventions/operation/summary.ts";
import { scopeSchema } from "../../conventions/scope/scope.ts";
import { probes } from "../../conventions/ssh/probe.ts";
import { contextSchema } from "../../conventions/ticket/context.ts";

/**
 * What the routes of this plane answer. The routes publish these and their handlers are held to them by the compiler; the client
 * of an operator, which signs, reads by them and takes nothing else.
 */
const bounded = (maxLength: number) => ({ type: "string", minLength: 1, maxLength }) as const;
const hex = { type: "string", pattern: "^([0-9a-f]{2}){0,64}$", maxLength: 128 } as const;

export const challengeAnswer = object({ challenge: bounded(200), vault_id: bounded(200) });
export const tokenAnswer = object({ token: bounded(4_096) });
export const proofAnswer = object({ proof: { type: ["string", "null"], maxLength: 4_096 } });
export const hostKeysAnswer = object({ identity_key: bounded(200), lending_key: bounded(200) });

export const adoptionAnswer = object({ operations: count, deployments: count, minted: count });
export const waitingKeyAnswer = object({ signing_key: bounded(200), reading_key: bounded(200) });
/**
 * The one answer that a gateway of another version may say more or less in: it is what tells that it is of another. Required is what
 * a client decides by.
 */
export const statusAnswer = {
  ...object(
    {
      version: bounded(200),
      uid: whole,
      mode: text,
      locked: flag,
      stopped: textOrNull,
      trouble: orNull(object({ code: text, message: text })),
      files: text,
      files_refused: textOrNull,
      vault_id: text,
      vault_generation: count,
      policy_version: wholeOrNull,
      log: object({ log_id: text, segment: count, frame: count, link: bounded(200) }),
    },
    {
      pid: whole,
      home: text,
      open_folder: anyValue,
      disk_low: flag,
      stopped_code: textOrNull,
      lowered: list(text),
      key_file: anyValue,
      packs: list(text),
      pack_troubles: list(object({ file: text, why: text })),
      callbacks: anyValue,
      hub: anyValue,
      webhooks: anyValue,
      approvals_pending: count,
      sessions_live: count,
      answers_waiting: count,
    },
  ),
  additionalProperties: true,
} as const;

export const attestedAnswer = object({ segment: count, frame: count, link: hex });
export const offerAnswer = object({
  log_id: hex,
  open_frame: count,
  open_link: hex,
  head_frame: count,
  head_link: hex,
  before_frame: count,
  before_link: hex,
  unclean: flag,
});

const bound = { action: text, input: text } as const;
const narrowing = object(
  {
    actions: { type: ["array", "null"], items: text },
    request_bytes: wholeOrNull,
    budget: orNull(limitsSchema),
  },
  {
    where: list({
      anyOf: [
        object({ ...bound, kind: { const: "one_of" }, values: list({ type: ["string", "integer", "boolean"] }) }),
        object({ ...bound, kind: { const: "prefix" }, prefix: text }),
        object({ ...bound, kind: { const: "at_most" }, maximum: count }),
      ],
    }),
  },
);

const approval = {
  approval_id: text,
  state: { enum: approvalStates },
  run_id: text,
  call_id: textOrNull,
  mode: text,
  action: textOrNull,
  created_at: textOrNull,
  expires_at: textOrNull,
  expires_in_ms: count,
  decided_by: textOrNull,
  reason: textOrNull,
  /** Who said yes already, where two people have to. */
  given: list(object({ operator: text, decided_at: text, narrow: orNull(narrowing) })),
} as const;
/** While it waits in line nobody has seen it, and it has no card. */
export const approvalAnswer = object({ ...approval, card_digest: textOrNull, card: orNull(cardSchema) });
export const shownApproval = object({ ...approval, card_digest: text, card: cardSchema });
export const approvalsAnswer = list(shownApproval);

const sessionAnswer = object({
  session_id: text,
  run_id: text,
  state: text,
  caller: callerSchema,
  scope_granted: scopeSchema,
  budget_granted: orNull(limitsSchema),
  budget_used: orNull(object({ attempts: count, side_effects: count, spend_cents: whole })),
  deadline_at: textOrNull,
  purpose: textOrNull,
  /** Where it holds whatever it starts: what it said that it would start. */
  command: { type: ["array", "null"], items: text },
  parents: list(whole),
  approval_id: textOrNull,
  approved_by: text,
  approved_at: text,
  ended_at: textOrNull,
  end_reason: textOrNull,
});
export const sessionsAnswer = list(sessionAnswer);

export const operationAnswer = detailSchema;
export const operationsAnswer = list(detailSchema);

/** A run and the work context attached to it. */
export const ticketAnswer = object({
  run_id: text,
  state: text,
  deadline_at: text,
  ticket: orNull({
    ...contextSchema,
    properties: {
      ...contextSchema.properties,
      issued_by_kind: text,
      scope_digest: text,
      observed_at: text,
      /** The code that a call under it is denied with by now, and in words; null while it is in force. */
      lapsed: orNull(object({ code: text, message: text })),
    },
    required: [...contextSchema.required, "issued_by_kind", "scope_digest", "observed_at", "lapsed"],
  }),
});

export const tokenFactsAnswer = object({
  obtained_at: text,
  expires_at: text,
  scopes: list(text),
  missing: list(text),
});
/** When each credential was last used since the unlock, and the token that it was last exchanged for. */
export const usesAnswer = list(object({ label: text, last_used_at: textOrNull, token: orNull(tokenFactsAnswer) }));
export const revokedAnswer = object({ revoked: flag });
export const suspendedAnswer = object({ suspended: list(bounded(200)) });

export const hostCheckAnswer = list(
  object({ probe: { enum: probes }, verdict: { enum: ["refused", "permitted", "unclear"] }, detail: text }),
);
export const probeAnswer = object({ run_id: bounded(200) });
export const exchangeAnswer = {
  anyOf: [
    object({
      kind: { const: "answered" },
      status: whole,
      headers: { type: "object", additionalProperties: text },
      /** Base64. */
      body: text,
    }),
    object({ kind: { enum: ["unanswered", "not_sent"] }, reason: text }),
  ],
} as const;

/** The signed files as they lie on the disk; whoever takes them checks them as files. */
export const homeAnswer = object({ vault: text, policy: text, packs: list(object({ pack: text, bytes: text })) });
export const logFilesAnswer = list(object({ name: text, size: count }));
export const logBytesAnswer = object({ bytes: text });

/** What whoever watches is told. */
export const newsAnswers = { approval: approvalAnswer, operations: boardSchema } as const;

export type Status = FromSchema<typeof statusAnswer>;
export type Attested = FromSchema<typeof attestedAnswer>;
export type ApprovalRecord = FromSchema<typeof approvalAnswer>;
export type ApprovalView = FromSchema<typeof shownApproval> & {
  /** Which gateway asks, where the card came by way of a hub. */
  readonly gateway?: string;
};
export type SessionRecord = FromSchema<typeof sessionAnswer> & {
  /** Whose it is, where it is shown by way of a hub. */
  readonly gateway?: string;
};
export type TicketView = FromSchema<typeof ticketAnswer>;
export type TokenView = FromSchema<typeof tokenFactsAnswer>;
export type CredentialUse = FromSchema<typeof usesAnswer>[number];
