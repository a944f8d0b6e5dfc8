import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
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

for (const [at, [name, bytes]] of odd.entries()) {
  test(`a database that answers a login with ${name} is one that does not answer, and ends nothing else`, async () => {
    const port = 5_000 + at;
    const server = createServer((socket) => socket.on("error", () => undefined).once("data", () => socket.end(bytes)));
    await new Promise<void>((resolve) => server.listen(join(folder, `.s.PGSQL.${port}`), resolve));
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
