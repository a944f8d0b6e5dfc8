import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** The provider that every road of the call bench leads to: a small JSON answer, keep-alive; below /v1/files 64 MiB as they are read. */
const body = JSON.stringify({ id: "7", name: "a thing", state: "active", revision: "r-12" });
const piece = Buffer.alloc(65_536, "piece of a file ");
const PIECES = 1_024;
const server = createServer((request, response) => {
  request.resume();
  if (request.url?.startsWith("/v1/files/") === true) return void download(response);
  response.writeHead(200, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
  response.end(body);
});
function download(response: ServerResponse): void {
  response.writeHead(200, { "content-type": "application/octet-stream" });
  let left = PIECES;
  const go = (): void => {
    while (left > 0) {
      left--;
      if (!response.write(piece)) return void response.once("drain", go);
    }
    response.end();
  };
  go();
}
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
process.once("disconnect", () => process.exit());
