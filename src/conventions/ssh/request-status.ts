import { isJsonObject, type JsonValue } from "../../kernel/json.ts";

/** What a host's own record proves about a request whose end nobody here saw. */
export type RequestStatus =
  | { readonly kind: "succeeded" }
  /** It ended otherwise, or it never began and never will: the question itself burnt its identifier. */
  | { readonly kind: "failed"; readonly proof: string }
  | { readonly kind: "running" }
  /** It started and came to no end of its own, or its receiver did not live to see one: no later question will know more. */
  | { readonly kind: "interrupted" }
  /** It was said to have started, and nothing is known of it there any more. */
  | { readonly kind: "record_gone" }
  | { readonly kind: "unclear"; readonly why: string };

/** What an operation remembers of a receiver that said so. */
export const STARTED = "started";

/**
 * Reads the receiver's answer to `request_status`. An answer about another request proves nothing about ours, and no absence undoes
 * a start that the host told of before: its record was removed or put back.
 */
export function readRequestStatus(requestId: string, body: JsonValue, saidBefore: string | null): RequestStatus {
  if (!isJsonObject(body)) return { kind: "unclear", why: "not_a_status" };
  if (body["request_id"] !== requestId) return { kind: "unclear", why: "another_request" };
  switch (body["state"]) {
    case "finished":
      return readEnd(body["exit_status"], body["signal"], body["timed_out"]);
    case "absent":
      return saidBefore === STARTED ? { kind: "record_gone" } : { kind: "failed", proof: "absent_and_fenced" };
    case "running":
      return { kind: "running" };
    case "interrupted":
      return { kind: "interrupted" };
    default:
      return { kind: "unclear", why: "not_a_status" };
  }
}

/** What a signal or its time limit ended did not say itself how far it had come. */
function readEnd(...[exitStatus, signal, timedOut]: readonly (JsonValue | undefined)[]): RequestStatus {
  if (typeof exitStatus === "number" && timedOut === true) return { kind: "interrupted" };
  if (exitStatus === 0) return { kind: "succeeded" };
  if (typeof exitStatus === "number") return { kind: "failed", proof: `exit_${exitStatus}` };
  if (typeof signal === "string" && /^SIG[A-Z0-9]{1,12}$/.test(signal)) return { kind: "interrupted" };
  return { kind: "unclear", why: "not_a_status" };
}
