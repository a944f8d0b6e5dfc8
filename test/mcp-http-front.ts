import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type Duplex, duplexPair } from "node:stream";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly _meta?: Record<string, unknown> };
  readonly error?: { readonly code: number };
}

/** One line connection, and whoever waits for what comes out of it. */
interface Line {
  say(message: Message): void;
  listen(listener: (message: Message) => void): () => void;
  close(): void;
}

/**
 * The conformance suite speaks HTTP alone, and the product speaks lines over a local socket: this carries one to the
 * other and adds nothing. A session of the older revisions is one line connection; in the newer one every request is.
 */
export async function startHttpFront(
  serve: (socket: Duplex) => void,
): Promise<{ readonly url: string; close(): void }> {
  const sessions = new Map<string, Line>();
  const server = createServer((request, response) => {
    void answer(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    close() {
      for (const line of sessions.values()) line.close();
      server.closeAllConnections();
      server.close();
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page in a browser must not reach a server on loopback: the front's own duty, as the product has no HTTP for MCP.
    if (!isLocal(request.headers.host) || !isLocal(originOf(request.headers.origin))) return end(response, 403);
    const sessionId = String(request.headers["mcp-session-id"] ?? "");
    const kept = sessions.get(sessionId);
    if (sessionId !== "" && kept === undefined) return end(response, 404);
    if (request.method === "DELETE") {
      kept?.close();
      sessions.delete(sessionId);
      return end(response, 200);
    }
    if (request.method !== "POST") return end(response, 405);
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const message = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Message;
    if (message.method === "initialize") {
      const id = randomUUID();
      const line = openLine(serve);
      sessions.set(id, line);
      return stream(line, message, response, { "mcp-session-id": id });
    }
    const line = kept ?? openLine(serve);
    if (message.method === undefined || message.id === undefined) {
      line.say(message);
      return end(response, 202);
    }
    response.once("close", () => {
      if (kept === undefined) line.close();
    });
    return stream(line, message, response, {});
  }
}

/** Everything that the line says until it has answered, as events of one response. */
function stream(line: Line, message: Message, response: ServerResponse, headers: Record<string, string>): void {
  let begun = false;
  const stop = line.listen((out) => {
    const last = out.method === undefined && out.id === message.id;
    if (!begun && last && out.error !== undefined) {
      begun = true;
      response.writeHead(statusOf(out.error.code), { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(out));
      return stop();
    }
    if (!begun)
      response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-store", ...headers });
    begun = true;
    response.write(`event: message\ndata: ${JSON.stringify(out)}\n\n`);
    if (last) {
      stop();
      response.end();
    }
  });
  response.once("close", stop);
  line.say(message);
}

/** As the HTTP binding of the newer revision says. */
function statusOf(code: number): number {
  if (code === -32_601) return 404;
  return [-32_700, -32_600, -32_602, -32_020, -32_021, -32_022, -32_004].includes(code) ? 400 : 200;
}

function openLine(serve: (socket: Duplex) => void): Line {
  const [socket, peer] = duplexPair();
  const listeners = new Set<(message: Message) => void>();
  let rest = "";
  peer.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) for (const listener of [...listeners]) listener(JSON.parse(line) as Message);
  });
  serve(socket);
  return {
    say: (message) => void peer.write(`${JSON.stringify(message)}\n`),
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    close: () => void peer.end(),
  };
}

function end(response: ServerResponse, status: number): void {
  response.writeHead(status);
  response.end();
}

function originOf(origin: string | undefined): string | undefined {
  try {
    return origin === undefined ? undefined : new URL(origin).host;
  } catch {
    return "not an origin";
  }
}

function isLocal(host: string | undefined): boolean {
  return host === undefined || /^(?:127\.0\.0\.1|localhost|\[::1\])(?::[0-9]+)?$/.test(host);
}
