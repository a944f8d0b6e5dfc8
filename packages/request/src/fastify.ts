/**
 * The skin for Fastify 5: an encapsulated plugin whose routes never meet Fastify's own body parsers. The head is judged
 * in `onRequest`, before anything is read; the rest runs in the handler, after the application's own hooks.
 */
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Denied } from "../../../src/kernel/failure.ts";
import { createClientErrorHandler } from "./client-error.ts";
import type { OpenFile } from "./multipart/part.ts";
import { readBody, seeBytes } from "./read-body.ts";
import type { Method } from "./route.ts";
import {
  asDenied,
  type BoundRoute,
  conclude,
  type Exchange,
  type Observers,
  problemReply,
  type Reply,
  refuse,
  requireFunctions,
} from "./serve.ts";
import { NOTHING_AT_PATH } from "./target.ts";

export interface StrictRequestsOptions extends Observers<string> {
  readonly routes: readonly BoundRoute[];
  principalOf(request: FastifyRequest): string | Promise<string>;
  readonly openFile?: OpenFile;
}

const METHODS: readonly Method[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

/** Spread into `Fastify({...})`, so that requests which never reach a route are refused in the same words. */
export function strictServerOptions(correlationId: () => string) {
  return {
    clientErrorHandler: createClientErrorHandler(correlationId),
    frameworkErrors(_error: Error, request: FastifyRequest, reply: FastifyReply) {
      const denied = new Denied("percent_malformed", "the path holds a malformed escape");
      void send(request, reply, problemReply(denied, correlationId()));
    },
    genReqId: correlationId,
    // A missing Host is refused here, in the one envelope, and not by the HTTP parser in words of its own.
    http: { requireHostHeader: false },
    // How long a parameter may be is for its schema to say, as everywhere.
    routerOptions: { maxParamLength: Number.MAX_SAFE_INTEGER },
  };
}

/** For `app.setNotFoundHandler`, where the application has no page of its own for it. */
export function refuseNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  return send(request, reply, problemReply(new Denied("not_found", NOTHING_AT_PATH), request.id));
}

export async function strictRequests(app: FastifyInstance, options: StrictRequestsOptions): Promise<void> {
  requireFunctions("strictRequests", options, ["principalOf", "onRecord", "onFault"]);
  const exchanges = new WeakMap<FastifyRequest, Exchange>();
  app.removeAllContentTypeParsers();
  // Fastify wants a parser for every type; this one leaves the bytes where they are.
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.setErrorHandler((error, request, reply) => {
    const denied = asDenied(error, request.id, options);
    return send(request, reply, problemReply(denied, request.id));
  });
  for (const bound of options.routes) addRoute(app, options, bound, exchanges);
  for (const { url, allowed } of methodsByPath(options.routes)) {
    const others = METHODS.filter((method) => !allowed.includes(method));
    if (others.length === 0) continue;
    const list = allowed.join(", ");
    app.route({
      method: [...others],
      url,
      onRequest: (request, reply) => {
        const denied = new Denied("method_not_allowed", `this path answers ${list}`);
        return tellRefused(options, `${request.method} (no route)`, request, reply, denied, { allow: list });
      },
      handler: () => undefined,
    });
  }
}

function addRoute(
  app: FastifyInstance,
  options: StrictRequestsOptions,
  bound: BoundRoute,
  exchanges: WeakMap<FastifyRequest, Exchange>,
): void {
  app.route({
    method: bound.route.method,
    url: fastifyUrl(bound),
    exposeHeadRoute: false,
    async onRequest(request, reply) {
      const { method, raw } = request;
      try {
        const head = { method, target: raw.url ?? "", rawHeaders: raw.rawHeaders };
        exchanges.set(request, bound.begin(head, options.openFile));
        return;
      } catch (error) {
        return tellRefused(options, bound.route.endpoint, request, reply, error);
      }
    },
    async handler(request, reply) {
      const exchange = exchanges.get(request);
      if (exchange === undefined)
        throw new Denied("internal_fault", "the request reached its handler without an intake");
      let principal: string;
      try {
        principal = await options.principalOf(request);
      } catch (error) {
        exchange.intake.abort();
        return send(request, reply, await refuse(bound.route.endpoint, null, request.id, options, seeBytes(), error));
      }
      const seen = seeBytes();
      const answer = await conclude(bound, principal, request.id, options, seen, async () => {
        await readBody(request.raw, exchange.intake, seen);
        return exchange.conclude(principal, request.raw.rawTrailers);
      });
      return send(request, reply, answer);
    },
  });
}

/** A request that never became a command, by whoever sent it; where nobody can be named, that is what it is told. */
async function tellRefused(
  options: StrictRequestsOptions,
  endpoint: string,
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  headers: Reply["headers"] = {},
): Promise<FastifyReply> {
  let principal: string | null = null;
  let why = error;
  try {
    principal = await options.principalOf(request);
  } catch (unnamed) {
    why = unnamed;
  }
  const added = principal === null ? {} : headers;
  return send(request, reply, await refuse(endpoint, principal, request.id, options, seeBytes(), why, added));
}

function send(request: FastifyRequest, reply: FastifyReply, answer: Reply): FastifyReply {
  if (!request.raw.complete) reply.header("connection", "close");
  const { status, headers, body, more } = answer;
  // A Buffer keeps Fastify from adding a charset to the type.
  return reply
    .code(status)
    .headers(headers)
    .send(more === undefined ? Buffer.from(body) : Readable.from(asItComes(body, more)));
}

async function* asItComes(first: string, more: AsyncIterable<string>): AsyncGenerator<string> {
  yield first;
  yield* more;
}

/**
 * `{name}` is how a template writes what Fastify's router writes as `:name`, and `{name+}` what it writes as `*`. A literal
 * colon is doubled there.
 */
function fastifyUrl(bound: BoundRoute): string {
  const { segments, trailingSlash } = bound.route.template;
  const url = segments.map((segment) => {
    if (segment.kind === "literal") return segment.text.replaceAll(":", "::");
    return segment.rest === true ? "*" : `:${segment.name}`;
  });
  return `/${url.join("/")}${trailingSlash && url.length > 0 ? "/" : ""}`;
}

/** One path may name its parameters differently for each method. */
function methodsByPath(
  routes: readonly BoundRoute[],
): Iterable<{ readonly url: string; readonly allowed: readonly Method[] }> {
  const paths = new Map<string, { readonly url: string; readonly allowed: Method[] }>();
  for (const bound of routes) {
    const shape = bound.route.template.text.replaceAll(/\{\w+/g, "{");
    const path = paths.get(shape) ?? { url: fastifyUrl(bound), allowed: [] };
    paths.set(shape, path);
    path.allowed.push(bound.route.method);
  }
  return paths.values();
}
