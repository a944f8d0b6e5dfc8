import type { Socket } from "node:net";
import { Client } from "undici";

/**
 * One socket, dialled by us, under one undici client that carries one exchange at a time. The client may ask for its
 * socket once: when that one is gone it cannot quietly dial another and send the request again.
 */
export interface Connection {
  readonly client: Client;
  readonly socket: Socket;
  readonly address: string;
  /** Exchanges completed on it so far. */
  uses: number;
}

export interface ConnectionLimits {
  readonly idleMs: number;
  readonly responseHeaderBytes: number;
}

export class SocketSpent extends Error {
  override readonly name = "SocketSpent";
}

export function openConnection(origin: string, address: string, socket: Socket, limits: ConnectionLimits): Connection {
  let given = false;
  const client = new Client(origin, {
    connect: (_options, callback) => {
      const first = !given;
      given = true;
      // Not in this turn: the client forgets a request whose socket arrives before `connect` has returned.
      queueMicrotask(() =>
        first ? callback(null, socket) : callback(new SocketSpent("the connection is gone"), null),
      );
    },
    allowH2: false,
    pipelining: 1,
    maxHeaderSize: limits.responseHeaderBytes,
    // The send has one deadline of its own.
    headersTimeout: 0,
    bodyTimeout: 0,
    keepAliveTimeout: limits.idleMs,
    keepAliveMaxTimeout: limits.idleMs,
    keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
  });
  return { client, socket, address, uses: 0 };
}

/** A server that says `Keep-Alive: timeout=N` is left this much before N, so that our bytes do not cross its close. */
const KEEP_ALIVE_MARGIN_MS = 2_000;

/** Fit for another exchange: open, and every byte of the last request was taken by the system. */
export function isReusable(connection: Connection): boolean {
  return !connection.socket.destroyed && connection.socket.writableLength === 0;
}

export function closeConnection(connection: Connection): void {
  connection.client.destroy().catch(() => {});
  // The client only knows the socket once it has asked for it.
  connection.socket.destroy();
}
