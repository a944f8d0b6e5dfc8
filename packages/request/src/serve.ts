/** What both skins share: one exchange from intake to reply, with its record written before the reply goes out. */
import { codes } from "../../../src/kernel/codes.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import { PROBLEM_MEDIA_TYPE, problemOf } from "../../../src/kernel/problem.ts";
import type { RequestHead } from "./head.ts";
import type { OpenFile } from "./multipart/part.ts";
import { beginRequest, type Intake } from "./pipeline.ts";
import { type SeenBytes, seeBytes } from "./read-body.ts";
import { carryOut, type Principal, type RequestRecord, recordRefusal, type Steps } from "./record.ts";
import type { Command, Route } from "./route.ts";

export interface Answer {
  readonly status: number;
  /** Absent: the reply has no content. */
  readonly body?: JsonValue;
  /** `body` as JSON, where it was written already. */
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** What follows `body` as it comes, one line of JSON each. Where it fails, the reply is broken off. */
  readonly more?: AsyncIterable<JsonValue>;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly more?: AsyncIterable<string>;
}

/** A route with what it does. `bindRoute` hides the command's type, which only the route and its own steps share. */
export interface BoundRoute<Who extends Principal = string> {
  readonly route: Route<never>;
  /** With who sends it where that is known by now: a large body may be for some alone. */
  begin(head: RequestHead, openFile?: OpenFile, principal?: Who): Exchange<Who>;
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
  requireFunctions(`bindRoute for ${route.endpoint}`, steps, ["authorize", "execute"]);
  return {
    // Only the parts that do not mention the command's type are read through this.
    route: route as unknown as Route<never>,
    begin(head, openFile, principal) {
      const { mostBytes } = steps;
      const bounded = mostBytes === undefined || principal === undefined;
      const limit = bounded ? {} : { mostBytes: (params: JsonObject) => mostBytes(params as C["params"], principal) };
      const own = steps.openFile;
      const sinks = own === undefined || principal === undefined ? openFile : () => own(principal);
      const intake = beginRequest(route, head, { openFile: sinks, ...limit });
      const held = steps.room === undefined || principal === undefined ? null : roomy(intake, steps.room, principal);
      return {
        intake: held ?? intake,
        async conclude(principal, rawTrailers) {
          const finishing = intake.finish(rawTrailers);
          // Nearly all are at hand: no turn is waited for them.
          const accepted = finishing instanceof Promise ? await finishing : finishing;
          try {
            held?.fit();
          } catch (error) {
            intake.abort();
            throw error;
          }
          const { record, outcome } = await carryOut(route, principal, accepted, steps);
          if (record.decision.kind !== "allowed") intake.abort();
          return { record, reply: outcome.kind === "answer" ? outcome.answer : { error: outcome.error } };
        },
      };
    },
  };
}

function roomy<Who>(
  intake: Pick<Intake<unknown>, "push" | "abort">,
  room: NonNullable<Steps<Command<unknown, unknown, unknown>, Answer, Who & Principal>["room"]>,
  principal: Who & Principal,
): Pick<Intake<unknown>, "push" | "abort"> & { fit(): void } {
  let bytes = 0;
  let asked = false;
  return {
    push(chunk) {
      const written = intake.push(chunk);
      bytes += chunk.byteLength;
      if (asked || bytes <= room.aboveBytes) return written;
      asked = true;
      const ready = room.take(principal);
      return ready === undefined ? written : ready.then(() => written);
    },
    abort: () => intake.abort(),
    fit() {
      if (asked) room.fit(principal, bytes);
    },
  };
}

/** What a record goes with: the reply that is about to go out, and who gets it. */
export interface Occasion<Who extends Principal = Principal> {
  readonly correlationId: string;
  /** Null where nobody could be named. */
  readonly principal: Who | null;
  /** What the reply says is wrong; null for an answer. */
  readonly denied: Denied | null;
  readonly answer: Answer | null;
  /** Of the body as it came, as far as it was read. */
  body(): ReturnType<SeenBytes["told"]>;
}

export interface Observers<Who extends Principal = Principal> {
  /** Awaited before the reply goes out; when it fails, so does the request. */
  onRecord(record: RequestRecord, occasion: Occasion<Who>): void | Promise<void>;
  /** Our own mistakes, which the caller only sees as `internal_fault`. */
  onFault(error: unknown, correlationId: string): void;
}

/**
 * For authors whose compiler looks at nothing: a function that is missing is told before any request is answered, since one that is missed
 * after the work was carried out would make its reply a lie.
 */
export function requireFunctions(of: string, given: object, names: readonly string[]): void {
  for (const name of names) {
    const value = (given as Readonly<Record<string, unknown>>)[name];
    if (typeof value !== "function") throw new TypeError(`${of} needs the function ${name}`);
  }
}

export async function conclude<Who extends Principal>(
  bound: { readonly route: { readonly endpoint: string } },
  principal: Who,
  correlationId: string,
  observers: Observers<Who>,
  seen: SeenBytes,
  work: () => Promise<Concluded>,
): Promise<Reply> {
  let concluded: Concluded;
  try {
    concluded = await work();
  } catch (error) {
    return refuse(bound.route.endpoint, principal, correlationId, observers, seen, error);
  }
  const { record, reply } = concluded;
  const denied = "error" in reply ? asDenied(reply.error, correlationId, observers) : null;
  const answer = "error" in reply ? null : reply;
  const telling = observers.onRecord(record, occasionOf(correlationId, principal, denied, answer, seen));
  if (telling !== undefined) await telling;
  if (answer === null) return problemReply(denied ?? internalFault(), correlationId);
  const { status, body, text, headers = {}, more } = answer;
  if (body === undefined) return { status, headers, body: "" };
  if (more !== undefined) {
    const type = { "content-type": LINES_MEDIA_TYPE, "cache-control": "no-store", ...headers };
    return { status, headers: type, body: `${JSON.stringify(body)}\n`, more: linesOf(more) };
  }
  return { status, headers: { "content-type": "application/json", ...headers }, body: text ?? JSON.stringify(body) };
}

const LINES_MEDIA_TYPE = "application/jsonl";

async function* linesOf(values: AsyncIterable<JsonValue>): AsyncGenerator<string> {
  for await (const value of values) yield `${JSON.stringify(value)}\n`;
}

/** The digest of the body is made where somebody asks for it. */
function occasionOf<Who extends Principal>(
  correlationId: string,
  principal: Who | null,
  denied: Denied | null,
  answer: Answer | null,
  seen: SeenBytes,
): Occasion<Who> {
  return { correlationId, principal, denied, answer, body: () => seen.told() };
}

/** A request that never became a command: recorded, then told. */
export async function refuse<Who extends Principal>(
  endpoint: string,
  principal: Who | null,
  correlationId: string,
  observers: Observers<Who>,
  seen: SeenBytes,
  error: unknown,
  headers: Reply["headers"] = {},
): Promise<Reply> {
  const denied = asDenied(error, correlationId, observers);
  const occasion = occasionOf(correlationId, principal, denied, null, seen);
  await observers.onRecord(recordRefusal(endpoint, principal ?? "nobody", denied), occasion);
  return problemReply(denied, correlationId, headers);
}

/** For bytes that never became a request: the record of the refusal, told beside the reply and not before it. */
export function tellRefused<Who extends Principal>(
  observers: Observers<Who>,
  principal: Who | null,
  denied: Denied,
  correlationId: string,
  bytes: Uint8Array | null,
): void {
  const seen = seeBytes();
  if (bytes !== null) seen.add(bytes);
  void refuse("(not a request)", principal, correlationId, observers, seen, denied).catch((error: unknown) =>
    observers.onFault(error, correlationId),
  );
}

export function asDenied(error: unknown, correlationId: string, observers: Pick<Observers, "onFault">): Denied {
  if (error instanceof Denied) return error;
  observers.onFault(error, correlationId);
  return internalFault();
}

function internalFault(): Denied {
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
