import { type IncomingMessage, request } from "node:http";
import { request as requestTls } from "node:https";
import { defaults } from "../../../src/kernel/defaults.ts";
import { Fault } from "../../../src/kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../src/kernel/json.ts";
import { parseJsonValue } from "../../request/src/json/parse.ts";
import type { CheckedExchange, Probe, Reply } from "./check.ts";

/** Sends one probe exactly as it is written. Redirects are not followed, answers are bounded. */
export interface Client {
  send(probe: Probe, token: string | null): Promise<Reply>;
}

export function createClient(origin: string): Client {
  const url = new URL(origin);
  const start = url.protocol === "https:" ? requestTls : request;
  return {
    send(probe, token) {
      return new Promise((resolve, reject) => {
        const sent = start(
          {
            ...{ hostname: url.hostname, port: url.port, method: probe.method, path: probe.target },
            // A connection of its own: one that the provider closes as it rests would fail a check that has nothing to do with it.
            agent: false,
            headers: headersOf(probe, token),
            timeout: defaults.conformanceTimeoutMs,
          },
          (response) => readReply(response).then(resolve, reject),
        );
        sent.on("timeout", () => sent.destroy(new Fault("the provider did not answer in time")));
        sent.on("error", reject);
        sent.end(probe.body);
      });
    },
  };
}

function headersOf({ headers = {}, body, method }: Probe, token: string | null): Record<string, string> {
  const framed = Object.keys(headers).some((name) => name === "transfer-encoding");
  const length = body === undefined ? (method === "POST" && !framed ? 0 : undefined) : Buffer.byteLength(body);
  return {
    accept: "application/json",
    ...(token === null ? {} : { authorization: `Bearer ${token}` }),
    ...(length === undefined || framed ? {} : { "content-length": String(length) }),
    ...headers,
  };
}

async function readReply(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > defaults.conformanceReplyBytes) throw new Fault("the answer is larger than the kit reads");
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers))
    headers[name] = Array.isArray(value) ? value.join(", ") : (value ?? "");
  return { status: response.statusCode ?? 0, headers, text: bytes.toString("utf8"), json: readJson(bytes) };
}

function readJson(bytes: Buffer): JsonValue | undefined {
  try {
    return parseJsonValue(bytes);
  } catch {
    return undefined;
  }
}

const SHOWN = 600;

/** For the report: no credential, nothing longer than a person reads. */
export function describeExchange(probe: Probe, reply: Reply | null): CheckedExchange {
  const body = probe.body === undefined ? "" : probe.body.toString();
  return {
    sent: { method: probe.method, target: cut(probe.target), headers: { ...probe.headers }, body: cut(body) },
    answered: reply && {
      status: reply.status,
      headers: { ...reply.headers } satisfies JsonObject,
      body: cut(reply.text),
    },
  };
}

function cut(text: string): string {
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}… (${text.length} characters)` : text;
}
