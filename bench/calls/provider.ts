import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** The provider that every road of the call bench leads to: a small JSON answer, keep-alive. */
const body = JSON.stringify({ id: "7", name: "a thing", state: "active", revision: "r-12" });
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
