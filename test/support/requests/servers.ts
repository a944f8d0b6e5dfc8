import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import Fastify from "fastify";
import { createClientErrorHandler } from "../../../packages/request/src/client-error.ts";
import { refuseNotFound, strictRequests, strictServerOptions } from "../../../packages/request/src/fastify.ts";
import { createRequestListener } from "../../../packages/request/src/node-http.ts";
import type { RequestRecord } from "../../../packages/request/src/record.ts";
import { bindAll } from "./routes.ts";

export interface TestServer {
  readonly skin: "node:http" | "fastify";
  readonly port: number;
  readonly records: RequestRecord[];
  readonly faults: unknown[];
  /** Resolves once this many requests have been recorded. */
  recorded(count: number): Promise<void>;
  /** The most that any one connection made the server read. */
  mostRead(): number;
  close(): Promise<void>;
}

function watchRecords(records: RequestRecord[]): Pick<TestServer, "recorded"> & { add(record: RequestRecord): void } {
  const news = new EventEmitter();
  return {
    add(record) {
      records.push(record);
      news.emit("record");
    },
    async recorded(count) {
      while (records.length < count) await once(news, "record");
    },
  };
}

function watchReads(server: Server): () => number {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket));
  return () => Math.max(0, ...sockets.map((socket) => socket.bytesRead));
}

let next = 0;
const correlationId = (): string => `corr-${next++}`;

export async function startNodeServer(): Promise<TestServer> {
  const records: RequestRecord[] = [];
  const { add, recorded } = watchRecords(records);
  const faults: unknown[] = [];
  const server = createServer(
    { requireHostHeader: false },
    createRequestListener<IncomingMessage>({
      routes: bindAll(),
      principalOf: (request) => `tcp:${request.socket.remoteAddress}`,
      correlationId,
      onRecord: add,
      onFault: (error) => void faults.push(error),
    }),
  );
  server.on("clientError", createClientErrorHandler(correlationId));
  const mostRead = watchReads(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    ...{ skin: "node:http", port, records, faults, recorded, mostRead },
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

export async function startFastifyServer(): Promise<TestServer> {
  const records: RequestRecord[] = [];
  const { add, recorded } = watchRecords(records);
  const faults: unknown[] = [];
  const app = Fastify({ ...strictServerOptions(correlationId), forceCloseConnections: true });
  app.setNotFoundHandler(refuseNotFound);
  await app.register(strictRequests, {
    routes: bindAll(),
    principalOf: (request) => `tcp:${request.ip}`,
    onRecord: add,
    onFault: (error) => void faults.push(error),
  });
  const mostRead = watchReads(app.server);
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  return { skin: "fastify", port, records, faults, recorded, mostRead, close: () => app.close() };
}

export interface RawReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
  /** Whether the server ended the connection after this reply. */
  readonly closed: boolean;
}

/** Writes bytes to a socket exactly as given and reads one whole reply. */
export async function sendRaw(port: number, pieces: readonly (string | Buffer)[]): Promise<RawReply> {
  const socket = connect({ port, host: "127.0.0.1" });
  // A server may end the connection while we still write; what it said before that is what counts.
  socket.on("error", () => {});
  const isHead = pieces[0]?.toString("latin1").startsWith("HEAD ") ?? false;
  let received = Buffer.alloc(0);
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.on("data", (chunk) => {
    received = Buffer.concat([received, chunk]);
    if (isWhole(received, isHead)) resolve();
  });
  socket.on("close", () => resolve());
  for (const piece of pieces) socket.write(piece);
  await promise;
  const reply = parseReply(received);
  const wantsClose = reply.headers.get("connection") === "close";
  if (wantsClose && !socket.closed) await once(socket, "close").catch(() => {});
  socket.destroy();
  return { ...reply, closed: wantsClose };
}

/** Writes `filler` until the server ends the connection. What it said is not asked: a reset may overtake the reply. */
export async function sendEndless(port: number, head: string, filler: string): Promise<void> {
  const socket = connect({ port, host: "127.0.0.1" });
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.on("error", () => {});
  socket.resume();
  socket.write(head);
  const pump = (): void => {
    while (socket.writable && socket.write(filler));
  };
  socket.on("drain", pump);
  pump();
  await closed;
}

function isWhole(bytes: Buffer, isHead: boolean): boolean {
  const end = bytes.indexOf("\r\n\r\n");
  if (end < 0 || isHead) return end >= 0;
  const { headers } = parseReply(bytes);
  return bytes.length >= end + 4 + Number(headers.get("content-length") ?? 0);
}

function parseReply(bytes: Buffer): Omit<RawReply, "closed"> {
  const text = bytes.toString("latin1");
  const [head = "", ...rest] = text.split("\r\n\r\n");
  const [line = "", ...fields] = head.split("\r\n");
  const headers = new Map(
    fields.map((field) => [
      field.slice(0, field.indexOf(":")).toLowerCase(),
      field.slice(field.indexOf(":") + 1).trim(),
    ]),
  );
  return { status: Number(line.split(" ")[1] ?? 0), headers, body: rest.join("\r\n\r\n") };
}
