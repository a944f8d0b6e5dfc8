import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** A server on loopback that does exactly what a test says, byte by byte. For tests only. */
export interface ScriptedServer extends AsyncDisposable {
  readonly port: number;
  /** Whole requests that arrived, in order. */
  readonly requests: readonly ReceivedRequest[];
  /** Every byte that arrived on any connection. */
  bytesReceived(): number;
  /** Connections accepted so far. */
  readonly accepted: readonly Socket[];
}

export interface ReceivedRequest {
  readonly head: string;
  readonly body: Buffer;
  readonly connection: number;
}

export interface Script {
  onConnection?(socket: Socket, index: number): void;
  /** Called as soon as the header section is whole. */
  onHead?(socket: Socket, head: string): void;
  onRequest?(socket: Socket, request: ReceivedRequest, index: number): void;
  readonly tls?: TlsOptions;
  readonly host?: string;
}

export async function startScriptedServer(script: Script): Promise<ScriptedServer> {
  const requests: ReceivedRequest[] = [];
  const accepted: Socket[] = [];
  let received = 0;
  const serve = (socket: Socket): void => {
    const connection = accepted.push(socket) - 1;
    let pending = Buffer.alloc(0);
    let headSeen = false;
    socket.on("error", () => {});
    script.onConnection?.(socket, connection);
    socket.on("data", (chunk) => {
      received += chunk.byteLength;
      pending = Buffer.concat([pending, chunk]);
      for (let end = pending.indexOf("\r\n\r\n"); end >= 0; end = pending.indexOf("\r\n\r\n")) {
        const head = pending.toString("latin1", 0, end);
        if (!headSeen) script.onHead?.(socket, head);
        headSeen = true;
        const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
        if (pending.byteLength < end + 4 + length) return;
        const request = { head, body: pending.subarray(end + 4, end + 4 + length), connection };
        pending = pending.subarray(end + 4 + length);
        headSeen = false;
        const index = requests.push(request) - 1;
        script.onRequest?.(socket, request, index);
      }
    });
  };
  const server: Server = script.tls === undefined ? createServer(serve) : createTlsServer(script.tls, serve);
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, script.host ?? "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    port: address.port,
    requests,
    accepted,
    bytesReceived: () => received,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        for (const socket of accepted) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

/** A whole response with a stated length. */
export function response(status: string, headers: Readonly<Record<string, string>>, body = ""): string {
  const fields = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
  return `HTTP/1.1 ${status}\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`;
}
