/** The skin for node:http: a request listener over bound routes. Nothing is parsed here that the pipeline does not parse. */
import { Denied } from "../../../src/kernel/failure.ts";
import { inTurn } from "./conversation.ts";
import type { RequestHead } from "./head.ts";
import type { OpenFile } from "./multipart/part.ts";
import { type IncomingBody, readBody, type SeenBytes, seeBytes, takeWhole } from "./read-body.ts";
import type { Principal } from "./record.ts";
import {
  asDenied,
  type BoundRoute,
  type Concluded,
  conclude,
  type Exchange,
  type Observers,
  problemReply,
  type Reply,
  refuse,
  requireFunctions,
} from "./serve.ts";
import { matchPath, NOTHING_AT_PATH, splitTarget } from "./target.ts";

/** What is used of IncomingMessage and ServerResponse. */
export interface IncomingRequest extends IncomingBody {
  readonly method?: string | undefined;
  readonly url?: string | undefined;
  readonly rawHeaders: readonly string[];
  /** The body, where it came with its head in one piece. */
  readonly whole?: Buffer;
  /** The head as it was read already. */
  readonly head?: RequestHead;
  /** What has arrived and nobody took. */
  read(): unknown;
}

export interface OutgoingReply {
  readonly headersSent: boolean;
  writeHead(status: number, headers: Record<string, string | number>): unknown;
  end(body: string): unknown;
}

/** The more that is used where a reply goes out as it comes. */
interface ComingReply extends OutgoingReply {
  readonly destroyed: boolean;
  /** False where it is to go on at `drain`. */
  write(text: string): boolean;
  once(event: "drain" | "close", hear: () => void): unknown;
  off(event: "drain" | "close", hear: () => void): unknown;
  destroy(): unknown;
}

export interface ListenerOptions<Incoming extends IncomingRequest, Who extends Principal = string>
  extends Observers<Who> {
  readonly routes: readonly BoundRoute<Who>[];
  /** Who is calling, as the connection proves it; throws Denied when nobody can be named. */
  principalOf(request: Incoming, correlationId: string): Who | Promise<Who>;
  correlationId(): string;
  readonly openFile?: OpenFile;
}

export function createRequestListener<Incoming extends IncomingRequest, Who extends Principal = string>(
  options: ListenerOptions<Incoming, Who>,
): (request: Incoming, response: OutgoingReply) => void {
  requireFunctions("createRequestListener", options, ["principalOf", "correlationId", "onRecord", "onFault"]);
  return (request, response) => {
    const correlationId = options.correlationId();
    inTurn(request.socket, request, async ({ broken, isLast }) => {
      // Whoever asked is gone: nothing is carried out whose answer could not be sent.
      if (request.socket.destroyed === true) return false;
      let reply: Reply;
      try {
        reply = await answer(options, request, correlationId, broken);
      } catch (error) {
        reply = problemReply(asDenied(error, correlationId, options), correlationId);
      }
      try {
        const open = send(request, response, reply, isLast());
        return open instanceof Promise ? await open : open;
      } catch (error) {
        // Nothing of it is on its way yet: a field that the route gave holds what no field can.
        const fault = problemReply(asDenied(error, correlationId, options), correlationId);
        return await send(request, response, fault, isLast());
      }
    });
  };
}

async function answer<Incoming extends IncomingRequest, Who extends Principal>(
  options: ListenerOptions<Incoming, Who>,
  request: Incoming,
  correlationId: string,
  broken: Denied | null,
): Promise<Reply> {
  const { method = "", url = "", rawHeaders } = request;
  const head = request.head ?? { method, target: url, rawHeaders };
  const seen = seeBytes();
  const found = findRoute(options.routes, head);
  const endpoint = found.kind === "route" ? found.bound.route.endpoint : `${method.slice(0, 16)} (no route)`;
  let principal: Who;
  try {
    const naming = options.principalOf(request, correlationId);
    principal = isLater(naming) ? await naming : naming;
  } catch (error) {
    return refuse(endpoint, null, correlationId, options, seen, error);
  }
  if (broken !== null) return refuse(endpoint, principal, correlationId, options, seen, broken);
  if (found.kind === "none") {
    await seeArrived(request, seen);
    return refuse(endpoint, principal, correlationId, options, seen, found.denied, found.headers);
  }
  const { bound } = found;
  let exchange: Exchange<Who>;
  try {
    exchange = bound.begin(head, options.openFile, principal);
  } catch (error) {
    await seeArrived(request, seen);
    return refuse(endpoint, principal, correlationId, options, seen, error);
  }
  return await conclude(bound, principal, correlationId, options, seen, () => {
    const reading =
      request.whole === undefined
        ? readBody(request, exchange.intake, seen)
        : takeWhole(request.whole, exchange.intake, seen);
    const rest = (): Promise<Concluded> => exchange.conclude(principal, request.rawTrailers);
    return reading === undefined ? rest() : reading.then(rest);
  });
}

/** Also of another realm or library, which may make it a function: whoever was not waited for would be somebody else. */
function isLater<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return ((typeof value === "object" && value !== null) || typeof value === "function") && "then" in value;
}

/** Of a body that nobody will read: what came with the head. Nothing more is waited for. */
async function seeArrived(request: IncomingRequest, seen: SeenBytes): Promise<void> {
  // The parser tells of a head before it hands over what stood behind it in the same piece.
  if (request.whole === undefined) await null;
  const arrived = request.read();
  if (arrived instanceof Uint8Array) seen.add(arrived);
}

type Found<Who extends Principal> =
  | { readonly kind: "route"; readonly bound: BoundRoute<Who> }
  | { readonly kind: "none"; readonly denied: Denied; readonly headers: Reply["headers"] };

function findRoute<Who extends Principal>(
  routes: readonly BoundRoute<Who>[],
  { method, target, memory }: RequestHead,
): Found<Who> {
  const judged = memory?.judged;
  const known = judged == null ? undefined : routes.find(({ route }) => route === judged.route);
  if (known !== undefined) return { kind: "route", bound: known };
  const allowed: string[] = [];
  try {
    const { path } = splitTarget(target);
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
    return { kind: "none", denied: new Denied("not_found", NOTHING_AT_PATH), headers: {} };
  }
  const denied = new Denied("method_not_allowed", `this path answers ${allowed.join(", ")}`);
  return { kind: "none", denied, headers: { allow: allowed.join(", ") } };
}

/** Says whether the connection stays open. */
function send(request: IncomingBody, response: OutgoingReply, reply: Reply, last: boolean): boolean | Promise<boolean> {
  if (response.headersSent) return false;
  if (reply.more !== undefined && canCome(response)) return sendAsItComes(response, reply, reply.more, last);
  // A body that was not read to its end must not be taken for the next request on this connection.
  const ends = last || !request.complete || reply.headers["connection"] === "close";
  const headers: Record<string, string | number> = { ...reply.headers };
  // One without content has no length either, not even that of nothing.
  if (reply.status !== NO_CONTENT) headers["content-length"] = Buffer.byteLength(reply.body);
  if (ends) headers["connection"] = "close";
  response.writeHead(reply.status, headers);
  response.end(reply.body);
  // What still comes of it is let go by: whoever cannot finish writing would never come to read this. Its time is bounded.
  if (!request.complete) request.resume();
  return !ends;
}

const NO_CONTENT = 204;

function canCome(response: OutgoingReply): response is ComingReply {
  return "write" in response;
}

/** Nobody who reads slowly makes us hold more than the connection does; nobody who left keeps us writing. */
async function sendAsItComes(
  response: ComingReply,
  reply: Reply,
  more: AsyncIterable<string>,
  last: boolean,
): Promise<boolean> {
  response.writeHead(reply.status, { ...reply.headers, ...(last ? { connection: "close" } : {}) });
  response.write(reply.body);
  try {
    for await (const text of more) {
      if (response.destroyed) return false;
      if (!response.write(text)) await drained(response);
    }
    response.end("");
    return !last;
  } catch {
    response.destroy();
    return false;
  }
}

/** Until more can be written, or nobody reads any more. */
export function drained(response: Pick<ComingReply, "destroyed" | "once" | "off">): Promise<void> {
  return new Promise((resolve) => {
    const go = (): void => {
      response.off("drain", go);
      response.off("close", go);
      resolve();
    };
    if (response.destroyed) resolve();
    else {
      response.once("drain", go);
      response.once("close", go);
    }
  });
}
