import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { inspect } from "node:util";
import fc from "fast-check";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { rehearse, TOKEN } from "./testing/rehearse.ts";
import { response, type Script, startScriptedServer } from "./testing/scripted-server.ts";

const WHOLE = {
  "of stated length": response("200 OK", { "content-type": "text/plain", etag: '"1"' }, "hello"),
  "of stated length, then close": response("201 Made", { connection: "close" }, "hello"),
  "in chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n",
  "in chunks, then close":
    "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\nETag: x\r\n\r\n",
};

for (const [name, whole] of Object.entries(WHOLE)) {
  test(`a response ${name}, cut off after any byte, is silent; whole, it is the answer`, async () => {
    let cut = 0;
    await using server = await startScriptedServer({ onRequest: (socket) => socket.end(whole.slice(0, cut)) });
    using transport = rehearse();
    for (cut = 0; cut <= whole.length; cut++) {
      const seen = await transport.send({ url: `http://127.0.0.1:${server.port}/`, method: "POST" });
      if (cut < whole.length) assert.equal(seen.kind, "silent", `${cut}: ${inspect(seen)}`);
      else assert.ok(seen.kind === "answered" && seen.body.toString() === "hello");
    }
    assert.equal(server.requests.length, whole.length + 1);
  });
}

test("a response with any bytes changed, or any bytes at all, is an answer or silent, and the request is sent once", async () => {
  let bytes: Buffer = Buffer.alloc(0);
  await using server = await startScriptedServer({ onRequest: (socket) => socket.end(bytes) });
  using transport = rehearse();
  const changed = fc
    .tuple(
      fc.constantFrom(...Object.values(WHOLE)),
      fc.array(fc.tuple(fc.nat(), fc.constantFrom(0, 0x0a, 0x0d, 0x20, 0x30, 0x39, 0x3a, 0x66, 0xff)), {
        maxLength: 3,
      }),
    )
    .map(([whole, edits]) => {
      const text = Buffer.from(whole);
      for (const [at, byte] of edits) text[at % text.byteLength] = byte;
      return text;
    });
  const anything = fc.uint8Array({ maxLength: 200 }).map((made) => Buffer.from(made));
  await fc.assert(
    fc.asyncProperty(fc.oneof(changed, anything), async (made) => {
      bytes = made;
      const before = server.requests.length;
      const seen = await transport.send({ url: `http://127.0.0.1:${server.port}/`, token: TOKEN, timeoutMs: 2_000 });
      assert.ok(seen.kind === "answered" || seen.kind === "silent", inspect(seen));
      // One that was lost may be known here before the server has read what was sent.
      while (server.requests.length === before) await setImmediate();
      assert.equal(server.requests.length, before + 1);
    }),
    { numRuns: runsOf(300) },
  );
});

test("no way of failing leaks a connection or the right to open one", async () => {
  const ways: readonly ((socket: Socket) => void)[] = [
    (socket) => socket.destroy(),
    (socket) => socket.resetAndDestroy(),
    (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"),
    (socket) => socket.write("garbage\r\n\r\n"),
    (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n"),
    (socket) => socket.write(response("200 OK", { "content-encoding": "br" }, "xxxx")),
    (socket) => socket.write(response("200 OK", {}, TOKEN)),
    (socket) => socket.write(WHOLE["of stated length, then close"]),
    () => {},
  ];
  const script: Script = {
    onRequest: (socket, request, index) => {
      if (request.head.startsWith("GET /last")) socket.write(WHOLE["in chunks"]);
      else ways[index % ways.length]?.(socket);
    },
  };
  await using server = await startScriptedServer(script);
  using transport = rehearse({ connectionsPerOrigin: 2, connections: 2 });
  const url = `http://127.0.0.1:${server.port}`;
  const kinds = new Set<string>();
  await Promise.all(
    Array.from({ length: 90 }, async (_, index) => {
      const controller = new AbortController();
      if (index % 7 === 0) void setImmediate().then(() => controller.abort());
      const timeoutMs = index % 5 === 0 ? 30 : 400;
      const signal = index % 3 === 0 ? controller.signal : AbortSignal.timeout(60 + index);
      kinds.add((await transport.send({ url: `${url}/${index}`, token: TOKEN, timeoutMs, signal })).kind);
    }),
  );
  // What one came to in so short a time is the machine's affair; that nothing else can be said of any is not.
  assert.ok(
    [...kinds].every((kind) => ["answered", "never_sent", "silent"].includes(kind)),
    [...kinds].join(),
  );
  const last = await Promise.all([1, 2, 3, 4].map(() => transport.send({ url: `${url}/last` })));
  assert.deepEqual(
    last.map((seen) => seen.kind),
    ["answered", "answered", "answered", "answered"],
  );
});
