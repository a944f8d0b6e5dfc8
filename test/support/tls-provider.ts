import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { createAuthority } from "../../src/conventions/box/authority.ts";
import type { Received, TestProvider } from "./provider.ts";

/** A provider on loopback that is known by a name and a certificate; its authority is written to `caFile`. */
export async function startTlsProvider(caFile: string): Promise<TestProvider> {
  const authority = createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
  writeFileSync(caFile, authority.certificate);
  const received: Received[] = [];
  let handler: Parameters<TestProvider["answer"]>[0] = (request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ok: true, url: request.url }));
  };
  const server = createServer(
    { key: authority.leafKey, cert: authority.chainFor("localhost") },
    async (incoming, response) => {
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
    },
  );
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  return {
    origin: `https://localhost:${(server.address() as AddressInfo).port}`,
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
