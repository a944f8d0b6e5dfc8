import { chmodSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { CallerPlatform, LiveCaller } from "../../../conventions/caller/port.ts";
import { Fault } from "../../../kernel/failure.ts";

export interface PlainListenerOptions {
  readonly path: string;
  readonly mode: number;
  readonly callers: CallerPlatform;
  accept(connection: Socket, caller: Promise<LiveCaller>): void;
}

/** Plain sockets: macOS does not say who wrote a byte, so an inherited or passed descriptor is not noticed here. */
export async function listenPlain(options: PlainListenerOptions): Promise<{ close(): void }> {
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (socket) => {
    const caller = options.callers.identify(descriptorOf(socket));
    caller.catch(() => undefined);
    options.accept(socket, caller);
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(options.path, resolve);
  });
  chmodSync(options.path, options.mode);
  return {
    close() {
      server.close();
      rmSync(options.path, { force: true });
    },
  };
}

/** Node keeps the descriptor in an internal handle; a Node that no longer does fails here and lets nobody in. */
function descriptorOf(socket: Socket): number {
  const handle: unknown = Reflect.get(socket, "_handle");
  const fd: unknown = typeof handle === "object" && handle !== null ? Reflect.get(handle, "fd") : undefined;
  if (typeof fd !== "number" || fd < 0) throw new Fault("this Node does not show a socket's descriptor");
  return fd;
}
