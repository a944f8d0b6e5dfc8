import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { type TestContext, test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import { openStream, send } from "./http.ts";

/** A page that asked for the stream of news and reads nothing of it, as one that sleeps. */
async function sleepingPage(t: TestContext): Promise<ServerResponse> {
  const server = createServer();
  t.after(() => server.close());
  await once(server.listen(0, "127.0.0.1"), "listening");
  const page = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => page.destroy());
  page.pause().write("GET /api/events HTTP/1.1\r\nHost: x\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  return response;
}

const turns = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test("a page that reads nothing is hung up on, and what waits for it stays bounded", async (t) => {
  const response = await sleepingPage(t);
  const tell = openStream(response);
  const news = { text: "x".repeat(65_536) };
  let most = 0;
  for (let count = 0; count < 1_000 && !response.destroyed; count++) {
    tell("waiting", news);
    most = Math.max(most, response.writableLength);
    await turns();
  }
  assert.equal(response.destroyed, true);
  assert.ok(most < 2 * defaults.consoleUnreadBytes, `${most}`);
});

test("what is told of after the stream of a page was ended is dropped", async (t) => {
  const response = await sleepingPage(t);
  const failed = t.mock.fn();
  response.on("error", failed);
  const tell = openStream(response);
  tell("waiting", { text: "x".repeat(defaults.consoleUnreadBytes / 2) });
  response.end();
  tell("waiting", {});
  await turns();
  assert.equal(failed.mock.callCount(), 0);
});

test("whoever asks for a file many times and reads nothing has it held once", async (t) => {
  const file = Buffer.alloc(1 << 20, 0x20);
  let asked = 0;
  const server = createServer((_request, response) => {
    asked++;
    send(response, 200, "text/javascript", file);
  }).listen(0, "127.0.0.1");
  t.after(() => void server.close());
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => void socket.destroy());
  const before = process.memoryUsage().arrayBuffers;
  socket.write("GET /page.js HTTP/1.1\r\nhost: x\r\n\r\n".repeat(500));
  while (asked < 500) await turns();
  const held = process.memoryUsage().arrayBuffers - before;
  assert.ok(held < 32 * file.byteLength, `${asked} requests hold ${held} bytes`);
});
