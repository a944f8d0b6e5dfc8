/** The skin for node:http: a request listener over bound routes. Nothing is parsed here that the pipeline does not parse. */
import { Denied } from "../../kernel/failure.ts";
import { inTurn } from "./conversation.ts";
import type { OpenFile } from "./multipart/part.ts";
import { type IncomingBody, readBody } from "./read-body.ts";
import { type Principal, recordRefusal } from "./record.ts";
import {
  asDenied,
  type BoundRoute,
  conclude,
  type Exchange,
  type Observers,
  problemReply,
  type Reply,
} from "./serve.ts";
import { matchPath, splitTarget } from "./target.ts";

/** What is used of IncomingMessage and ServerResponse. */
export interface IncomingRequest extends IncomingBody {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
}

export interface OutgoingReply {
  readonly headersSent: boolean;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  end(body: string): unknown;
}

export interface ListenerOptions<Incoming extends IncomingRequest, Who extends Principal = string> extends Observers {
  readonly routes: readonly BoundRoute<Who>[];
  /** Who is calling, as the connection proves it; throws Denied when nobody can be named. */
  principalOf(request: Incoming): Who | Promise<Who>;
  correlationId(): string;
  readonly openFile?: OpenFile;
}

export function createRequestListener<Incoming extends IncomingRequest, Who extends Principal = string>(
  options: ListenerOptions<Incoming, Who>,
): (request: Incoming, response: OutgoingReply) => void {
  return (request, response) => {
    const correlationId = options.correlationId();
    inTurn(request.socket, request, async ({ broken, isLast }) => {
      const reply = await (broken === null ? answer(options, request, correlationId) : Promise.reject(broken)).catch(
        (error: unknown) => problemReply(asDenied(error, correlationId, options), correlationId),
      );
      return send(request, response, reply, isLast());
    });
  };
}

async function answer<Incoming extends IncomingRequest, Who extends Principal>(
  options: ListenerOptions<Incoming, Who>,
  request: Incoming,
  correlationId: string,
): Promise<Reply> {
  const { method = "", url = "", rawHeaders } = request;
  const found = findRoute(options.routes, method, url);
  if (found.kind === "none") return problemReply(found.denied, correlationId, found.headers);
  const { bound } = found;
  const principal = await options.principalOf(request);
  let exchange: Exchange<Who>;
  try {
    exchange = bound.begin({ method, target: url, rawHeaders }, options.openFile);
  } catch (error) {
    const denied = asDenied(error, correlationId, options);
    await options.onRecord(recordRefusal(bound.route.endpoint, principal, denied));
    return problemReply(denied, correlationId);
  }
  return conclude(bound, principal, correlationId, options, async () => {
    await readBody(request, exchange.intake);
    return exchange.conclude(principal, request.rawTrailers);
  });
}

type Found<Who extends Principal> =
  | { readonly kind: "route"; readonly bound: BoundRoute<Who> }
  | { readonly kind: "none"; readonly denied: Denied; readonly headers: Reply["headers"] };

function findRoute<Who extends Principal>(routes: readonly BoundRoute<Who>[], method: string, url: string): Found<Who> {
  const allowed: string[] = [];
  try {
    const { path } = splitTarget(url);
    for (const bound of routes) {
      if (matchPath(bound.route.template, path) === undefined) continue;
      if (bound.route.method === method) return { kind: "route", bound };
      allowed.push(bound.route.method);
    }
  } catch (error) {
    if (error instanceof Denied) return { kind: "none", denied: error, headers: {} };
    throw error;
  }
  if (allowed.length === 0) {
    return { kind: "none", denied: new Denied("not_found", "there is nothing at this path"), headers: {} };
  }
  const denied = new Denied("method_not_allowed", `this path answers ${allowed.join(", ")}`);
  return { kind: "none", denied, headers: { allow: allowed.join(", ") } };
}

/** Says whether the connection stays open. */
function send(request: IncomingBody, response: OutgoingReply, reply: Reply, last: boolean): boolean {
  if (response.headersSent) return false;
  const length = { "content-length": Buffer.byteLength(reply.body) };
  // A body that was not read to its end must not be taken for the next request on this connection.
  const ends = last || !request.complete || reply.headers["connection"] === "close";
  response.writeHead(reply.status, { ...reply.headers, ...length, ...(ends ? { connection: "close" } : {}) });
  response.end(reply.body);
  return !ends;
}
