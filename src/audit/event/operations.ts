import { evidence, links, request } from "./call-parts.ts";
import { claim, nullable, oneOf, open, optional, person } from "./field.ts";

/** What became of an operation afterwards: how it was reconciled, what a person said or asked of it, and each step that it took. */
export const operationEvents = {
  reconciled_success: {
    run_id: open.text,
    ...links,
    receipt: claim.text,
    source: claim.text,
    evidence: optional(evidence),
    request: optional(request),
  },
  reconciled_failure: {
    run_id: open.text,
    ...links,
    proof: claim.text,
    source: claim.text,
    evidence: optional(evidence),
    request: optional(request),
  },
  /** The provider knows the job: it was accepted. How it ends is read from it afterwards. */
  reconciled_accepted: {
    run_id: open.text,
    ...links,
    remote_job_id: claim.text,
    receipt: claim.text,
    source: claim.text,
    evidence: optional(evidence),
  },
  /** A person said what became of it, under their own signature over exactly this statement. */
  operation_settled: {
    run_id: open.text,
    ...links,
    happened: open.flag,
    reason: claim.text,
    although: nullable(claim.text),
    operator: person.text,
    statement: person.text,
    signature: open.text,
  },
  /** An operator asked this of it from another machine; the statement is as it was signed. */
  operation_asked: {
    run_id: open.text,
    ...links,
    errand: oneOf("cancel", "resume", "reconcile"),
    reason: claim.text,
    operator: person.text,
    statement: person.text,
    signature: open.text,
  },
  reconciliation_inconclusive: {
    run_id: open.text,
    ...links,
    reason: open.text,
    source: claim.text,
    request: optional(request),
  },
  operation_transition: {
    run_id: open.text,
    ...links,
    operation_id: open.text,
    at: open.text,
    actor: open.text,
    from: nullable(open.text),
    to: open.text,
    cause: claim.text,
    remote_job_id: nullable(claim.text),
  },
} as const;
