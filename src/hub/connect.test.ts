import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Denied } from "../kernel/failure.ts";
import { readHubAddress } from "./address.ts";
import { connectDatabase } from "./connect.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-hub-login-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Authentication requests of the protocol: a type, a length, and less than it announces or what nobody can go on with. */
const odd: readonly (readonly [string, Buffer])[] = [
  ["a request that ends before its number", Buffer.from("5200000004", "hex")],
  ["a challenge without its methods", Buffer.from("52000000080000000a", "hex")],
  ["no message at all", Buffer.alloc(64, 0xff)],
];

/** Listens where an address without a password leads, and answers each login with these bytes. */
async function listenOn(port: number, answer: (socket: Socket) => void) {
  const server = createServer((socket) => socket.on("error", () => undefined).once("data", () => answer(socket)));
  await new Promise<void>((resolve) => server.listen(join(folder, `.s.PGSQL.${port}`), resolve));
  return server;
}

for (const [at, [name, bytes]] of odd.entries()) {
  test(`a database that answers a login with ${name} is one that does not answer, and ends nothing else`, async () => {
    const port = 5_000 + at;
    const server = await listenOn(port, (socket) => socket.end(bytes));
    const address = readHubAddress(`postgres://web1@/gw?host=${folder}&port=${port}`);
    try {
      await assert.rejects(
        connectDatabase({ address, password: null, authority: null }),
        (error) => error instanceof Denied && error.code.startsWith("hub_"),
      );
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
}

test("a database that refuses a login and does not hang up keeps no connection of ours", {
  timeout: 20_000,
}, async () => {
  const refusal = Buffer.from("SFATAL\0C28P01\0Mno\0\0", "latin1");
  const head = Buffer.from([0x45, 0, 0, 0, refusal.length + 4]);
  const closed: Promise<unknown>[] = [];
  const server = await listenOn(5_010, (socket) => {
    closed.push(new Promise((resolve) => socket.once("close", resolve)));
    socket.write(Buffer.concat([head, refusal]));
  });
  const address = readHubAddress(`postgres://web1@/gw?host=${folder}&port=5010`);
  await assert.rejects(connectDatabase({ address, password: null, authority: null }), { code: "hub_refused" });
  await Promise.all(closed);
  assert.equal(closed.length, 1);
  await new Promise((resolve) => server.close(resolve));
});
