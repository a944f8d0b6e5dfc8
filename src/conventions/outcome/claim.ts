import { canonicalJson, type Digest, digestJson } from "../../kernel/canonical-json.ts";
import type { JsonObject } from "../../kernel/json.ts";
import type { BoundAction, BoundHttp } from "../action/bind.ts";
import { digestBody } from "../action/spooled.ts";
import { isSettled, type OperationState } from "../operation/state.ts";

/**
 * A claim says: this very side effect may have happened, and nobody knows yet. It is named by what would happen (action,
 * target, canonical input, credential), never by how an agent spelled it, so that the same call is found again whoever
 * makes it. While one is open the same call is not sent.
 */
export type ClaimKey = Digest;

/** One call that holds a claim. `operation_id` once there is an operation that finds out. */
export type Holder = {
  readonly call_id: string;
  readonly run_id: string;
  readonly action: string;
  readonly started_by: string;
  readonly at: string;
  /** It is being sent right now: nobody can decide to repeat it yet. */
  readonly under_way: boolean;
  readonly operation_id: string | null;
  readonly attempt_id: string;
  /** The attempt as a start needs it, to find out about a call that was on its way. */
  readonly evidence: JsonObject;
};

/** Of the bound request, so that a constant spelled out, or 12 for "12" in a path, is the same claim. */
export function claimOf(bound: BoundAction, versionHeader: string | null): ClaimKey {
  switch (bound.kind) {
    case "ssh": {
      const { action, host, port, user, hostKey, operation, fields, credential } = bound;
      return digestJson({ action, host, port, user, host_key: hostKey, operation, fields, credential });
    }
    case "http":
      return httpClaim(bound, versionHeader);
  }
}

function httpClaim(bound: BoundHttp, versionHeader: string | null): ClaimKey {
  const ours = new Set(["accept", "content-type", versionHeader?.toLowerCase()]);
  const headers = Object.entries(bound.headers).filter(([name]) => !ours.has(name));
  return digestJson({
    action: bound.action,
    method: bound.method,
    url: bound.url,
    headers: Object.fromEntries(headers),
    body: bound.body === null ? null : digestBody(bound.body),
    credential: bound.credential,
  });
}

/** For what is asked for by a name of ours: a plan by what it was made from, a rollback by the deployment it undoes. */
export function claimOfIntent(bound: Pick<BoundAction, "action" | "credential">, intent: JsonObject): ClaimKey {
  const { action, credential } = bound;
  return digestJson({ action, credential, intent: canonicalJson(intent) });
}

/** Whether a holder still stands in the way. `state` is its operation's; null where that is gone, and so it had ended. */
export function isHolding(holder: Holder, state: OperationState | "unreadable" | null): boolean {
  if (holder.under_way || holder.operation_id === null || state === "unreadable") return true;
  return state !== null && !isSettled(state);
}

/** By which a person and an agent name it. */
export function nameOf({ operation_id, call_id }: Pick<Holder, "operation_id" | "call_id">): string {
  return operation_id ?? call_id;
}
