import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { createClientErrorHandler } from "../../../packages/request/src/client-error.ts";
import { createRequestListener } from "../../../packages/request/src/node-http.ts";
import { asDenied, type Observers, problemReply, tellRefused } from "../../../packages/request/src/serve.ts";
import type { SocketPeers } from "../../adapters/platform/socket-peer.ts";
import type { OperationBoard } from "../../conventions/operation/summary.ts";
import type { Desk } from "../../gateway/approval/desk.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { deniedByFiles } from "../../kernel/file-trouble.ts";
import type { OperatorContext } from "../../surfaces/operator/context.ts";
import type { Login, Logins } from "../../surfaces/operator/logins.ts";
import type { OperationNews } from "../../surfaces/operator/operation-news.ts";
import { approvalRecord } from "../../surfaces/operator/records.ts";
import type { PlaneRoute } from "../../surfaces/plane/route.ts";
import { createSeats, type Seat } from "../../surfaces/plane/seats.ts";
import { clearSocketPath, openTo, type SocketAccess } from "./socket-path.ts";

export interface OperatorListenerOptions {
  readonly socket: SocketAccess;
  readonly routes: readonly PlaneRoute<OperatorContext>[];
  readonly logins: Logins;
  readonly desk: Desk;
  readonly operations: OperationNews;
  /** Numbers for a scrape: they name nobody and nothing, so whoever may reach the socket may read them. */
  metrics(): string;
  readonly clock: Clock;
  /** Whose seat a connection takes, since one process cannot have them all, and who else waits before the door. */
  readonly peers: SocketPeers;
  /** An operator who has proven their key speaks on this connection. */
  onOperator(socket: Socket, login: Login): void;
  correlationId(): string;
  onRecord: Observers<OperatorContext>["onRecord"];
  onFault(error: unknown, correlationId: string): void;
}

const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Listens for operators on a socket that only they can open; who speaks is proven by the login, not by that. */
export async function listenForOperators(options: OperatorListenerOptions): Promise<{ close(): void }> {
  const seatOf = new WeakMap<Duplex, Seat>();
  const strict = createRequestListener<IncomingMessage, OperatorContext>({
    routes: options.routes.map(({ bound }) => bound),
    principalOf: ({ socket, headers: { authorization } }) => ({
      name: "operator plane",
      login() {
        const login = options.logins.find(authorization);
        seatOf.get(socket)?.stand("approved");
        options.onOperator(socket, login);
        return login;
      },
    }),
    correlationId: options.correlationId,
    onRecord: options.onRecord,
    onFault: options.onFault,
  });
  const streams = new Set<ServerResponse>();
  const seats = createSeats({
    perHolder: defaults.operatorConnectionsPerProcess,
    total: defaults.operatorConnections,
    dropBusy: true,
  });
  const timed = {
    maxHeaderSize: defaults.agentHeaderBytes,
    requireHostHeader: false,
    headersTimeout: defaults.planeHeadMs,
    requestTimeout: defaults.planeBodyMs,
    // Whoever sits idle makes room when others come. A time for that would end, after a moment in which the gateway was busy,
    // a connection whose next request has come and was not read yet.
    keepAliveTimeout: 0,
    connectionsCheckingInterval: defaults.planeLookMs,
  };
  const server = createServer(timed, (request, response) => {
    const seat = seatOf.get(request.socket);
    seat?.busy();
    response.once("close", () => seat?.idle());
    if (request.method === "GET" && request.url === "/v1/events") stream(request, response);
    else if (request.method === "GET" && request.url === "/v1/metrics") {
      tellNumbers(response);
    } else strict(request, response);
  });

  /** They are asked of the kernel, and a disk that fails or descriptors that ran out must not end the gateway. */
  function tellNumbers(response: ServerResponse): void {
    let text: string;
    try {
      text = options.metrics();
    } catch (error) {
      const id = options.correlationId();
      refuse(response, deniedByFiles(error) ?? asDenied(error, id, options), id);
      return;
    }
    response.writeHead(200, { "content-type": METRICS_TYPE, "cache-control": "no-store" }).end(text);
  }

  function refuse(response: ServerResponse, denied: Denied, id: string): void {
    const { status, headers, body } = problemReply(denied, id);
    response.writeHead(status, headers).end(body);
  }

  /**
   * Server-sent events: every change of a question, so that several operators see the first decision at once, and boards
   * of operations. A board that finds the line full waits for it, and the newest takes its place.
   */
  function stream(request: IncomingMessage, response: ServerResponse): void {
    try {
      options.logins.find(request.headers.authorization);
      seatOf.get(request.socket)?.stand("approved");
    } catch (error) {
      if (!(error instanceof Denied)) throw error;
      const id = options.correlationId();
      tellRefused<OperatorContext>(options, null, error, id, null);
      refuse(response, error, id);
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store" });
    const send = (event: string, data: unknown): void => {
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      if (response.writableLength > defaults.operatorStreamBytes) response.destroy();
    };
    const ask = (approval: Parameters<typeof approvalRecord>[0]): void =>
      send("approval", approvalRecord(approval, options.clock.bootMs()));
    let owed: OperationBoard | null = null;
    const show = (board: OperationBoard): void => {
      if (response.writableNeedDrain) owed = board;
      else send("operations", board);
    };
    response.on("drain", () => {
      const board = owed;
      owed = null;
      if (board !== null) show(board);
    });
    for (const approval of options.desk.list()) ask(approval);
    const stops = [options.desk.watch(ask), options.operations.watch(show)];
    streams.add(response);
    response.once("close", () => {
      for (const stop of stops) stop();
      streams.delete(response);
    });
  }

  let resting = false;
  server.on("connection", (socket: Socket) => {
    const seat = seats.take(options.peers.nameOf(socket), () => socket.destroy());
    if (seat === null) socket.destroy();
    else {
      seatOf.set(socket, seat);
      socket.once("close", () => seat.leave());
    }
    if (!resting) emptyQueue();
  });

  /** Nobody waits behind a crowd: now and then all are let in at once, but for more of a process that has its seats already. */
  function emptyQueue(): void {
    resting = true;
    setTimeout(() => {
      resting = false;
    }, defaults.operatorQueueMs).unref();
    options.peers.takeWaiting(
      server,
      defaults.operatorConnections,
      (pid) => !seats.hasShare(pid),
      (socket) => server.emit("connection", socket),
    );
  }

  // Refused in our own words, like every other request.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  const clientError = createClientErrorHandler<Duplex & { readonly bytesWritten: number }>(
    options.correlationId,
    (denied, id, bytes) => tellRefused<OperatorContext>(options, null, denied, id, bytes),
  );
  server.on("clientError", (error, socket: Duplex & { readonly bytesWritten: number }) => clientError(error, socket));
  clearSocketPath(options.socket);
  const mask = process.umask(0o177);
  let failListen = (_error: Error): void => undefined;
  await new Promise<void>((resolve, reject) => {
    failListen = reject;
    server.once("error", failListen);
    server.listen(options.socket.path, () => resolve());
  }).finally(() => process.umask(mask));
  // A connection that could not be taken, for want of descriptors for instance, must not end the gateway.
  server.off("error", failListen).on("error", (error) => options.onFault(error, options.correlationId()));
  openTo(options.socket);
  return {
    close() {
      for (const response of streams) response.end();
      server.close();
      server.closeAllConnections();
    },
  };
}
