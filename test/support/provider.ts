import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A provider on loopback that answers as a test says and remembers what it was asked. */
export interface TestProvider {
  readonly origin: string;
  readonly received: readonly Received[];
  answer(handler: (request: Received, response: ServerResponse) => void): void;
  close(): Promise<void>;
}

export function startProvider(): Promise<TestProvider> {
  return serveProvider((listener) => createServer(listener), "http", "127.0.0.1");
}

/** The same behind any server of HTTP. */
export async function serveProvider(
  serve: (listener: RequestListener) => Server,
  scheme: "http" | "https",
  host: string,
): Promise<TestProvider> {
  const received: Received[] = [];
  let handler: (request: Received, response: ServerResponse) => void = (request, response) => {
    response.writeHead(200, { "content-type": "application/json", "x-request-id": `req-${received.length}` });
    response.end(JSON.stringify({ ok: true, url: request.url }));
  };
  const server = serve(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
    const request = {
      method: incoming.method ?? "",
      url: incoming.url ?? "",
      headers: incoming.headers,
      body: Buffer.concat(chunks).toString("utf8"),
    };
    received.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    origin: `${scheme}://${host}:${(server.address() as AddressInfo).port}`,
    received,
    answer(next) {
      handler = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
