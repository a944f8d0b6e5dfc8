import { type Code, codes, statusOf } from "./codes.ts";
import type { Denied } from "./failure.ts";

/** RFC 9457 with our members: the one error envelope of every plane and of the reference provider. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: Code;
  readonly message: string;
  readonly errors: readonly { readonly code: Code; readonly path: string; readonly message: string }[];
  readonly retry_allowed: boolean;
  readonly correlation_id: string;
  /** The run it was refused in; null where it belongs to none, or to none of this caller's. */
  readonly run_id: string | null;
}

export const PROBLEM_MEDIA_TYPE = "application/problem+json";

export function problemOf(denied: Denied, correlationId: string): Problem {
  const entry = codes[denied.code];
  return {
    ...denied.extra,
    type: `urn:gw:error:${denied.code}`,
    title: entry.means,
    status: statusOf(denied.code),
    detail: denied.message,
    code: denied.code,
    message: denied.message,
    errors: denied.errors,
    retry_allowed: denied.retryAllowed,
    correlation_id: correlationId,
    run_id: denied.circumstance.runId ?? null,
  };
}
