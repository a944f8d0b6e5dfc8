import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { codes } from "../../kernel/codes.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { isJsonObject, type JsonObject } from "../../kernel/json.ts";
import { Secret } from "../../kernel/secret.ts";
import type { HeldKeys } from "./hold-keys.ts";

export interface KeyServerPorts {
  /** Whether the process at the other end is this user's and runs the program that we run. */
  isOwnProgram(socket: Socket): boolean;
  /** Nobody needs this program any more. */
  ended(): void;
}

/** The private socket behind `gw login`. Whoever is not one of our own programs is hung up on without a word. */
export function serveKeys(path: string, held: HeldKeys, ports: KeyServerPorts): Promise<{ close(): void }> {
  const server = createServer(
    {
      maxHeaderSize: 4_096,
      requireHostHeader: false,
      headersTimeout: 5_000,
      requestTimeout: 5_000,
      // A person takes the time they need to type a PIN, and the command that asks for it has this one connection.
      keepAliveTimeout: 0,
    },
    (request, response) => void answer(request, response),
  );
  server.maxConnections = defaults.loginConnections;
  server.on("connection", (socket: Socket) => {
    if (!ports.isOwnProgram(socket)) socket.destroy();
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      reply(response, 200, await serve(`${request.method} ${request.url}`, await readBody(request)));
    } catch (error) {
      const { code, message } = error instanceof Denied ? error : new Denied("json_malformed", "Not understood.");
      reply(response, codes[code].status, { code, message });
    }
    if (!held.look()) response.once("close", () => ports.ended());
  }

  async function serve(route: string, body: JsonObject): Promise<JsonObject> {
    switch (route) {
      case "GET /v1/login": {
        if (!held.look()) throw new Denied("login_over", "This login has ended.");
        const { operator, keyId, vaultId } = held.holder;
        const who = { operator, operator_key_id: keyId, vault_id: vaultId };
        return { ...who, has_pin: held.hasPin, left_ms: Math.ceil(held.leftMs()) };
      }
      case "POST /v1/reading-login":
        return held.signReading(text(body["vault_id"]), text(body["challenge"])) as unknown as JsonObject;
      case "POST /v1/reading-key":
        return { key: base64(held.readingKey()) };
      case "POST /v1/open": {
        using pin = Secret.fromText(text(body["pin"]));
        return { keys: base64(await held.open(pin)) };
      }
      case "POST /v1/logout":
        held.wipe();
        return {};
      default:
        throw new Denied("not_found", "There is no such request.");
    }
  }

  return new Promise((resolve, reject) => {
    server.once("error", reject);
    const mask = process.umask(0o177);
    server.listen(path, () => {
      process.umask(mask);
      resolve({
        close() {
          server.close();
          server.closeAllConnections();
        },
      });
    });
  });
}

function reply(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    if (length > defaults.loginRequestBytes) throw new Denied("body_too_large", "That is too long.");
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  for (const chunk of chunks) chunk.fill(0);
  const parsed: unknown = whole.byteLength === 0 ? {} : JSON.parse(whole.toString("utf8"));
  whole.fill(0);
  if (!isJsonObject(parsed as JsonObject)) throw new Denied("json_malformed", "That is no object.");
  return parsed as JsonObject;
}

function text(value: unknown): string {
  if (typeof value === "string") return value;
  throw new Denied("json_malformed", "A text is missing.");
}

function base64(bytes: Buffer): string {
  const written = bytes.toString("base64");
  bytes.fill(0);
  return written;
}
