/** What both skins share: one exchange from intake to reply, with its record written before the reply goes out. */
import { codes } from "../../kernel/codes.ts";
import { Denied } from "../../kernel/failure.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { PROBLEM_MEDIA_TYPE, problemOf } from "../../kernel/problem.ts";
import type { RequestHead } from "./head.ts";
import type { OpenFile } from "./multipart/part.ts";
import { beginRequest, type Intake } from "./pipeline.ts";
import { carryOut, type Principal, type RequestRecord, recordRefusal, type Steps } from "./record.ts";
import type { Command, Route } from "./route.ts";

export interface Answer {
  readonly status: number;
  /** Absent: the reply has no content. */
  readonly body?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A route with what it does. `bindRoute` hides the command's type, which only the route and its own steps share. */
export interface BoundRoute<Who extends Principal = string> {
  readonly route: Route<never>;
  begin(head: RequestHead, openFile?: OpenFile): Exchange<Who>;
}

export interface Exchange<Who extends Principal = string> {
  readonly intake: Pick<Intake<unknown>, "push" | "abort">;
  /** Called when the whole body has been pushed. */
  conclude(principal: Who, rawTrailers: readonly string[]): Promise<Concluded>;
}

export interface Concluded {
  readonly record: RequestRecord;
  readonly reply: Answer | { readonly error: unknown };
}

export function bindRoute<C extends Command<unknown, unknown, unknown>, Who extends Principal = string>(
  route: Route<C>,
  steps: Steps<C, Answer, Who>,
): BoundRoute<Who> {
  return {
    // Only the parts that do not mention the command's type are read through this.
    route: route as unknown as Route<never>,
    begin(head, openFile) {
      const intake = beginRequest(route, head, openFile === undefined ? {} : { openFile });
      return {
        intake,
        async conclude(principal, rawTrailers) {
          const accepted = await intake.finish(rawTrailers);
          const { record, outcome } = await carryOut(route, principal, accepted, steps);
          if (record.decision.kind !== "allowed") intake.abort();
          return { record, reply: outcome.kind === "answer" ? outcome.answer : { error: outcome.error } };
        },
      };
    },
  };
}

export interface Observers {
  /** Awaited before the reply goes out; when it fails, so does the request. */
  onRecord(record: RequestRecord): void | Promise<void>;
  /** Our own mistakes, which the caller only sees as `internal_fault`. */
  onFault(error: unknown, correlationId: string): void;
}

export async function conclude(
  bound: { readonly route: { readonly endpoint: string } },
  principal: Principal,
  correlationId: string,
  observers: Observers,
  work: () => Promise<Concluded>,
): Promise<Reply> {
  let concluded: Concluded;
  try {
    concluded = await work();
  } catch (error) {
    const denied = asDenied(error, correlationId, observers);
    await observers.onRecord(recordRefusal(bound.route.endpoint, principal, denied));
    return problemReply(denied, correlationId);
  }
  await observers.onRecord(concluded.record);
  if ("error" in concluded.reply) {
    return problemReply(asDenied(concluded.reply.error, correlationId, observers), correlationId);
  }
  const { status, body, headers = {} } = concluded.reply;
  if (body === undefined) return { status, headers, body: "" };
  return { status, headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) };
}

export function asDenied(error: unknown, correlationId: string, observers: Pick<Observers, "onFault">): Denied {
  if (error instanceof Denied) return error;
  observers.onFault(error, correlationId);
  return new Denied("internal_fault", codes.internal_fault.means);
}

export function problemReply(denied: Denied, correlationId: string, headers: Reply["headers"] = {}): Reply {
  const problem = problemOf(denied, correlationId);
  return {
    status: problem.status,
    headers: { "content-type": PROBLEM_MEDIA_TYPE, "cache-control": "no-store", ...headers, ...closing(denied) },
    body: JSON.stringify(problem),
  };
}

/** After trouble with framing or size nobody can be sure where the next request starts, so there is none. */
function closing(denied: Denied): Reply["headers"] {
  return denied.code === "framing_invalid" || denied.code === "body_too_large" ? { connection: "close" } : {};
}
