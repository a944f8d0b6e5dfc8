import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { Duplex, Readable } from "node:stream";
import { describe, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Connection } from "./connection.ts";
import { exchange } from "./exchange.ts";
import type { PassOn } from "./pass-on.ts";
import { get, openTo, stoppable } from "./testing/open-to.ts";
import { response, startScriptedServer } from "./testing/scripted-server.ts";

const OK = response("200 OK", {}, "ok");

/** A socket without a network: what it is given to send ends up in `written`. */
function socketInto(written: Buffer[]): Duplex {
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk);
      done();
    },
  });
  socket.on("error", () => {});
  return Object.assign(socket, { ref: () => socket, unref: () => socket });
}

async function after(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await setImmediate();
}
const PLANTED = response("200 OK", {}, "planted");

describe("bytes that nobody asked for", () => {
  test("a server that speaks first is not heard, and gets nothing", async () => {
    await using server = await startScriptedServer({ onConnection: (socket) => socket.write(PLANTED) });
    using connection = await openTo(server);
    await once(connection.socket, "close");
    using asked = stoppable();
    assert.deepEqual(await exchange(connection, get("/"), asked.stop), { kind: "not_written", cause: null });
    assert.equal(server.bytesReceived(), 0);
  });

  test("what a server says to a connection at rest, in the moment in which it is used again, is no answer", async () => {
    const ways: readonly ((socket: Duplex) => unknown)[] = [
      (socket) => socket.push(PLANTED),
      (socket) => socket.push("\r\n"),
      (socket) => socket.push(null),
      (socket) => socket.destroy(),
      (socket) => socket.destroy(new Error("reset")),
    ];
    for (const plant of ways) {
      for (const turns of [0, 1, 2]) {
        // Nobody waits any more from the time before.
        await after(3);
        const written: Buffer[] = [];
        const socket = socketInto(written);
        const limits = { idleMs: 1_000, responseHeaderBytes: 1_024 };
        const connection = new Connection("a.test", "127.0.0.1", socket as unknown as Socket, limits);
        // In the moments in which the loop looks at its sockets, before the first byte goes out.
        void after(turns).then(() => plant(socket));
        using asked = stoppable();
        const seen = await exchange(connection, get("/"), asked.stop);
        assert.deepEqual([seen, written], [{ kind: "not_written", cause: null }, []]);
      }
    }
  });

  test("bytes behind an answer, in the same breath or a later one, end the connection and not the answer", async () => {
    for (const behind of [PLANTED, "\r\n", "x", "\0".repeat(100_000)]) {
      await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK + behind) });
      using connection = await openTo(server, 600_000);
      const gone = once(connection.socket, "close");
      using asked = stoppable();
      const seen = await exchange(connection, get("/"), asked.stop);
      assert.ok(seen.kind === "answered");
      assert.equal(seen.body.toString(), "ok");
      await gone;
      assert.equal(connection.reusable, false);
    }
  });
});

describe("when a connection is used again", () => {
  const cases: readonly (readonly [name: string, again: boolean, text: string, request?: object])[] = [
    ["after a whole answer", true, OK],
    ["after chunks", true, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"],
    ["after an empty answer", true, "HTTP/1.1 204 No\r\n\r\n"],
    ["after a POST with a body", true, OK, { method: "POST", body: Buffer.from("{}") }],
    ["after a GET with a body", false, OK, { body: Buffer.from("{}") }],
    ["after a DELETE with a body", false, OK, { method: "DELETE", body: Buffer.from("{}") }],
    ["after a HEAD", false, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", { method: "HEAD" }],
    ["after an empty answer that announces a body", false, "HTTP/1.1 204 No\r\nContent-Length: 2\r\n\r\n"],
    ["where the server closes", false, response("200 OK", { connection: "close" }, "ok")],
    ["where the server closes among other options", false, response("200 OK", { connection: "x, Close" }, "ok")],
    ["where the server speaks HTTP/1.0", false, OK.replace("1.1", "1.0")],
    ["where the server keeps it for a while", true, response("200 OK", { "keep-alive": "timeout=60, max=9" }, "ok")],
    ["where the server keeps it for a moment", false, response("200 OK", { "keep-alive": "timeout=2" }, "ok")],
  ];
  for (const [name, again, text, request = {}] of cases) {
    test(`${again ? "it is" : "it is not"} ${name}, and the request says so where it is ours to say`, async () => {
      await using server = await startScriptedServer({ onRequest: (socket) => socket.write(text) });
      using connection = await openTo(server);
      using asked = stoppable();
      assert.equal((await exchange(connection, { ...get("/"), ...request }, asked.stop)).kind, "answered");
      assert.equal(connection.reusable, again);
      if (again) assert.match(server.requests[0]?.head ?? "", /^connection: keep-alive$/m);
    });
  }

  test("one that has rested for too long is not, also where its timer is late", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
    using connection = await openTo(server, 1);
    using asked = stoppable();
    assert.equal((await exchange(connection, get("/"), asked.stop)).kind, "answered");
    for (const start = performance.now(); performance.now() - start < 5; );
    assert.equal(connection.reusable, false);
  });
});

describe("a body that is read while it is sent", () => {
  const PIECE = Buffer.alloc(65_536, "x");
  const spooled = (pieces: Iterable<Buffer>, byteLength: number) => ({
    ...get("/"),
    method: "PUT",
    body: { byteLength, digest: "", read: () => Readable.from(pieces, { objectMode: false, highWaterMark: 65_536 }) },
  });

  test("it goes out whole, no faster than it is read", async () => {
    const COUNT = 512;
    const LAST = 0;
    let given = 0;
    function* pieces() {
      for (; given < COUNT; given++) yield PIECE;
      yield Buffer.from([LAST]);
    }
    let received = 0;
    const taken: Socket[] = [];
    const server = createServer({ pauseOnConnect: true }, (socket) => {
      taken.push(socket);
      socket.on("data", (chunk) => {
        received += chunk.length;
        if (chunk.at(-1) === LAST) socket.write(OK);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    using connection = await openTo(server.address() as AddressInfo);
    using asked = stoppable();
    const pending = exchange(connection, spooled(pieces(), COUNT * PIECE.length + 1), asked.stop);
    while (!connection.socket.writableNeedDrain) await setImmediate();
    for (let turn = 0; turn < 100; turn++) await setImmediate();
    assert.ok(given < COUNT, "all of it was read although nobody took it");
    for (const socket of taken) socket.resume();
    assert.equal((await pending).kind, "answered");
    assert.ok(received > COUNT * PIECE.length);
    assert.equal(connection.reusable, true);
    server.close();
  });

  test("one that has less or more than was announced, or breaks, leaves the outcome open, and never a byte more goes out", async () => {
    function* breaks() {
      yield PIECE;
      throw new Error("the file is gone");
    }
    for (const [pieces, announced] of [
      [[PIECE], PIECE.length + 1],
      [[PIECE, PIECE], PIECE.length + 1],
      [breaks(), 2 * PIECE.length],
    ] as const) {
      await using server = await startScriptedServer({ onRequest: () => {} });
      using connection = await openTo(server);
      using asked = stoppable();
      const seen = await exchange(connection, spooled(pieces, announced), asked.stop);
      assert.deepEqual(seen, { kind: "silent", reason: "connection_lost", detail: "request_body" });
      const [socket] = server.accepted;
      if (socket !== undefined && !socket.closed) await new Promise((resolve) => socket.once("close", resolve));
      assert.ok(server.bytesReceived() < announced + 1_000);
      assert.equal(server.requests.length, 0);
    }
  });

  test("an answer that comes before the body went out is one, and the rest of the body is not read", async () => {
    let given = 0;
    let letGo = false;
    function* pieces() {
      try {
        for (;;) {
          given++;
          yield PIECE;
        }
      } finally {
        letGo = true;
      }
    }
    await using server = await startScriptedServer({
      onHead: (socket) => {
        socket.pause();
        socket.write(response("413 Too large", {}, "no"));
      },
    });
    using connection = await openTo(server);
    using asked = stoppable();
    const seen = await exchange(connection, spooled(pieces(), 1 << 30), asked.stop);
    assert.equal(seen.kind === "answered" && seen.status, 413);
    while (!letGo) await setImmediate();
    assert.ok(given < 1_024);
    assert.equal(connection.reusable, false);
  });

  test("one that is called off before the first byte is let go unread", async () => {
    await using server = await startScriptedServer({});
    using connection = await openTo(server);
    const file = Readable.from([PIECE], { objectMode: false });
    using asked = stoppable();
    const body = { byteLength: PIECE.length, digest: "", read: () => file };
    const pending = exchange(connection, { ...get("/"), method: "PUT", body }, asked.stop);
    asked.abort();
    assert.deepEqual(await pending, { kind: "not_written", cause: "aborted" });
    assert.equal(file.destroyed, true);
  });
});

describe("an answer that is passed on", () => {
  const CHUNKED =
    "HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
  const passing = (write: PassOn["write"]): PassOn => ({
    looksBack: 0,
    begin: () => true,
    write,
    end: () => {},
    done: () => undefined,
  });

  test("it waits for whoever reads it, and comes whole although the server has closed meanwhile", async () => {
    const first = CHUNKED.indexOf("6\r\n");
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(CHUNKED.slice(0, first)) });
    using connection = await openTo(server);
    using asked = stoppable();
    const text: string[] = [];
    const passOn = passing((chunk) => {
      text.push(chunk.toString());
      if (text.length > 1) return null;
      return new Promise((resolve) => {
        server.accepted[0]?.end(CHUNKED.slice(first), async () => {
          await after(3);
          text.push("taken");
          resolve();
        });
      });
    });
    assert.equal((await exchange(connection, { ...get("/"), passOn }, asked.stop)).kind, "answered");
    assert.deepEqual(text, ["hello", "taken", " world"]);
  });

  test("whoever is busy at its end holds up nobody who has the connection next", async () => {
    const whole = CHUNKED.replace("Connection: close\r\n", "");
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(whole) });
    using connection = await openTo(server);
    for (let call = 1; call <= 2; call++) {
      using asked = stoppable();
      const passOn = passing(() => new Promise(() => {}));
      assert.equal((await exchange(connection, { ...get("/"), passOn }, asked.stop)).kind, "answered");
    }
    assert.equal(server.accepted.length, 1);
  });

  test("one that is cut off while somebody waits is silent", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.end(CHUNKED.slice(0, -1)) });
    using connection = await openTo(server);
    const ended = once(connection.socket, "end");
    using asked = stoppable();
    const seen = await exchange(
      connection,
      { ...get("/"), passOn: passing(async () => void (await ended)) },
      asked.stop,
    );
    assert.deepEqual(seen, { kind: "silent", reason: "connection_lost", detail: "response_not_finished" });
  });

  test("nothing follows once the credential was seen, however much came in the same breath", async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.end(CHUNKED) });
    using connection = await openTo(server);
    using asked = stoppable();
    const seen: string[] = [];
    const passOn = passing((chunk) => {
      seen.push(chunk.toString());
      return "echoed";
    });
    const exchanged = await exchange(connection, { ...get("/"), passOn }, asked.stop);
    assert.equal(exchanged.kind === "silent" && exchanged.reason, "credential_echoed");
    assert.deepEqual(seen, ["hello world"]);
  });

  test("nothing begins behind what was refused, however much came in the same breath", async () => {
    const flood = `${"HTTP/1.1 103 Early\r\n\r\n".repeat(9)}${CHUNKED}`;
    await using server = await startScriptedServer({ onRequest: (socket) => socket.end(flood) });
    using connection = await openTo(server);
    using asked = stoppable();
    let begun = false;
    const passOn = { ...passing(() => null), begin: () => (begun = true) };
    const seen = await exchange(connection, { ...get("/"), passOn }, asked.stop);
    assert.deepEqual(seen, { kind: "silent", reason: "response_malformed", detail: "informational_flood" });
    await after(2);
    assert.equal(begun, false);
  });

  test("a mistake of whoever reads leaves the outcome open, and nothing else", async () => {
    const mistake = (): never => {
      throw new Error("a mistake");
    };
    for (const broken of [{ begin: mistake }, { write: mistake }, { end: mistake }]) {
      await using server = await startScriptedServer({ onRequest: (socket) => socket.end(CHUNKED) });
      using connection = await openTo(server);
      using asked = stoppable();
      const passOn = { ...passing(() => null), ...broken };
      const seen = await exchange(connection, { ...get("/"), passOn }, asked.stop);
      assert.deepEqual(seen, { kind: "silent", reason: "connection_lost", detail: "fault_in_transport" });
    }
  });
});
