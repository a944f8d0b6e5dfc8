import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Members, Plane } from "./home.ts";

/** The part of a wrapper, for tools that are pointed at it: whatever they send is handed to the plane as it came. */
export interface Relay {
  readonly origin: string;
  /** What the tools were told, in order. */
  readonly told: readonly Members[];
  close(): Promise<void>;
}

export async function startRelay(plane: Plane, run: () => string, origin: string): Promise<Relay> {
  const told: Members[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const headers: [string, string][] = [];
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
      headers.push([String(request.rawHeaders[at]).toLowerCase(), String(request.rawHeaders[at + 1])]);
    }
    const { method = "", url: target = "" } = request;
    const asked = {
      origin,
      method,
      target,
      headers,
      ...(body.byteLength > 0 ? { body: body.toString("base64") } : {}),
    };
    const reply = await plane.ask("POST", `/v1/runs/${run()}/requests`, asked).catch(() => null);
    // The plane was closed while a tool still asked.
    if (reply === null) return void response.destroy();
    const answer = { target, ...reply.body };
    told.push(answer);
    const fields = (reply.body["headers"] ?? []) as readonly (readonly [string, string])[];
    response.writeHead(Number(reply.body["status"] ?? 403), String(reply.body["reason"]), fields.flat());
    response.end(Buffer.from(String(reply.body["body"] ?? ""), "base64"));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    told,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
