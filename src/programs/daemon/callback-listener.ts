import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, Socket } from "node:net";
import { createClientErrorHandler } from "../../../packages/request/src/client-error.ts";
import { createRequestListener } from "../../../packages/request/src/node-http.ts";
import { type Observers, tellRefused } from "../../../packages/request/src/serve.ts";
import { createAllowances } from "../../conventions/budget/allowance.ts";
import type { Clock } from "../../kernel/clock.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { networkOf } from "../../kernel/network.ts";
import type { CallbackContext } from "../../surfaces/callbacks/routes.ts";
import type { PlaneRoute } from "../../surfaces/plane/route.ts";
import { boundUnanswered } from "./bound-unanswered.ts";
import type { CallbackAddress } from "./callback-address.ts";

export interface CallbackListenerOptions {
  readonly address: CallbackAddress;
  readonly routes: readonly PlaneRoute<CallbackContext>[];
  readonly clock: Pick<Clock, "bootMs">;
  /** Shorter ones are for tests alone. */
  readonly limits?: { readonly headMs: number; readonly requestMs: number; readonly lookMs: number };
  correlationId(): string;
  onRecord: Observers<CallbackContext>["onRecord"];
  onFault(error: unknown, correlationId: string): void;
}

export interface CallbackListener {
  /** With the port that was taken. */
  readonly address: CallbackAddress;
  close(): void;
}

/** Listens for providers. Everything a stranger can use up is bounded: connections, time, bytes, requests a second. */
export async function listenForCallbacks(options: CallbackListenerOptions): Promise<CallbackListener> {
  const { headMs, requestMs, lookMs } = options.limits ?? standardLimits;
  const serve = createRequestListener<IncomingMessage, CallbackContext>({
    routes: options.routes.map(({ bound }) => bound),
    principalOf: createTurnstile(options.clock),
    correlationId: options.correlationId,
    // What the gateway itself takes and refuses it has written down, with what it knows of it.
    onRecord: options.onRecord,
    onFault: options.onFault,
  });
  const bounded = boundUnanswered<Socket>((_socket, denied) =>
    tellRefused<CallbackContext>(options, null, denied, options.correlationId(), null),
  );
  const server = createServer(
    {
      maxHeaderSize: defaults.callbackHeaderBytes,
      requireHostHeader: false,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: lookMs,
      keepAliveTimeout: defaults.callbackIdleMs,
    },
    (request, response) => {
      if (bounded(request.socket, response)) serve(request, response);
    },
  );
  server.maxConnections = defaults.callbackConnections;
  boundConnections(server);
  // Refused in our own words, like every other request.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response));
  const clientError = createClientErrorHandler<Socket>(options.correlationId, (denied, id, bytes) =>
    tellRefused<CallbackContext>(options, null, denied, id, bytes),
  );
  server.on("clientError", (error, socket) => {
    if (socket instanceof Socket) clientError(error, socket);
    else socket.destroy();
  });
  const { host } = options.address;
  let refuse = (_error: Error): void => undefined;
  await new Promise<void>((resolve, reject) => {
    refuse = reject;
    server.once("error", refuse);
    server.listen({ host, port: options.address.port, exclusive: true }, () => resolve());
  });
  // A connection that could not be taken, for want of descriptors for instance, must not end the gateway.
  server.off("error", refuse).on("error", (error) => options.onFault(error, options.correlationId()));
  const { port } = server.address() as AddressInfo;
  return {
    address: { host, port },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const standardLimits = {
  headMs: defaults.callbackHeadMs,
  requestMs: defaults.callbackRequestMs,
  lookMs: defaults.callbackLookMs,
};

/** So many requests a second from one peer, and from all together. Refused before a byte of the body is read. */
function createTurnstile({
  bootMs,
}: Pick<Clock, "bootMs">): (request: IncomingMessage, correlationId: string) => CallbackContext {
  const peers = createAllowances({
    burst: defaults.callbacksBurstPerPeer,
    perSecond: defaults.callbacksPerSecondPerPeer,
    remembered: defaults.callbackPeersRemembered,
  });
  const everybody = createAllowances({
    burst: defaults.callbacksBurst,
    perSecond: defaults.callbacksPerSecond,
    remembered: 1,
  });
  return ({ socket, rawHeaders }, correlationId) => {
    const peer = socket.remoteAddress ?? "gone";
    const nowMs = bootMs();
    if (!peers.take(networkOf(peer), nowMs) || !everybody.take("everybody", nowMs)) {
      throw new Denied("too_many_requests", "Too many requests in a short time.");
    }
    return { name: peer, peer, rawHeaders, correlationId };
  };
}

function boundConnections(server: Server): void {
  const open = new Map<string, number>();
  server.on("connection", (socket: Socket) => {
    const network = networkOf(socket.remoteAddress ?? "gone");
    const count = (open.get(network) ?? 0) + 1;
    open.set(network, count);
    socket.once("close", () => {
      const left = (open.get(network) ?? 1) - 1;
      if (left === 0) open.delete(network);
      else open.set(network, left);
    });
    if (count > defaults.callbackConnectionsPerPeer) socket.destroy();
  });
}
