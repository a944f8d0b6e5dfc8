import assert from "node:assert/strict";
import type { Socket } from "node:net";
import { describe, test } from "node:test";
import { inspect } from "node:util";
import { rehearse, TOKEN } from "./testing/rehearse.ts";
import { response, type Script, type ScriptedServer, startScriptedServer } from "./testing/scripted-server.ts";

const OK = response("200 OK", { etag: '"1"' }, "ok");
const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
const WHOLE = {
  "of stated length": OK,
  "in chunks": `HTTP/1.1 103 Early\r\n\r\n${CHUNKED}2;x=y\r\nok\r\n0\r\nETag: x\r\n\r\n`,
};

function at(server: ScriptedServer): string {
  return `http://127.0.0.1:${server.port}/`;
}

describe("a server that stops", () => {
  for (const [name, whole] of Object.entries(WHOLE)) {
    test(`after any byte of an answer ${name}: nothing is made of it, and the call can be called off`, async () => {
      let cut = 0;
      let controller = new AbortController();
      await using server = await startScriptedServer({
        // It is called off when all of it is on its way.
        onRequest: (socket) => socket.write(whole.slice(0, cut), () => controller.abort()),
      });
      using transport = rehearse();
      for (cut = 1; cut < whole.length; cut++) {
        controller = new AbortController();
        const seen = await transport.send({ url: at(server), method: "POST", signal: controller.signal });
        assert.ok(seen.kind === "silent", `${cut}: ${inspect(seen)}`);
        assert.equal(seen.reason, "aborted");
      }
      assert.equal(server.requests.length, whole.length - 1);
      assert.equal(server.accepted.length, whole.length - 1);
    });

    test(`and resets after any byte of an answer ${name}: the outcome is open, and nothing is sent again`, async () => {
      let cut = 0;
      await using server = await startScriptedServer({
        onRequest: (socket) => socket.write(whole.slice(0, cut), () => socket.resetAndDestroy()),
      });
      using transport = rehearse();
      for (cut = 1; cut < whole.length; cut++) {
        const seen = await transport.send({ url: at(server), method: "POST" });
        assert.ok(seen.kind === "silent", `${cut}: ${inspect(seen)}`);
        assert.equal(seen.reason, "connection_lost");
      }
      assert.equal(server.requests.length, whole.length - 1);
    });
  }
});

/** Writes for ever, no faster than it is read, until the connection ends. */
function pour(socket: Socket, text: string): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(text));
  };
  socket.on("drain", more);
  more();
}

describe("a server that does not stop", () => {
  const cases: readonly (readonly [name: string, reason: string, begin: string, text: string])[] = [
    ["the reason of its status", "response_too_large", "HTTP/1.1 200 ", "x"],
    ["a field", "response_too_large", "HTTP/1.1 200 OK\r\nA: ", "x"],
    ["fields", "response_too_large", "HTTP/1.1 200 OK\r\n", "A: b\r\n"],
    ["informational answers", "response_malformed", "", "HTTP/1.1 103 Early\r\n\r\n"],
    ["an extension", "response_too_large", `${CHUNKED}1;`, "x"],
    ["extensions", "response_too_large", CHUNKED, "1;x=y\r\na\r\n"],
    ["zeros of a size", "response_too_large", CHUNKED, "0"],
    ["small chunks", "response_too_large", CHUNKED, "1\r\na\r\n"],
    ["a chunk", "response_too_large", `${CHUNKED}ffffffffff\r\n`, "x"],
    ["trailers", "response_too_large", `${CHUNKED}0\r\n`, "A: b\r\n"],
    ["line breaks before its answer", "response_malformed", "", "\r\n"],
    ["zeros", "response_malformed", "", "\0"],
  ];
  for (const [name, reason, begin, text] of cases) {
    test(`with ${name} is left (${reason})`, async () => {
      const script: Script = {
        onRequest: (socket) => {
          socket.write(begin);
          pour(socket, text.repeat(Math.ceil(16_384 / text.length)));
        },
      };
      await using server = await startScriptedServer(script);
      using transport = rehearse();
      const seen = await transport.send({ url: at(server), token: TOKEN, timeoutMs: 30_000 });
      assert.ok(seen.kind === "silent", inspect(seen));
      assert.equal(seen.reason, reason);
      const [socket] = server.accepted;
      if (socket !== undefined && !socket.closed) await new Promise((resolve) => socket.once("close", resolve));
    });
  }
});

test("an answer that comes byte by byte, full of escapes, is looked at by the breath and not by the byte", async () => {
  const text = "%\\x".repeat(4_000);
  const chunks = [...text].map((one) => `1\r\n${one}\r\n`).join("");
  await using server = await startScriptedServer({
    onRequest: (socket) => socket.write(`${CHUNKED}${chunks}0\r\n\r\n`),
  });
  using transport = rehearse();
  const pieces: string[] = [];
  const sink = {
    begin: () => {},
    write: (bytes: Buffer) => {
      pieces.push(bytes.toString("latin1"));
      return null;
    },
  };
  const seen = await transport.send({ url: at(server), token: TOKEN, sink, timeoutMs: 60_000 });
  assert.equal(seen.kind, "answered", inspect(seen));
  assert.equal(pieces.join(""), text);
  assert.ok(pieces.length < 100, `${pieces.length} pieces of ${text.length} bytes`);
});

test("a second answer in the same breath is nobody's, and the next call has a connection of its own", async () => {
  await using server = await startScriptedServer({
    onRequest: (socket) => socket.write(OK + response("200 OK", {}, "planted")),
  });
  using transport = rehearse();
  for (let call = 1; call <= 3; call++) {
    const seen = await transport.send({ url: at(server) });
    assert.equal(seen.kind === "answered" && seen.body.toString(), "ok");
    assert.equal(server.accepted.length, call);
  }
});

test("a server that answers before it is asked is sent nothing, or asked", async () => {
  await using server = await startScriptedServer({ onConnection: (socket) => socket.write(OK) });
  using transport = rehearse();
  for (let call = 1; call <= 10; call++) {
    const before = server.bytesReceived();
    const seen = await transport.send({ url: at(server), method: "POST", body: Buffer.from("{}") });
    if (seen.kind === "never_sent")
      assert.deepEqual([seen.reason, server.bytesReceived()], ["connect_refused", before]);
    else assert.ok(seen.kind === "answered" && seen.body.toString() === "ok", inspect(seen));
  }
});

test("a request goes out byte for byte, and names its length where a body is expected", async () => {
  await using server = await startScriptedServer({ onRequest: (socket) => socket.write("HTTP/1.1 204 No\r\n\r\n") });
  for (const [method, body, says] of [
    ["GET", null, null],
    ["GET", Buffer.alloc(0), null],
    ["GET", Buffer.from("{}"), "2"],
    ["DELETE", null, null],
    ["DELETE", Buffer.from("{}"), "2"],
    ["POST", null, "0"],
    ["PUT", Buffer.alloc(0), "0"],
    ["PATCH", Buffer.from("{}"), "2"],
  ] as const) {
    using transport = rehearse();
    const before = server.requests.length;
    await transport.send({ url: `${at(server)}a?b=c`, method, body });
    const head = server.requests[before]?.head.split("\r\n") ?? assert.fail();
    assert.equal(head[0], `${method} /a?b=c HTTP/1.1`);
    assert.equal(head[1], `host: 127.0.0.1:${server.port}`);
    assert.equal(head.find((line) => line.startsWith("content-length")) ?? null, says && `content-length: ${says}`);
  }
});
