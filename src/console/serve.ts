import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { createSeats, type Seat } from "../surfaces/plane/seats.ts";
import type { Api } from "./api.ts";
import { type Guard, requireOwnOrigin } from "./guard.ts";
import { readBody, send, sendError, sendJson, textOf } from "./http.ts";
import type { PageFiles } from "./page-files.ts";
import { answerApi } from "./routes.ts";

export interface Served {
  close(): void;
}

/** Both loopback addresses: a browser may try either for a name below localhost, and nobody else is to answer there. */
const ADDRESSES = ["127.0.0.1", "::1"] as const;

export async function serveConsole(
  port: number,
  origin: string,
  page: PageFiles,
  guard: Guard,
  api: Api,
  onEntered: () => void,
): Promise<Served> {
  const servers: Server[] = [];
  // Every user of this machine can connect: whoever has shown no key of a page makes room for newcomers.
  const seats = createSeats({
    perHolder: defaults.consoleConnections,
    total: defaults.consoleConnections,
    dropBusy: true,
  });
  const seatOf = new WeakMap<Socket, Seat>();
  const seat = (socket: Socket): void => {
    const taken = seats.take(0, () => socket.destroy());
    if (taken === null) return void socket.destroy();
    seatOf.set(socket, taken);
    socket.once("close", () => taken.leave());
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const taken = seatOf.get(request.socket);
    taken?.busy();
    response.once("close", () => taken?.idle());
    answerRequest(request, response).catch((error: unknown) => sendError(response, error));
  };

  async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireOwnOrigin(request.method ?? "", request.headers, origin);
    const url = new URL(request.url ?? "/", origin);
    const file = request.method === "GET" ? page.find(url.pathname) : undefined;
    if (file !== undefined) return send(response, 200, file.type, file.bytes);
    if (request.method === "POST" && url.pathname === "/api/enter") {
      const key = guard.enter(textOf(await readBody(request), "token", 100));
      sendJson(response, 200, { key });
      return onEntered();
    }
    guard.requirePage(request.headers);
    seatOf.get(request.socket)?.stand("approved");
    await answerApi(api, request, response, url);
  }

  try {
    for (const address of ADDRESSES) {
      const server = createServer({ maxHeaderSize: 16_384, requestTimeout: 30_000, headersTimeout: 10_000 }, answer);
      server.on("connection", seat);
      if (await listen(server, port, address)) servers.push(server);
    }
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  return {
    close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** False where the machine has no such address. */
function listen(server: Server, port: number, address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT") return resolve(false);
      if (error.code !== "EADDRINUSE") return reject(error);
      reject(
        new Denied(
          "console_port_taken",
          `Somebody listens on port ${port} already: a console of yours, or another program. Stop it, or use --port. Passkeys belong to the port they were enrolled at.`,
        ),
      );
    });
    server.listen(port, address, () => {
      const { port: got } = server.address() as AddressInfo;
      resolve(got === port);
    });
  });
}
