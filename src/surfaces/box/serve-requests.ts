import {
  createServer as createPlain,
  type IncomingMessage,
  type Server as PlainServer,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createSecure, type Server as SecureServer } from "node:https";
import type { Server, Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createSecureContext, type SecureContext, type TLSSocket } from "node:tls";
import { drained } from "../../../packages/request/src/node-http.ts";
import type { Authority } from "../../conventions/box/authority.ts";
import { type BoxAnswer, type BoxRefusal, boxRefusals, originOf, refuseInBox } from "../../conventions/box/refusal.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { CarriedAnswer, CarriedRequest, RefusalReport } from "../client/agent.ts";
import { Unreachable } from "../client/connection.ts";

/** The way out of a box: TLS ends here, and what a tool asks for goes to the gateway as the request that it is. */
export interface WayOut {
  readonly authority: Authority;
  carry(request: CarriedRequest, signal: AbortSignal): Promise<CarriedAnswer>;
  findHolder(address: string, from: number, to: number): CarriedRequest["process"] | null;
  /** Told to the person who runs it, beside what the tool is told. */
  refused(message: string): void;
  /** What nobody but us has seen is told to the gateway too, for its log. */
  report(refusal: RefusalReport): void;
}

type Scheme = "https" | "http";

interface ToldAnswer extends BoxAnswer {
  /** What follows as it comes. */
  readonly pieces?: AsyncIterable<Buffer>;
}

/** A name that no certificate in the world can be asked for: who sends none is told so, if it goes on. */
const NO_NAME = "no-name.invalid";
const HOP_BY_HOP = new Set(["connection", "keep-alive", "transfer-encoding", "content-length", "upgrade", "trailer"]);

const LENGTH = /^[0-9]{1,15}$/;

/** Serves both listeners of a box for as long as it lives. */
export function serveRequests(
  sockets: { readonly https: readonly Server[]; readonly http: readonly Server[] },
  out: WayOut,
): void {
  const { secure, plain } = createWays(out);
  for (const [server, listeners] of [
    [secure, sockets.https],
    [plain, sockets.http],
  ] as const) {
    for (const listener of listeners) {
      listener.maxConnections = defaults.boxConnections;
      listener.on("connection", (socket: Socket) => void server.emit("connection", socket));
    }
  }
}

/** The two servers that answer: they listen nowhere themselves, and take the connections that they are given. */
export function createWays(out: WayOut): { readonly secure: SecureServer; readonly plain: PlainServer } {
  const contexts = new Map<string, SecureContext>();
  const contextOf = (host: string): SecureContext => {
    const known = contexts.get(host);
    if (known !== undefined) return known;
    const made = createSecureContext({ key: out.authority.leafKey, cert: out.authority.chainFor(host) });
    if (contexts.size < defaults.boxConnections) contexts.set(host, made);
    return made;
  };
  const limits = {
    maxHeaderSize: defaults.boxHeadBytes,
    headersTimeout: defaults.boxHeadMs,
    requestTimeout: 0,
    keepAliveTimeout: defaults.boxIdleMs,
    // Answered below, with words.
    requireHostHeader: false,
  };
  const secure = createSecure(
    {
      ...limits,
      ALPNProtocols: ["http/1.1"],
      handshakeTimeout: defaults.boxHandshakeMs,
      SNICallback: (name, done) => done(null, contextOf(name.toLowerCase())),
      key: out.authority.leafKey,
      cert: out.authority.chainFor(NO_NAME),
    },
    answerWith("https", out),
  );
  secure.on("tlsClientError", (error: Error & { code?: string }, socket: TLSSocket) => {
    out.refused(`a TLS greeting failed (${error.code ?? error.message})`);
    report(out, "greeting", "https", socket.servername || "", "");
  });
  const plain = createPlain(limits, answerWith("http", out));
  for (const [server, scheme] of [
    [secure, "https"],
    [plain, "http"],
  ] as const) {
    server.maxHeadersCount = defaults.boxHeaders;
    server.on("upgrade", (request, socket: Duplex) => refuseBare(socket, "upgrade", scheme, request, out));
    server.on("connect", (request, socket: Duplex) => refuseBare(socket, "connect", scheme, request, out));
    server.on("clientError", (error: Error & { rawPacket?: Buffer }, socket: Duplex) => {
      const isTwo = error.rawPacket?.subarray(0, 3).toString("latin1") === "PRI";
      refuseBare(socket, isTwo ? "http2" : "malformed", scheme, null, out);
    });
  }
  return { secure, plain };
}

/** A name of any length may stand in a request; the record has as much of it as a name can have. */
function report(out: WayOut, why: BoxRefusal, scheme: Scheme, host: string, method: string): void {
  out.report({
    why,
    origin: `${scheme}://${host}`.slice(0, ORIGIN_CHARACTERS),
    method: method.slice(0, METHOD_CHARACTERS),
  });
}

const ORIGIN_CHARACTERS = 300;
const METHOD_CHARACTERS = 20;

function answerWith(scheme: Scheme, out: WayOut): RequestListener {
  let open = 0;
  return (request, response) => {
    open++;
    const gone = new AbortController();
    response.once("close", () => {
      open--;
      if (!response.writableFinished) gone.abort();
    });
    request.on("error", () => undefined);
    answer(scheme, request, out, gone.signal, open > defaults.boxRequestsAtOnce)
      .then((given) => write(response, given))
      .catch((error: unknown) => {
        if (error instanceof Unreachable && !gone.signal.aborted) out.refused(error.message);
        response.destroy();
      });
  };
}

async function answer(
  scheme: Scheme,
  request: IncomingMessage,
  out: WayOut,
  gone: AbortSignal,
  crowded: boolean,
): Promise<ToldAnswer> {
  const refuse = (code: string, message: string): BoxAnswer => {
    out.refused(`${request.method ?? ""} ${request.headers.host ?? ""}: ${code}: ${message}`);
    return refuseInBox(code, message, request.headers["user-agent"]);
  };
  const carryNothing = (why: BoxRefusal): BoxAnswer => {
    report(out, why, scheme, request.headers.host ?? "", request.method ?? "");
    return refuse("box_request_refused", boxRefusals[why]);
  };
  const { method = "", url: target = "", socket } = request;
  const headers = linesOf(request.rawHeaders);
  const serverName = (scheme === "https" && (socket as TLSSocket).servername) || null;
  const found = originOf({ scheme, serverName, method, target, headers });
  if (found.kind === "refused") return carryNothing(found.why);
  if (crowded) return carryNothing("crowded");
  const body = await readBody(request);
  const holder = holderOf(socket, out);
  try {
    const given = await out.carry(
      {
        origin: found.origin,
        method,
        target,
        headers,
        ...bodyIn(body),
        ...(holder == null ? {} : { process: holder }),
      },
      gone,
    );
    const { status, reason, headers: lines, pieces } = given;
    const told = { status, reason, headers: lines, body: Buffer.from(given.body, "base64") };
    return pieces === undefined ? told : { ...told, pieces };
  } catch (error) {
    // A gateway that was started again knows no run from before.
    if (error instanceof Denied && error.code === "not_found") return refuse("run_ended", RUN_OVER);
    if (error instanceof Denied) return refuse(error.code, error.message);
    if (error instanceof Unreachable)
      return refuse(
        "gateway_unreachable",
        error.lost ? `${error.message} It may have been sent: do not repeat it.` : `Nothing was sent. ${error.message}`,
      );
    throw error;
  }
}

const RUN_OVER =
  "The gateway does not know this run any more: it ended, or the gateway was started again since. Nothing was sent. End this command and begin anew with gw run.";

/** Who opened a connection is looked for once: that takes a walk through the processes of the box. */
const holders = new WeakMap<Socket, ReturnType<WayOut["findHolder"]>>();

function holderOf(socket: Socket, out: WayOut): ReturnType<WayOut["findHolder"]> {
  const known = holders.get(socket);
  if (known !== undefined) return known;
  const { remoteAddress = "", remotePort = 0, localPort = 0 } = socket;
  const found = out.findHolder(remoteAddress, remotePort, localPort);
  holders.set(socket, found);
  return found;
}

/** All of it, or as it comes where it is more than is held. */
async function readBody(request: IncomingMessage): Promise<Buffer | AsyncIterable<Buffer>> {
  const chunks: Buffer[] = [];
  let length = 0;
  const coming = (request as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  for (let next = await coming.next(); next.done !== true; next = await coming.next()) {
    chunks.push(next.value);
    length += next.value.length;
    if (length > defaults.boxBodyBytes) return goOn(chunks, coming);
  }
  return Buffer.concat(chunks);
}

async function* goOn(first: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* first;
  for (let next = await rest.next(); next.done !== true; next = await rest.next()) yield next.value;
}

function bodyIn(body: Buffer | AsyncIterable<Buffer>): Pick<CarriedRequest, "body" | "large"> {
  if (!Buffer.isBuffer(body)) return { large: body };
  return body.length === 0 ? {} : { body: body.toString("base64") };
}

function linesOf(raw: readonly string[]): readonly (readonly [string, string])[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ""] as const] : []));
}

async function write(response: ServerResponse, { status, reason, headers, body, pieces }: ToldAnswer): Promise<void> {
  if (response.destroyed) return;
  response.sendDate = false;
  const hasBody = status >= 200 && status !== 204 && status !== 304;
  const lines = headers.filter(([name]) => !HOP_BY_HOP.has(name.toLowerCase())).flat();
  // To a HEAD it is the size of what a GET answers, which its provider may have told.
  const told = headers.find(([name]) => name.toLowerCase() === "content-length")?.[1];
  const size = response.req.method === "HEAD" ? told : String(body.length);
  const sized = hasBody && pieces === undefined && size !== undefined && LENGTH.test(size);
  response.writeHead(status, reason, [...lines, ...(sized ? ["content-length", size] : [])]);
  if (pieces === undefined) response.end(hasBody ? body : undefined);
  else await pass(response, pieces);
}

/** As it comes. A tool is told that it has everything only where it has: otherwise its connection breaks. */
async function pass(response: ServerResponse, pieces: AsyncIterable<Buffer>): Promise<void> {
  response.flushHeaders();
  for await (const piece of pieces) {
    if (response.destroyed) return;
    if (!response.write(piece)) await drained(response);
  }
  response.end();
}

export function refuseBare(
  socket: Duplex,
  why: BoxRefusal,
  scheme: Scheme,
  request: IncomingMessage | null,
  out: WayOut,
): void {
  const message = boxRefusals[why];
  out.refused(message);
  report(out, why, scheme, request?.headers.host ?? "", request?.method ?? "");
  const { status, reason, headers, body } = refuseInBox("box_request_refused", message, request?.headers["user-agent"]);
  const lines = [...headers, ["content-length", String(body.length)], ["connection", "close"]].map((pair) =>
    pair.join(": "),
  );
  socket.on("error", () => undefined);
  if (socket.writable) socket.end(`HTTP/1.1 ${status} ${reason}\r\n${lines.join("\r\n")}\r\n\r\n${body.toString()}`);
  else socket.destroy();
}
