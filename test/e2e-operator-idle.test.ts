import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { after, before, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { asUser, type Gateway, Home, makeFolder } from "./support/home.ts";

/** Longer than a server of Node's keeps an idle connection by itself. */
const IDLE_MS = 7_000;
const REQUEST = "GET /v1/status HTTP/1.1\r\nhost: gw\r\n\r\n";

describe("an idle connection of an operator", asUser, () => {
  let gateway: Gateway;
  let home: Home;

  before(async () => {
    home = await new Home(makeFolder()).init();
    gateway = await home.up();
  });

  after(async () => {
    await gateway?.end();
  });

  test("is not ended for that: its next request may be on its way while the gateway is too busy to read it", async () => {
    const socket = connect(home.operatorSocket);
    await once(socket, "connect");
    assert.match(await ask(socket), /^HTTP\/1\.1 200 /);
    await pause(IDLE_MS);
    assert.match(await ask(socket), /^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

/** The beginning of the answer. */
async function ask(socket: Socket): Promise<string> {
  const heard = once(socket, "data");
  socket.write(REQUEST);
  const [bytes] = (await heard) as [Buffer];
  return bytes.toString("latin1");
}
