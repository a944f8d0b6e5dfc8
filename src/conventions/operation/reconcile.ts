import type { JsonObject } from "../../kernel/json.ts";
import type { ReconcileMethod } from "./state.ts";

/** What a read about an uncertain request came back with. */
export interface ReconcileFacts {
  /** How the request was looked up. */
  readonly method: ReconcileMethod;
  /** Null when no whole answer came. */
  readonly status: number | null;
  /** The job that the answer names; null for work without a job. */
  readonly jobId: string | null;
  readonly isJob: boolean;
  /** The read shows the state that was asked for. */
  readonly showsExpected: boolean;
  /** The time within which a request that was on its way could still arrive is over. */
  readonly deadlinePassed: boolean;
}

export type ReconcileDecision =
  | { readonly kind: "job_named"; readonly jobId: string }
  | { readonly kind: "effect_shown" }
  | { readonly kind: "proven_absent"; readonly proof: string }
  | { readonly kind: "inconclusive"; readonly why: string };

/**
 * What such a read proves. That nothing is found proves absence only where it was looked for under the name that the
 * request itself carried, and only once a request still on its way can no longer arrive. A different state proves nothing:
 * somebody may have changed it since.
 */
export function decideReconciliation(facts: ReconcileFacts): ReconcileDecision {
  const { status, method } = facts;
  if (status === null) return { kind: "inconclusive", why: "no_answer" };
  // Under its own token the provider answers with the original result, so that a receipt is the proof.
  if (method === "token_retry" && !facts.isJob) {
    if (status === 202 || status < 200 || status >= 300) return { kind: "inconclusive", why: `status_${status}` };
    return { kind: "effect_shown" };
  }
  if (status >= 200 && status < 300) {
    if (facts.isJob) {
      return facts.jobId === null
        ? { kind: "inconclusive", why: "no_job_named" }
        : { kind: "job_named", jobId: facts.jobId };
    }
    return facts.showsExpected ? { kind: "effect_shown" } : { kind: "inconclusive", why: "another_state" };
  }
  if (status === 404 || status === 410) {
    if (method !== "status_by_client_id") return { kind: "inconclusive", why: `status_${status}` };
    if (!facts.deadlinePassed) return { kind: "inconclusive", why: "not_found_yet" };
    return { kind: "proven_absent", proof: `status_${status}_after_create_deadline` };
  }
  return { kind: "inconclusive", why: `status_${status}` };
}

/**
 * What the provider could know the request by: only names that went out with it, since a lookup under any other finds
 * nothing and proves nothing. The call's own arguments come first.
 */
export function knownOf(request: {
  readonly token: string | null;
  readonly correlationId: string;
  /** The provider was sent the correlation id. */
  readonly correlated: boolean;
  readonly input: JsonObject;
}): JsonObject {
  const { token, correlationId, correlated, input } = request;
  const client = correlated ? correlationId : token;
  return {
    ...(correlated ? { correlation_id: correlationId, reference: correlationId } : {}),
    ...(client === null ? {} : { client_operation_id: client }),
    ...(token === null ? {} : { idempotency_key: token, idempotency_token: token }),
    ...input,
  };
}

const CLIENT_NAMES: ReadonlySet<string> = new Set([
  "operation_id",
  "client_operation_id",
  "idempotency_key",
  "idempotency_token",
  "correlation_id",
  "reference",
]);

/** By a name that only this request carried, or by what it was about. */
export function methodOf(inputs: readonly string[]): ReconcileMethod {
  return inputs.some((name) => CLIENT_NAMES.has(name)) ? "status_by_client_id" : "list_by_reference";
}
