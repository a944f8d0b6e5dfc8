import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { test } from "node:test";
import { findHolder } from "./who.ts";

const skip = process.platform === "linux" ? {} : { skip: "it reads /proc" };

test("who holds a connection is found by the address that it comes from, however it is spelled", skip, async () => {
  const server = createServer();
  server.listen(0, "::");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  try {
    for (const host of ["127.0.0.1", "::1", "::ffff:127.0.0.1"]) {
      const accepting = once(server, "connection");
      sockets.push(connect({ host, port }));
      const [near] = (await accepting) as [Socket];
      sockets.push(near);
      const { remoteAddress = "", remotePort = 0, localPort = 0 } = near;
      assert.equal(findHolder(process.pid, remoteAddress, remotePort, localPort)?.pid, process.pid, host);
      for (const other of ["127.0.0.2", "::2", "::ffff:127.0.0.3", "", "nothing"])
        assert.equal(findHolder(process.pid, other, remotePort, localPort), null, other);
      assert.equal(findHolder(process.pid, remoteAddress, remotePort, localPort + 1), null);
    }
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
});
