import type { KnownOfRequest, Principal } from "../../../packages/request/src/record.ts";
import type { Observers } from "../../../packages/request/src/serve.ts";
import { showArguments } from "../../conventions/action/keep.ts";
import type { Definition } from "../../gateway/outbound/outbound.ts";
import type { PlaneRequest, RequestRecorder } from "../../gateway/record/requests.ts";
import { isJsonObject, type JsonObject } from "../../kernel/json.ts";

/** Who is behind a request, as the log names them. */
export type Named = Pick<PlaneRequest, "who" | "principal" | "operator" | "traceparent">;

export const NOBODY: Named = { who: "nobody", principal: "nobody could be named", operator: null, traceparent: null };

/** Whoever is behind one request. Its word may go to the log together with the end of its call. */
export interface Tellable {
  told?: true;
}

/** A request as the log is told of it. */
export function describeRequest<Outcome extends PlaneRequest["outcome"]>(
  plane: PlaneRequest["plane"],
  named: Named,
  { endpoint, media_type, request_digest }: KnownOfRequest,
  rest: Pick<PlaneRequest, "fields" | "correlationId" | "body"> & { readonly outcome: Outcome },
): PlaneRequest & { readonly outcome: Outcome } {
  return { plane, ...named, endpoint, mediaType: media_type, requestDigest: request_digest, ...rest };
}

/** The observer of a plane: whatever changes something is written down, and whatever is refused. */
export function recordRequests<Who extends Principal>(
  plane: PlaneRequest["plane"],
  requests: RequestRecorder,
  nameOf: (principal: Who) => Named,
  safe: (fields: JsonObject) => JsonObject = (fields) => fields,
): Observers<Who>["onRecord"] {
  return (record, occasion) => {
    const { correlationId, principal, denied, answer } = occasion;
    // Of callbacks the gateway itself writes down what it took.
    if (denied === null && (plane === "callbacks" || record.endpoint.startsWith("GET "))) return;
    if (denied === null && principal !== null && (principal as Tellable).told === true) return;
    const outcome: PlaneRequest["outcome"] =
      denied === null
        ? {
            kind: "answered",
            decision: decisionOf(record.decision),
            status: answer?.status ?? 0,
            ...namesOf(answer?.body),
          }
        : { kind: "denied", denied };
    const named = principal === null ? NOBODY : nameOf(principal);
    const rest = { fields: safe(record.fields), body: occasion.body, correlationId, outcome };
    return requests.record(describeRequest(plane, named, record, rest));
  };
}

/** The arguments of a call as records keep them; of an action that there is not, none: nobody can say what is private. */
export function safeFields(fields: JsonObject, find: (action: string) => Definition | null): JsonObject {
  const { "/body/input": input, ...rest } = fields;
  if (input === undefined) return fields;
  const action = fields["/body/action"];
  const found = typeof action === "string" ? find(action) : null;
  if (found === null || !isJsonObject(input)) return rest;
  return { ...rest, "/body/input": showArguments(found.action, input) };
}

type Decision = Parameters<Observers["onRecord"]>[0]["decision"];

function decisionOf(decision: Decision): string {
  return decision.kind === "allowed" ? decision.by : decision.code;
}

/** The run and the call that an answer is about, as it names them itself. */
export function namesOf(answer: unknown): { readonly runId: string | null; readonly callId: string | null } {
  const { run_id, call_id } = (isJsonObject(answer as JsonObject) ? answer : {}) as JsonObject;
  return {
    runId: typeof run_id === "string" ? run_id : null,
    callId: typeof call_id === "string" ? call_id : null,
  };
}
