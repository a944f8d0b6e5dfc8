import type { Digest } from "../../../src/kernel/canonical-json.ts";
import type { Code } from "../../../src/kernel/codes.ts";
import { Denied, Fault } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import type { FileSink } from "./multipart/part.ts";
import type { AcceptedRequest } from "./pipeline.ts";
import { followNames } from "./pointer.ts";
import type { Command, RecordedMember, Route } from "./route.ts";
import type { SignatureRecord } from "./signed.ts";

/** Everything that the audit keeps of a request, as one value. Nothing raw is in it. */
export interface RequestRecord {
  readonly principal: string;
  readonly endpoint: string;
  readonly media_type: string | null;
  /** Null when the request was refused before it became a command. */
  readonly request_digest: Digest | null;
  readonly signature: SignatureRecord | null;
  /** The members that the route calls safe, by JSON Pointer. */
  readonly fields: JsonObject;
  readonly decision: RequestDecision;
  readonly result: RequestResult;
}

export type RequestDecision =
  | { readonly kind: "allowed"; readonly by: string }
  | { readonly kind: "denied"; readonly code: Code }
  | { readonly kind: "refused"; readonly code: Code };

export type RequestResult =
  | { readonly kind: "not_attempted" }
  | { readonly kind: "done"; readonly status: number }
  | { readonly kind: "failed"; readonly code: Code };

/** Who is behind a connection: a name, or an object that has one and carries what else the steps must know. */
export type Principal = string | { readonly name: string };

export function nameOf(principal: Principal): string {
  return typeof principal === "string" ? principal : principal.name;
}

/** The last three steps: authorization and execution over the accepted command, and the record of both. */
export interface Steps<
  C extends { readonly params: unknown },
  Answer extends { readonly status: number },
  Who extends Principal = string,
> {
  /** How large a body may be from this sender, asked before a byte of it is read; as large as the route says where absent. */
  mostBytes?(params: C["params"], principal: Who): number;
  /** A body that grows beyond `aboveBytes` asks once for room, and is read on when it has some; when it is there, it is told how large it is. */
  readonly room?: {
    readonly aboveBytes: number;
    take(principal: Who): void | Promise<void>;
    fit(principal: Who, bytes: number): void;
  };
  /** Where the files of this sender's request go while they arrive; into memory where absent. */
  openFile?(principal: Who): FileSink;
  /** Names the rule that allowed it, or throws Denied. What names none allows nothing. */
  authorize(request: AcceptedRequest<C>, principal: Who): string | Promise<string>;
  /** `known` is what the record will say of the request, whatever becomes of it. */
  execute(request: AcceptedRequest<C>, principal: Who, known: KnownOfRequest): Answer | Promise<Answer>;
}

export type KnownOfRequest = Omit<RequestRecord, "decision" | "result">;

export interface Carried<Answer> {
  readonly record: RequestRecord;
  readonly outcome:
    | { readonly kind: "answer"; readonly answer: Answer }
    | { readonly kind: "trouble"; readonly error: unknown };
}

export async function carryOut<
  C extends Command<unknown, unknown, unknown>,
  Answer extends { readonly status: number },
  Who extends Principal,
>(
  route: Route<C>,
  principal: Who,
  request: AcceptedRequest<C>,
  steps: Steps<C, Answer, Who>,
): Promise<Carried<Answer>> {
  const known: KnownOfRequest = {
    principal: nameOf(principal),
    endpoint: route.endpoint,
    media_type: request.mediaType,
    request_digest: request.digest,
    signature: request.signature,
    fields: pickFields(route.recorded, request.command),
  };
  let by: string;
  try {
    const authorizing = steps.authorize(request, principal);
    // Whatever is no name yet is waited for: a promise of another realm or library is none of ours.
    by = typeof authorizing === "string" ? authorizing : await authorizing;
    if (typeof by !== "string" || by === "") throw new Fault(`no rule is named that allows ${route.endpoint}`);
  } catch (error) {
    const decision: RequestDecision = { kind: "denied", code: codeOf(error) };
    return { record: { ...known, decision, result: { kind: "not_attempted" } }, outcome: { kind: "trouble", error } };
  }
  const decision: RequestDecision = { kind: "allowed", by };
  try {
    const answer = await steps.execute(request, principal, known);
    const result: RequestResult = { kind: "done", status: answer.status };
    return { record: { ...known, decision, result }, outcome: { kind: "answer", answer } };
  } catch (error) {
    const result: RequestResult = { kind: "failed", code: codeOf(error) };
    return { record: { ...known, decision, result }, outcome: { kind: "trouble", error } };
  }
}

/** The record of a request that never became a command. */
export function recordRefusal(endpoint: string, principal: Principal, denied: Denied): RequestRecord {
  return {
    ...{ principal: nameOf(principal), endpoint, media_type: null, request_digest: null, signature: null, fields: {} },
    ...{ decision: { kind: "refused", code: denied.code }, result: { kind: "not_attempted" } },
  };
}

function codeOf(error: unknown): Code {
  return error instanceof Denied ? error.code : "internal_fault";
}

function pickFields(members: readonly RecordedMember[], command: Command<unknown, unknown, unknown>): JsonObject {
  const fields: Record<string, JsonValue> = {};
  for (const { pointer, names } of members) {
    const value = followNames(command as never, names);
    if (value !== undefined) fields[pointer] = value;
  }
  return fields;
}
