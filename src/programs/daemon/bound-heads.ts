import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

export interface HeadLimits {
  /** From the first byte to the end of the head, and from connecting to the first byte. */
  readonly headMs: number;
  readonly bodyMs: number;
}

/**
 * Times heads and bodies on a server that listens nowhere itself, where Node keeps no time: whoever trickles is let go. How long an
 * answer takes is not its business: that may be a person.
 */
export function boundHeads(server: Server, limits: HeadLimits, late: (socket: Duplex) => void): void {
  const timers = new WeakMap<Duplex, NodeJS.Timeout>();
  const serving = new WeakSet<Duplex>();
  const stop = (socket: Duplex): void => {
    clearTimeout(timers.get(socket));
    timers.delete(socket);
  };
  const start = (socket: Duplex, ms: number): void => {
    stop(socket);
    timers.set(socket, setTimeout(() => late(socket), ms).unref());
  };
  server.on("connection", (socket: Duplex) => {
    start(socket, limits.headMs);
    socket.on("data", () => {
      if (!serving.has(socket) && !timers.has(socket)) start(socket, limits.headMs);
    });
    socket.once("close", () => stop(socket));
  });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request;
    serving.add(socket);
    start(socket, limits.bodyMs);
    request.once("end", () => stop(socket));
    response.once("close", () => {
      stop(socket);
      serving.delete(socket);
    });
  });
  server.on("upgrade", (_request: IncomingMessage, socket: Duplex) => {
    serving.add(socket);
    stop(socket);
  });
}
