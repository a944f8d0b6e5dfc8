import type { Server, Socket } from "node:net";
import { Fault } from "../../kernel/failure.ts";

/** Node keeps the descriptor in an internal handle; a Node that no longer does fails here and lets nobody in. */
export function descriptorOf(socket: Socket | Server): number {
  const handle: unknown = Reflect.get(socket, "_handle");
  const fd: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "fd") : undefined;
  if (typeof fd !== "number" || fd < 0) throw new Fault("this Node does not show a socket's descriptor");
  return fd;
}
