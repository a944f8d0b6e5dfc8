import { createServer, type IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { createClientErrorHandler, refusalText, refuseOn } from "../../../packages/request/src/client-error.ts";
import {
  createRequestListener,
  type IncomingRequest,
  type OutgoingReply,
} from "../../../packages/request/src/node-http.ts";
import { type Observers, tellRefused } from "../../../packages/request/src/serve.ts";
import { listenForCallers } from "../../adapters/platform/callers.ts";
import type { CallerPlatform, LiveCaller } from "../../gateway/ports.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { AgentContext } from "../../surfaces/agent/context.ts";
import { readPreferredWaitMs } from "../../surfaces/agent/prefer.ts";
import { MCP_PATH } from "../../surfaces/mcp/bridge.ts";
import type { UpgradeRequest } from "../../surfaces/mcp/upgrade.ts";
import type { PlaneRoute } from "../../surfaces/plane/route.ts";
import { createSeats, type Seat, type Standing } from "../../surfaces/plane/seats.ts";
import { readTraceparent } from "../../surfaces/plane/traceparent.ts";
import { boundHeads } from "./bound-heads.ts";
import { boundUnanswered } from "./bound-unanswered.ts";
import { isPlainConnection, type PlainReply, type PlainRequest, servePlainly } from "./plain-door.ts";
import { clearSocketPath, modeOf, type SocketAccess } from "./socket-path.ts";

export interface AgentListenerOptions {
  readonly socket: SocketAccess;
  readonly callers: CallerPlatform;
  readonly routes: readonly PlaneRoute<AgentContext>[];
  /** Takes over a connection that asked for another protocol; throws `Denied` before it has written anything. */
  upgrade(request: UpgradeRequest): Promise<void>;
  /** Whether somebody approved this caller or is being asked about it: its connections make room after those of strangers. */
  standingOf(caller: LiveCaller): Standing;
  correlationId(): string;
  onRecord: Observers<AgentContext>["onRecord"];
  onFault(error: unknown, correlationId: string): void;
  /** A connection was refused before any request could be read. */
  onRefused(denied: Denied, uid: number): void;
  /** How many may be open at once, in all. */
  readonly connections: number;
}

/** What is used of a request and its reply, of node:http's and of the plain ones alike. */
interface AgentRequest extends IncomingRequest {
  readonly socket: Duplex;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Its end is the end of the request, whether it was answered or whoever asked hung up. */
  reply?: AgentReply;
}

interface AgentReply extends OutgoingReply {
  readonly destroyed: boolean;
  once(event: "close", hear: () => void): unknown;
}

/** What has ended before anybody asked says nothing any more. */
function tellEnd(reply: AgentReply | undefined, hear: () => void): void {
  if (reply === undefined || reply.destroyed) hear();
  else reply.once("close", hear);
}

/** Where the platform does not name the user before identification. */
const NOBODY = -1;

/** Listens for agents. A connection is identified before a byte of it is read, and bounded in number for each user. */
export async function listenForAgents(options: AgentListenerOptions): Promise<{ close(): void }> {
  const identified = new WeakMap<Duplex, Promise<LiveCaller>>();
  /** Those who are: a request of theirs need not wait to be told who it is of. */
  const known = new WeakMap<Duplex, LiveCaller>();
  const connections = new Set<Duplex>();
  const seats = createSeats({
    perHolder: Math.min(defaults.agentConnectionsPerUid, Math.ceil(options.connections / 2)),
    total: options.connections,
    dropBusy: false,
  });
  const seatOf = new WeakMap<Duplex, Seat>();
  const serve = createRequestListener<AgentRequest, AgentContext>({
    routes: options.routes.map(({ bound }) => bound),
    principalOf(request, correlationId) {
      const caller = known.get(request.socket);
      if (caller !== undefined) return contextOf(request, caller, correlationId);
      return requireIdentified(request.socket).then((later) => contextOf(request, later, correlationId));
    },
    correlationId: options.correlationId,
    onRecord: options.onRecord,
    onFault: options.onFault,
  });

  function contextOf(request: AgentRequest, caller: LiveCaller, correlationId: string): AgentContext {
    const prefer = request.headers["prefer"];
    return {
      name: caller.key,
      caller,
      correlationId,
      waitMs: readPreferredWaitMs(Array.isArray(prefer) ? prefer.join() : prefer),
      traceparent: readTraceparent(request.headers["traceparent"]),
      onGone: (hear) => tellEnd(request.reply, hear),
      connection: request.socket,
    };
  }

  async function requireIdentified(socket: Duplex): Promise<LiveCaller> {
    const caller = await identified.get(socket);
    if (caller === undefined) throw new Denied("caller_unknown", "The connection has no caller.");
    return caller;
  }

  const bounded = boundUnanswered<Duplex>(
    (socket, denied) => void tellOf(socket, denied, options.correlationId(), null),
    (socket) => occupy(socket, false),
  );

  function begin(request: AgentRequest, reply: AgentReply): void {
    const { socket } = request;
    if (!bounded(socket, reply)) return;
    request.reply = reply;
    occupy(socket, true);
    serve(request, reply);
  }

  const server = createServer(
    {
      maxHeaderSize: defaults.agentHeaderBytes,
      requireHostHeader: false,
      // Node times only what it accepted itself; see boundHeads.
      requestTimeout: 0,
      keepAliveTimeout: 0,
      // Everywhere else the field is what it always was: an offer that nobody takes.
      shouldUpgradeCallback: ({ url }) => url === MCP_PATH,
    },
    begin,
  );
  /** The newest that was served past node:http, which does not know of it. */
  const plainReplies = new WeakMap<Duplex, PlainReply>();
  server.on("checkContinue", (request, response) => {
    const goOn = (): void => void (response.headersSent || response.writeContinue());
    const earlier = plainReplies.get(request.socket);
    if (earlier === undefined) goOn();
    else earlier.once("close", goOn);
    server.emit("request", request, response);
  });
  // Refused in our own words, like every other request.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  const clientError = createClientErrorHandler<Duplex & { readonly bytesWritten: number }>(
    options.correlationId,
    (denied, correlationId, bytes, socket) => void tellOf(socket, denied, correlationId, bytes),
  );
  server.on("clientError", (error, socket: Duplex & { readonly bytesWritten: number }) => clientError(error, socket));

  const late = (socket: Duplex): void =>
    clientError(Object.assign(new Error("late"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket as never);
  boundHeads(server, { headMs: defaults.planeHeadMs, bodyMs: defaults.planeBodyMs }, late);

  /** A request begins or is over. Whoever has a session, or waits for one, keeps its place while strangers crowd the door. */
  function occupy(socket: Duplex, busy: boolean): void {
    const seat = seatOf.get(socket);
    if (busy) seat?.busy();
    else seat?.idle();
    const stand = (caller: LiveCaller): void => seat?.stand(options.standingOf(caller));
    const caller = known.get(socket);
    if (caller !== undefined) stand(caller);
    else identified.get(socket)?.then(stand, () => undefined);
  }

  /** A refusal that no request carried, under the name of whoever is at the other end. */
  async function tellOf(socket: Duplex, denied: Denied, id: string, bytes: Uint8Array | null): Promise<void> {
    const caller = await identified.get(socket)?.catch(() => undefined);
    const context =
      caller === undefined
        ? null
        : {
            ...{ name: caller.key, caller, correlationId: id, waitMs: 0, traceparent: null },
            ...{ onGone: () => undefined, connection: socket },
          };
    tellRefused<AgentContext>(options, context, denied, id, bytes);
  }

  server.on("upgrade", (request, socket, head) => {
    seatOf.get(socket)?.busy();
    void takeOver(request, socket, head).catch((error: unknown) => {
      if (socket.destroyed) return;
      if (!(error instanceof Denied)) options.onFault(error, options.correlationId());
      const denied = error instanceof Denied ? error : new Denied("internal_fault", "The gateway made a mistake.");
      const id = options.correlationId();
      void tellOf(socket, denied, id, head);
      refuseOn(socket, denied, id);
    });
  });

  async function takeOver(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const caller = await requireIdentified(socket);
    await options.upgrade({ request, socket, head, caller, working: (busy) => occupy(socket, busy) });
  }

  const told = new WeakSet<Denied>();

  /** A caller that ends takes all its connections along: that is one refusal, however many they were. */
  function tellOnce(error: unknown, uid: number): void {
    if (!(error instanceof Denied) || told.has(error)) return;
    told.add(error);
    options.onRefused(error, uid);
  }

  async function admit(connection: Duplex, pending: Promise<LiveCaller>): Promise<LiveCaller> {
    const caller = await pending;
    known.set(connection, caller);
    if (connection.destroyed) caller.close();
    else connection.once("close", () => caller.close());
    return caller;
  }

  clearSocketPath(options.socket);
  const listener = await listenForCallers({
    path: options.socket.path,
    group: options.socket.group,
    mode: modeOf(options.socket),
    callers: options.callers,
    turnAway(uid) {
      if (seats.admits(uid)) return null;
      const denied = new Denied(
        "too_many_requests",
        `User ${uid} has as many connections as it may, and all are busy.`,
      );
      options.onRefused(denied, uid);
      return Buffer.from(refusalText(denied, options.correlationId()), "utf8");
    },
    accept(connection, pending, uid = NOBODY) {
      connections.add(connection);
      const seat = seats.take(uid, () => connection.destroy());
      connection.once("close", () => {
        connections.delete(connection);
        seat?.leave();
      });
      if (seat === null) return void connection.destroy();
      seatOf.set(connection, seat);
      const caller = admit(connection, pending);
      caller.then(({ key }) => seat.name(key)).catch((error: unknown) => tellOnce(error, uid));
      connection.on("error", (error) => tellOnce(error, uid));
      identified.set(connection, caller);
      const handOver = (): void => void server.emit("connection", connection);
      if (!isPlainConnection(connection)) return handOver();
      const serve = (request: PlainRequest, reply: PlainReply): void => {
        plainReplies.set(connection, reply);
        begin(request, reply);
      };
      servePlainly(connection, { serve, handOver, late: () => late(connection) });
    },
  });
  return {
    close() {
      listener.close();
      for (const connection of connections) connection.destroy();
      server.close();
    },
  };
}
