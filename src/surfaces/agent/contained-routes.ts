import { STATUS_CODES } from "node:http";
import type { JsonSchema } from "../../../packages/request/src/schema.ts";
import type { FromSchema } from "../../../packages/request/src/schema-type.ts";
import type { Answer } from "../../../packages/request/src/serve.ts";
import { type BoxRefusal, boxRefusals } from "../../conventions/box/refusal.ts";
import { mayContinue } from "../../conventions/caller/session.ts";
import { createAnswerRoom } from "../../gateway/answer-room.ts";
import type { ContainedAnswer } from "../../gateway/contained/answer.ts";
import type { ContainedRequest } from "../../gateway/contained/request.ts";
import type { Gateway } from "../../gateway/gateway.ts";
import type { AnswerHolder, AnswerRoom, SpoolFile } from "../../gateway/ports.ts";
import type { Session } from "../../gateway/run/run.ts";
import type { Sleep } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { readId } from "../../kernel/ids.ts";
import type { JsonObject } from "../../kernel/json.ts";
import { type PlaneRoute, planeRoute } from "../plane/route.ts";
import { readTraceparent } from "../plane/traceparent.ts";
import { type CarriedView, carriedAnswer } from "./answers.ts";
import type { AgentContext } from "./context.ts";
import { anyCaller, boundReading, runParams } from "./wait.ts";

/** What tools in a box send, handed over by the wrapper that holds the box. */
export function containedRoutes(gateway: Gateway, sleep: Sleep): readonly PlaneRoute<AgentContext>[] {
  const bodies = createAnswerRoom(defaults.requestRoomBytes);
  return [
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/requests",
        params: runParams,
        body: { kind: "json", schema: plainSchema, maxBytes: defaults.containedRequestBytes },
        recorded: ["/params/run_id", "/body/origin", "/body/method"],
      },
      {
        summary: "A request that a tool in a box sent: it becomes the one action that says it, or is refused",
        answers: { 200: { description: "What the tool is to be told, a refusal too", schema: carriedAnswer } },
      },
      async ({ params, body }, context) => {
        const { caller, onGone } = context;
        const request = requestOf(body, body.body === undefined ? null : decode(body.body));
        return told(
          await gateway.answerContained(caller, readId("run", params.run_id), request, onGone),
          context,
          sleep,
        );
      },
      anyCaller,
      // Megabytes are read, and parsed, for whom a person let into the run: anybody could hold everybody up with them.
      ({ run_id }, { caller }) => {
        const session = sessionIn(gateway, run_id, caller);
        return session !== undefined && mayContinue(session) ? defaults.containedRequestBytes : defaults.jsonBodyBytes;
      },
      undefined,
      {
        aboveBytes: defaults.jsonBodyBytes,
        take: (context) => takePlace(bodies, context),
        fit: (context, bytes) => fitPlace(bodies, context, bytes),
      },
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/requests/large",
        params: runParams,
        body: {
          kind: "multipart",
          parts: {
            request: { kind: "json", schema: headSchema, maxBytes: defaults.spooledHeadBytes, contentType: "optional" },
            body: { kind: "file", filename: "optional", contentType: "optional", maxBytes: defaults.spooledBodyBytes },
          },
          maxBytes: defaults.spooledBodyBytes + defaults.spooledHeadBytes,
        },
        recorded: ["/params/run_id", "/body/request/origin", "/body/request/method"],
      },
      {
        summary: "The same with a body that is too large to be held: it lies in a file until the answer",
        answers: { 200: { description: "What the tool is to be told, a refusal too", schema: carriedAnswer } },
      },
      async ({ params, body }, context) => {
        const file = spooled.get(context);
        let ended: Promise<unknown> | undefined;
        try {
          const request = requestOf(body.request, file?.body(body.body.digest) ?? null);
          const { caller, onGone } = context;
          const answer = await gateway.answerContained(caller, readId("run", params.run_id), request, onGone);
          ended = answer.stream?.end;
          return told(answer, context, sleep);
        } finally {
          // An answer that streams comes to its end only while it is read, and the body may be asked for until then.
          void Promise.resolve(ended).finally(() => file?.close());
        }
      },
      anyCaller,
      // Nothing is written to the disk for whom no person has let do so, nor more than the card says.
      ({ run_id }, { caller }) => {
        const session = sessionIn(gateway, run_id, caller);
        if (session === undefined)
          throw new Denied("body_too_large", "No large body is taken before a person has let the run begin.");
        if (!mayContinue(session))
          throw new Denied("session_ended", `The approval of this caller ended (${session.endReason}).`);
        return (session.scope.requestBytes ?? 0) + defaults.spooledHeadBytes;
      },
      (context) => {
        const file = gateway.openSpool(context.caller);
        spooled.set(context, file);
        return file;
      },
    ),
    planeRoute(
      {
        method: "POST",
        path: "/v1/runs/{run_id}/refusals",
        params: runParams,
        body: { kind: "json", schema: refusalSchema },
        recorded: ["/params/run_id", "/body/why"],
      },
      {
        summary: "Something that the wrapper of a box refused itself, for the log",
        answers: { 204: { description: "It is on record, or counted there" } },
      },
      async ({ params, body }, { caller }) => {
        await gateway.recordRefused(caller, readId("run", params.run_id), body);
        return { status: 204 };
      },
      anyCaller,
    ),
  ];
}

/** Of whom a person let into the run; it may be over. */
function sessionIn(gateway: Gateway, runId: string, caller: AgentContext["caller"]): Session | undefined {
  return gateway.run(caller, readId("run", runId)).sessions.get(caller.key);
}

/** What is read of large requests is in memory until they are answered: all of them share a room, of which one caller has half. */
function takePlace(bodies: AnswerRoom, context: AgentContext): void | Promise<void> {
  const { caller, onGone } = context;
  const holder = { callerKey: caller.key };
  places.set(context, holder);
  const ready = Promise.withResolvers<void>();
  onGone(() => {
    bodies.leave(holder);
    ready.resolve();
  });
  return bodies.take(holder, defaults.containedRequestBytes, ready.resolve) ? undefined : ready.promise;
}

/** By the request: who holds the room for its body. */
const places = new WeakMap<AgentContext, AnswerHolder>();

/** Until it was read it could have become the largest; now that it waits for a person or a provider it holds no more than it is. */
function fitPlace(bodies: AnswerRoom, context: AgentContext, bytes: number): void {
  const holder = places.get(context);
  if (holder !== undefined) bodies.fit(holder, bytes);
}

/** By the request that brings it: the file of a body until that is answered. */
const spooled = new WeakMap<AgentContext, SpoolFile>();

function requestOf(
  { origin, method, target, headers, process }: FromSchema<typeof headSchema>,
  body: ContainedRequest["body"],
): ContainedRequest {
  return {
    ...{ origin, method, target, body, process: process ?? null, traceparent: traceIn(headers) },
    headers: headers.map(([name, value]) => [name ?? "", value ?? ""] as const),
  };
}

function told(answer: ContainedAnswer, context: AgentContext, sleep: Sleep): Answer {
  const { stream } = answer;
  if (answer.body.byteLength > defaults.smallAnswerBytes) boundReading(context, sleep);
  return { status: 200, body: recordOf(answer), ...(stream === undefined ? {} : { more: linesOf(stream) }) };
}

/** The tool's own header, where it sent one; twice is none, as on the plane itself. */
function traceIn(headers: readonly (readonly string[])[]): string | null {
  const [found, ...others] = headers.filter(([name]) => name === "traceparent");
  return others.length > 0 ? null : readTraceparent(found?.[1]);
}

function decode(text: string): Buffer {
  const bytes = Buffer.from(text, "base64");
  if (bytes.toString("base64") !== text)
    throw new Denied("value_not_allowed", "the body is not base64 in its one spelling");
  return bytes;
}

function recordOf({ callId, outcome, status, code, headers, body }: ContainedAnswer): CarriedView {
  return {
    call_id: callId,
    outcome,
    status,
    reason: code === null ? (STATUS_CODES[status] ?? "") : `Refused by gw - ${code}`,
    headers: headers.map(([name, value]) => [name, value]),
    body: body.toString("base64"),
  };
}

const refusalSchema = {
  type: "object",
  properties: {
    why: { enum: Object.keys(boxRefusals) as [BoxRefusal, ...BoxRefusal[]] },
    origin: { type: "string", maxLength: 300 },
    method: { type: "string", maxLength: 20 },
    more: { type: "integer", minimum: 0, maximum: 1_000_000_000 },
  },
  required: ["why", "origin", "method", "more"],
} as const satisfies JsonSchema;

/** The pieces of an answer that comes, and as the last line how it ended. */
async function* linesOf({ pieces, end }: NonNullable<ContainedAnswer["stream"]>): AsyncGenerator<JsonObject> {
  for await (const piece of pieces) yield { data: piece.toString("base64") };
  yield { end: { ...(await end) } };
}

const headSchema = {
  type: "object",
  properties: {
    origin: { type: "string", minLength: 8, maxLength: 300 },
    method: { type: "string", pattern: "^[A-Z]{1,20}$" },
    target: { type: "string", minLength: 1, maxLength: 16_384 },
    headers: {
      type: "array",
      maxItems: 200,
      items: { type: "array", minItems: 2, maxItems: 2, items: { type: "string", maxLength: 16_384 } },
    },
    process: {
      type: "object",
      properties: {
        pid: { type: "integer", minimum: 1, maximum: 4_194_304 },
        executable: { type: "string", maxLength: 4096 },
        arguments: { type: "array", maxItems: 64, items: { type: "string", maxLength: 1024 } },
      },
      required: ["pid", "executable", "arguments"],
    },
  },
  required: ["origin", "method", "target", "headers"],
} as const satisfies JsonSchema;

const plainSchema = {
  ...headSchema,
  properties: { ...headSchema.properties, body: { type: "string", maxLength: defaults.containedRequestBytes } },
} as const satisfies JsonSchema;
