import { chmodSync, chownSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { CallerPlatform, LiveCaller } from "../../../conventions/caller/port.ts";
import { descriptorOf } from "../descriptor.ts";

export interface PlainListenerOptions {
  readonly path: string;
  readonly mode: number;
  /** Who may open it beside its owner, where the mode lets a group in. */
  readonly group?: number | null;
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
  if (options.group !== undefined && options.group !== null) chownSync(options.path, -1, options.group);
  chmodSync(options.path, options.mode);
  return {
    close() {
      server.close();
      rmSync(options.path, { force: true });
    },
  };
}
