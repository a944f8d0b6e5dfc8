import { callbackEvents } from "./callbacks.ts";
import { claim, groups, nullable, oneOf, open, optional, person } from "./field.ts";

/** Where a host was tried, and with which key; the same on both sides of a check. */
const sshCheck = {
  check_id: open.text,
  destination: claim.text,
  host_key_fingerprint: open.text,
  credential_label: open.text,
  operator: person.text,
  operator_key_id: open.text,
} as const;

/** Events of the gateway itself: who runs it, what it trusts, what it holds. */
export const gatewayEvents = {
  gateway_started: {
    version: open.text,
    /** Written `guard_rail` once. */
    mode: oneOf("guard-rail", "dedicated", "guard_rail"),
    locked: open.flag,
    boot_id: optional(open.text),
    platform: optional(open.text),
    policy_digest: optional(nullable(open.text)),
    vault_generation: optional(open.integer),
  },
  gateway_stopped: { reason: open.text },
  gateway_resumed: { operator: person.text, operator_key_id: open.text, cause: open.text },
  gateway_locked: { operator: optional(nullable(person.text)), reason: open.text },
  gateway_unlocked: {
    operator: optional(nullable(person.text)),
    operator_key_id: optional(nullable(open.text)),
    method: oneOf("passphrase", "key_file", "hub"),
    vault_generation: open.integer,
  },
  unlock_failed: { method: open.text, count: open.integer, reason: optional(open.text) },
  operator_added: { operator: person.text, operator_key_id: open.text, by: optional(person.text) },
  operator_removed: { operator: person.text, operator_key_id: open.text, by: optional(person.text) },
  operator_connected: { operator: person.text, operator_key_id: open.text },
  operator_refused: { code: open.text, operator: optional(nullable(person.text)) },
  policy_changed: {
    policy_digest: open.text,
    previous_digest: nullable(open.text),
    generation: optional(open.integer),
    signed_by: person.text,
    operator_key_id: open.text,
    changes: claim.texts,
  },
  policy_refused: { code: open.text, policy_digest: nullable(open.text) },
  pack_trusted: { pack: open.text, pack_digest: open.text, by: person.text },
  pack_removed: { pack: open.text, pack_digest: optional(open.text), by: person.text },
  caller_enrolled: { authority: claim.text, image_digest: open.text, by: person.text },
  caller_removed: { authority: claim.text, image_digest: open.text, by: person.text },
  vault_changed: {
    vault_generation: open.integer,
    vault_hash: open.text,
    change: oneOf("added", "rotated", "removed", "disabled", "enabled", "marked", "bound", "passphrase", "resealed"),
    credential_label: optional(nullable(open.text)),
    /** Where it may go from here on, where that changed. */
    bound_to: optional(open.texts),
    operator: optional(person.text),
    by: optional(nullable(person.text)),
  },
  vault_refused: { code: open.text, vault_generation: optional(open.integer), credential_label: optional(open.text) },
  /** An operator put an earlier state of the home in force, on purpose. */
  home_restored: {
    line: open.text,
    from_line: open.text,
    operator: person.text,
    operator_key_id: open.text,
    vault_generation: open.integer,
    policy_version: open.integer,
    restored_generation: open.integer,
    restored_policy_version: open.integer,
    backup_digest: nullable(open.text),
  },
  /** Segments were moved away, and an operator signed for where the log begins now. */
  log_archived: {
    operator: person.text,
    operator_key_id: open.text,
    last_segment: open.integer,
    next_frame: open.integer,
    cut_digest: open.text,
  },
  recipients_changed: { recipient_key_ids: open.texts, by: optional(person.text) },
  recovery_finished: { unfinished: open.integer, unknown: open.integer, resumed: open.integer },
  /** What another gateway of the hub had under way is looked after here from now on; and there, that it no longer is. */
  operations_adopted: {
    gateway: open.text,
    term: open.integer,
    operations: open.integer,
    deployments: optional(open.integer),
    minted: optional(open.integer),
    operator: nullable(person.text),
  },
  operations_released: { gateway: open.text, operations: open.integer, deployments: optional(open.integer) },
  state_tampered: { table: open.text, row: optional(open.text), run_id: optional(open.text) },
  /** Written before the first connection: from here on the key may be used, once a probe. */
  ssh_check_started: sshCheck,
  ssh_check_finished: {
    ...sshCheck,
    results: groups({ probe: open.text, verdict: oneOf("refused", "permitted", "unclear"), detail: claim.text }),
  },
  /** One reviewer's verdict about one difference; the signature is theirs, over the whole statement. */
  upgrade_decided: {
    api: claim.text,
    difference: open.text,
    decision: oneOf("accepted", "rejected", "narrowed"),
    reason: claim.text,
    narrowing: nullable(claim.text),
    by: person.text,
    operator_key_id: open.text,
    decided_at: open.text,
    signature: open.text,
  },
  upgrade_probe_started: {
    run_id: open.text,
    api: claim.text,
    versions: claim.texts,
    credential_labels: open.texts,
    requests: open.integer,
    side_effects: open.integer,
    operator: person.text,
    operator_key_id: open.text,
  },
  ...callbackEvents,
  /** A webhook is told that a card waits: written before anything leaves. */
  webhook_sending: {
    webhook: open.text,
    message_id: open.text,
    approval_id: open.text,
    attempt: open.integer,
    body_digest: open.text,
  },
  webhook_ended: {
    webhook: open.text,
    message_id: open.text,
    approval_id: open.text,
    attempt: open.integer,
    result: oneOf("delivered", "refused", "unreachable"),
    /** The status, or why there is none. */
    detail: nullable(open.text),
  },
  upgrade_probe_finished: {
    run_id: open.text,
    requests: open.integer,
    side_effects: open.integer,
    /** Of what the operator signed about it; null where it ended without a result. */
    result_digest: optional(nullable(open.text)),
  },
} as const;
