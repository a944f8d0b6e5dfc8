import type { IncomingMessage, ServerResponse } from "node:http";
import { codes } from "../kernel/codes.ts";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../kernel/json.ts";
import { Unreachable } from "../surfaces/client/connection.ts";

/** What every answer carries: nothing is kept, framed, sniffed, sent elsewhere, or run that did not come from here. */
const HEADERS = {
  "cache-control": "no-store",
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy":
    "publickey-credentials-get=(self), publickey-credentials-create=(self), camera=(), microphone=(), geolocation=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

export function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  // What waits behind other answers is held: of a file its own bytes, and no copy for each who asks.
  const bytes = typeof body === "string" ? Buffer.from(body) : body;
  response.writeHead(status, { ...HEADERS, "content-type": type, "content-length": bytes.length });
  response.end(bytes);
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  send(response, status, "application/json", JSON.stringify(body));
}

/** What went wrong as the page shows it: the code, and words for a person. */
export function sendError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  if (error instanceof Denied) {
    sendJson(response, codes[error.code].status, { code: error.code, message: error.message });
  } else if (error instanceof Unreachable) {
    sendJson(response, 503, { code: "gateway_unreachable", message: error.message });
  } else {
    const message = error instanceof Error ? error.message : String(error);
    sendJson(response, 500, { code: "internal_fault", message: `gw console stumbled: ${message}` });
  }
}

/** A page that sleeps reads nothing, for hours: what waits for it is bounded, and what comes after its end is dropped. */
export function openStream(response: ServerResponse): (event: string, data: unknown) => void {
  response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
  response.write(": hello\n\n");
  return (event, data) => {
    if (response.writableEnded) return;
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (response.writableLength > defaults.consoleUnreadBytes) response.destroy();
  };
}

/** A small JSON object, and nothing else. */
export async function readBody(request: IncomingMessage): Promise<JsonObject> {
  if (request.headers["content-type"] !== "application/json") {
    throw new Denied("media_type_unsupported", "The console takes application/json.");
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > defaults.consoleBodyBytes) throw new Denied("body_too_large", "That is more than the console takes.");
    chunks.push(chunk);
  }
  let value: JsonValue;
  try {
    value = JSON.parse(Buffer.concat(chunks).toString("utf8")) as JsonValue;
  } catch {
    throw new Denied("json_malformed", "The body is no JSON.");
  }
  if (isJsonObject(value)) return value;
  throw new Denied("json_malformed", "The body is no object.");
}

export function textOf(body: JsonObject, name: string, max = 2_000): string {
  const value = body[name];
  if (typeof value === "string" && value.length <= max && value.isWellFormed()) return value;
  throw new Denied("value_not_allowed", `${name} has to be a text of at most ${max} characters.`);
}

export function textOrNull(body: JsonObject, name: string): string | null {
  const value = body[name];
  if (value === undefined || value === null) return null;
  const text = textOf(body, name).trim();
  return text === "" ? null : text;
}
