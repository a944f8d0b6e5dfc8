import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { networkOf } from "../kernel/network.ts";
import { createSeats, type Seat } from "../surfaces/plane/seats.ts";
import type { Api } from "./api.ts";
import { type Guard, requireOwnOrigin } from "./guard.ts";
import { readBody, send, sendError, sendJson, textOf } from "./http.ts";
import type { Login } from "./login.ts";
import type { PageFiles } from "./page-files.ts";
import { answerApi } from "./routes.ts";

export interface Served {
  close(): void;
}

/** Where the console answers, and under which name. */
export interface ServedAt {
  readonly origin: string;
  readonly addresses: readonly string[];
  readonly port: number;
  /** Null on loopback, where nobody is in between. */
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
}

/** Both loopback addresses: a browser may try either for a name below localhost, and nobody else is to answer there. */
export const LOOPBACK = ["127.0.0.1", "::1"] as const;

const LIMITS = { maxHeaderSize: 16_384, requestTimeout: 30_000, headersTimeout: 10_000 } as const;
const TLS = { minVersion: "TLSv1.3", handshakeTimeout: 10_000 } as const;

export interface Entrances {
  readonly guard: Guard;
  /** Null where a link alone lets a page in. */
  readonly login: Login | null;
  /** After a link was used. */
  onEntered(): void;
}

export async function serveConsole(
  { origin, addresses, port, tls }: ServedAt,
  page: PageFiles,
  { guard, login, onEntered }: Entrances,
  api: Api,
): Promise<Served> {
  const servers: Server[] = [];
  // Everybody who gets here can connect: whoever has shown no key of a page makes room for newcomers.
  const seats = createSeats({
    // On loopback everybody has the same address.
    perHolder: tls === null ? defaults.consoleConnections : defaults.consoleConnections / 2,
    total: defaults.consoleConnections,
    dropBusy: true,
  });
  // By where it comes from: behind TLS a request names another socket than the one that was accepted.
  const seatOf = new Map<string, Seat>();
  const nameOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;
  const seat = (socket: Socket): void => {
    const taken = seats.take(holderOf(networkOf(socket.remoteAddress ?? "")), () => socket.destroy());
    if (taken === null) return void socket.destroy();
    const name = nameOf(socket);
    seatOf.set(name, taken);
    socket.once("close", () => {
      taken.leave();
      if (seatOf.get(name) === taken) seatOf.delete(name);
    });
  };
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const taken = seatOf.get(nameOf(request.socket));
    taken?.busy();
    response.once("close", () => taken?.idle());
    answerRequest(request, response).catch((error: unknown) => sendError(response, error));
  };

  async function answerRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requireOwnOrigin(request.method ?? "", request.headers, origin);
    const url = URL.parse(request.url ?? "/", origin);
    if (url === null) throw new Denied("not_found", "That is no address of anything here.");
    const file = request.method === "GET" ? page.find(url.pathname) : undefined;
    if (file !== undefined) return send(response, 200, file.type, file.bytes);
    const key = request.method === "POST" ? await enter(url.pathname, request) : null;
    if (key !== null) return sendJson(response, 200, key);
    const asking = guard.requirePage(request.headers);
    seatOf.get(nameOf(request.socket))?.stand("approved");
    await answerApi(api, asking, request, response, url);
  }

  /** What a page without a key may ask; null for everything else. */
  async function enter(path: string, request: IncomingMessage): Promise<object | null> {
    const address = networkOf(request.socket.remoteAddress ?? "");
    if (path === "/api/enter") {
      const key = guard.enter(textOf(await readBody(request), "token", 100));
      onEntered();
      return { key };
    }
    if (login === null) return null;
    if (path === "/api/login/begin") return login.begin(address);
    if (path !== "/api/login/finish") return null;
    const { credentialId } = await login.finish(address, await readBody(request));
    return { key: guard.admit(credentialId) };
  }

  try {
    for (const address of addresses) {
      const server =
        tls === null ? createServer(LIMITS, answer) : createTlsServer({ ...LIMITS, ...TLS, ...tls }, answer);
      server.on("connection", seat);
      if (await listen(server, port, address)) servers.push(server);
    }
  } catch (error) {
    for (const server of servers) server.close();
    throw error;
  }
  if (servers.length === 0) throw noAddress(addresses);
  return {
    close() {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}

/** Whether it could listen there, before anybody types a secret for it. */
export async function requireFree({ addresses, port }: ServedAt): Promise<void> {
  let some = false;
  for (const address of addresses) {
    const server = createServer();
    if (await listen(server, port, address)) some = true;
    await new Promise((closed) => server.close(closed));
  }
  if (!some) throw noAddress(addresses);
}

function noAddress(addresses: readonly string[]): Denied {
  return new Denied(
    "value_not_allowed",
    `This machine has no address ${addresses.join(" or ")}. See those that it has: ip address`,
  );
}

/** Seats are held by number; two networks with the same one share. */
function holderOf(network: string): number {
  return createHash("sha256").update(network, "utf8").digest().readUIntBE(0, 6);
}

/** False where the machine has no such address. */
function listen(server: Server, port: number, address: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRNOTAVAIL" || error.code === "EAFNOSUPPORT") return resolve(false);
      if (error.code === "EACCES")
        return reject(
          new Denied(
            "value_not_allowed",
            `You may not listen on port ${port}. Name another, 1024 or more: --origin https://NAME:PORT`,
          ),
        );
      if (error.code !== "EADDRINUSE") return reject(error);
      reject(
        new Denied(
          "console_port_taken",
          `Somebody listens on port ${port} already: a console of yours, or another program. Stop it, or use another port (--port; with --listen that of --origin). Passkeys belong to the port they were enrolled at.`,
        ),
      );
    });
    server.listen(port, address, () => {
      const { port: got } = server.address() as AddressInfo;
      resolve(got === port);
    });
  });
}
