import { links, outcome, request, sent } from "./call-parts.ts";
import { claim, groups, nullable, open, optional } from "./field.ts";

/** Previews keep to a path of their own: nothing that watches for completed changes reads it. */
export const previewEvents = {
  preview_requested: {
    run_id: open.text,
    ...links,
    action: open.text,
    traceparent_claimed: optional(claim.text),
    ...sent,
    request_digest: open.text,
    request,
  },
  preview_finished: {
    run_id: open.text,
    ...links,
    plan_id: nullable(open.text),
    executable: nullable(open.flag),
    outcome,
    request_digest: open.text,
    effects_digest: optional(nullable(open.text)),
    read_revisions: optional(groups({ resource: claim.text, revision: claim.text })),
    expires_at: optional(nullable(open.text)),
    request,
  },
  plan_rejected: { run_id: open.text, ...links, plan_id: open.text, code: open.text, changed: optional(claim.texts) },
  plan_executed: { run_id: open.text, ...links, plan_id: open.text, request_digest: open.text },
} as const;
