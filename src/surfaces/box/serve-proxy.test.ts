import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { createAuthority } from "../../conventions/box/authority.ts";
import { serveProxy } from "./serve-proxy.ts";

test("where nobody can be seen, what comes without a token is told to nobody as the run's own", async (t: TestContext) => {
  const told: string[] = [];
  const proxy = await serveProxy(
    {
      authority: createAuthority({ wallMs: () => Date.now() }, { bytes: (count) => Buffer.alloc(count, 1) }),
      carry: () => assert.fail("nothing is carried"),
      findHolder: () => null,
      refused: (message) => void told.push(message),
      report: ({ why }) => void told.push(why),
    },
    "token",
    false,
  );
  t.after(() => proxy.close());
  const { hostname, port } = new URL(proxy.url);
  for (const bytes of [
    "no request at all\r\n\r\n",
    "GET http://a.example/ HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n",
  ]) {
    const socket = connect(Number(port), hostname);
    socket
      .on("error", () => undefined)
      .resume()
      .write(bytes);
    await once(socket, "close");
  }
  assert.deepEqual(told, []);
});
