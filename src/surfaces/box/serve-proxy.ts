import { timingSafeEqual } from "node:crypto";
import { createServer, type Server as HttpServer, type IncomingMessage } from "node:http";
import type { AddressInfo, Server, Socket } from "node:net";
import { defaults } from "../../kernel/defaults.ts";
import { createSeats, type Seat } from "../plane/seats.ts";
import { createWays, refuseBare, type WayOut } from "./serve-requests.ts";

/** Where tools find it, and how it ends. */
export interface Proxy {
  readonly url: string;
  close(): void;
}

/** Who may use it. */
interface Admission {
  knows(request: IncomingMessage): boolean;
  isOurs(socket: Socket): boolean;
  /** The same of whoever names no token. */
  isSeenOurs(socket: Socket): boolean;
}

/**
 * The same way out for tools that are in no box: a proxy on loopback. Any program of this machine can knock there, so that it takes
 * the run's token, and where the system tells who is at the other end, processes that the run started and no others.
 */
export async function serveProxy(out: WayOut, token: string, seesPeers: boolean): Promise<Proxy> {
  const wanted = Buffer.from(`Basic ${Buffer.from(`gw:${token}`).toString("base64")}`);
  const seats = seatStrangers();
  const isOurs = (socket: Socket): boolean => {
    const { remoteAddress = "", remotePort = 0, localPort = 0 } = socket;
    const ours = !seesPeers || out.findHolder(remoteAddress, remotePort, localPort) !== null;
    if (ours) seats.keep(socket);
    return ours;
  };
  const { proxy, close } = createProxy(out, {
    knows: ({ headers }) => {
      const said = Buffer.from(headers["proxy-authorization"] ?? "");
      return said.byteLength === wanted.byteLength && timingSafeEqual(said, wanted);
    },
    isOurs,
    isSeenOurs: (socket) => seesPeers && isOurs(socket),
  });
  proxy.on("connection", seats.take);
  await new Promise<void>((resolve, reject) => void proxy.once("error", reject).listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  return { url: `http://gw:${token}@127.0.0.1:${port}`, close };
}

/** Anybody of this machine can connect: whoever was not seen to be of the run makes room for newcomers. */
function seatStrangers(): { take(socket: Socket): void; keep(socket: Socket): void } {
  const most = defaults.boxConnections;
  const seats = createSeats({ perHolder: most, total: most, dropBusy: true });
  const seatOf = new WeakMap<Socket, Seat>();
  return {
    take(socket) {
      const seat = seats.take(0, () => socket.destroy());
      if (seat === null) return void socket.destroy();
      seatOf.set(socket, seat);
      socket.once("close", seat.leave);
    },
    keep(socket) {
      const seat = seatOf.get(socket);
      seat?.stand("approved");
      seat?.busy();
    },
  };
}

/** The way out of a box that catches no connections: its loopback is its own, so that whoever comes is of the box. */
export function serveBoxProxy(listeners: readonly Server[], out: WayOut): void {
  const { proxy } = createProxy(out, { knows: () => true, isOurs: () => true, isSeenOurs: () => true });
  for (const listener of listeners) {
    listener.maxConnections = defaults.boxConnections;
    listener.on("connection", (socket: Socket) => void proxy.emit("connection", socket));
  }
}

function createProxy(
  out: WayOut,
  { knows, isOurs, isSeenOurs }: Admission,
): { readonly proxy: HttpServer; close(): void } {
  const { secure, plain } = createWays(out);
  const proxy = createServer({ maxHeaderSize: defaults.boxHeadBytes, headersTimeout: defaults.boxHeadMs });
  // Those that CONNECT took over are no connections of the server's any more, and whoever was refused need not hang up.
  const open = new Set<Socket>();
  proxy.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
  proxy.on("request", (request, response) => {
    if (!knows(request)) response.writeHead(407, { "proxy-authenticate": 'Basic realm="gw"' }).end();
    else if (!isOurs(request.socket)) refuseBare(request.socket, "stranger", "http", request, out);
    else if (toOrigin(request)) plain.emit("request", request, response);
    else refuseBare(request.socket, "whole_url", "http", request, out);
  });
  proxy.on("connect", (request, socket: Socket, head: Buffer) => {
    socket.on("error", () => undefined);
    if (!knows(request)) socket.end(UNKNOWN);
    else if (!isOurs(socket)) refuseBare(socket, "stranger", "https", request, out);
    else {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      if (head.byteLength > 0) socket.unshift(head);
      // Which host is meant is said by the TLS name and the Host field: nothing is connected to what CONNECT names.
      const late = (): void => void socket.destroy();
      socket.setTimeout(defaults.boxHandshakeMs, late);
      socket.once("data", (first: Buffer) => {
        socket.setTimeout(0, late);
        socket.pause();
        socket.unshift(first);
        const isSecure = first[0] === TLS_HANDSHAKE;
        (isSecure ? secure : plain).emit("connection", socket);
        // TLS takes what is there by itself.
        if (!isSecure) socket.resume();
      });
    }
  });
  proxy.on("upgrade", (request, socket: Socket) => {
    socket.on("error", () => undefined);
    if (!knows(request)) socket.end(UNKNOWN);
    else refuseBare(socket, isOurs(socket) ? "upgrade" : "stranger", "http", request, out);
  });
  // What cannot be read has no token: of whoever the run did not start it would be told as the run's own.
  proxy.on("clientError", (_error, socket: Socket) => {
    if (isSeenOurs(socket)) refuseBare(socket, "malformed", "http", null, out);
    else socket.destroy();
  });
  return {
    proxy,
    close: () => {
      proxy.close();
      for (const one of open) one.destroy();
    },
  };
}

/** `GET http://host/path` becomes what would have been sent to the host itself; false where it names two. */
function toOrigin(request: IncomingMessage): boolean {
  const url = request.url ?? "";
  if (!url.startsWith("http://")) return false;
  const at = url.indexOf("/", "http://".length);
  const host = url.slice("http://".length, at < 0 ? undefined : at);
  if (host.toLowerCase() !== (request.headers.host ?? "").toLowerCase()) return false;
  request.url = at < 0 ? "/" : url.slice(at);
  request.rawHeaders = request.rawHeaders.filter(
    (_, index, all) => !OWN.has((all[index - (index % 2)] ?? "").toLowerCase()),
  );
  return true;
}

/** To who names no token, or not that of the run. It is no request of the run, and nothing is said of it. */
const UNKNOWN =
  'HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm="gw"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n';

/** Some tools send plain HTTP through CONNECT as well. */
const TLS_HANDSHAKE = 0x16;

/** Between the tool and this program alone. */
const OWN = new Set(["proxy-authorization", "proxy-connection"]);
