import { createHmac } from "node:crypto";
import { request } from "node:http";
import { signWebhook } from "../../src/conventions/callback/standard-webhooks.ts";
import { listenForCallbacks } from "../../src/programs/daemon/callback-listener.ts";
import { callbackRoutes } from "../../src/surfaces/callbacks/routes.ts";
import type { Bench } from "./gateway.ts";

export interface CallbackReply {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

/** The real listener on a free loopback port, before a gateway on a test's time. */
export async function openCallbacks(bench: Bench) {
  let serial = 0;
  const listener = await listenForCallbacks({
    address: { host: "127.0.0.1", port: 0 },
    routes: callbackRoutes(bench.gateway.callbacks),
    clock: bench.time.clock,
    correlationId: () => `evt_test${serial++}`,
    onRecord: () => undefined,
    onFault: (error) => {
      throw error;
    },
  });
  return { ...listener, url: `http://127.0.0.1:${listener.address.port}` };
}

/** What a provider sends, as bytes. */
export function post(
  url: string,
  body: string | Buffer,
  headers: Readonly<Record<string, string | readonly string[]>>,
): Promise<CallbackReply> {
  return new Promise((resolve, reject) => {
    const fields = {
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      ...headers,
    };
    const sent = request(
      url,
      { method: "POST", headers: fields as Record<string, string>, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("end", () => {
          const text = Buffer.concat(chunks).toString("utf8");
          const code = text === "" ? "" : String((JSON.parse(text) as { readonly code?: string }).code);
          resolve({ status: response.statusCode ?? 0, code, text });
        });
      },
    );
    sent.on("error", reject);
    sent.end(body);
  });
}

/** The headers of Standard Webhooks for a body. */
export function standardHeaders(key: Buffer, id: string, atS: number, body: string): Record<string, string> {
  const head = signWebhook(key, id, atS, body);
  return { "webhook-id": head.id, "webhook-timestamp": head.timestamp, "webhook-signature": head.signature };
}

export function githubHeaders(key: Buffer | string, delivery: string, body: string): Record<string, string> {
  const value = createHmac("sha256", key).update(body).digest("hex");
  return { "x-hub-signature-256": `sha256=${value}`, "x-github-delivery": delivery };
}
