import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Connection } from "../connection.ts";
import type { ExchangeRequest } from "../exchange.ts";
import { Stop } from "../stop.ts";

/** A connection of ours to a server on loopback, without a pool. For tests only. */
export async function openTo(server: { readonly port: number }, idleMs = 1_000): Promise<Connection & Disposable> {
  const socket: Socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  const limits = { idleMs, responseHeaderBytes: 16_384 };
  const connection = new Connection(`127.0.0.1:${server.port}`, "127.0.0.1", socket, limits);
  return Object.assign(connection, { [Symbol.dispose]: () => connection.close() });
}

export function get(path: string): ExchangeRequest {
  return { method: "GET", path, headers: [], body: null, responseBytes: 1_000 };
}

export function stoppable() {
  const controller = new AbortController();
  const stop = new Stop(30_000, controller.signal);
  return { stop, abort: () => controller.abort(), [Symbol.dispose]: () => stop.end() };
}
