import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { test } from "node:test";
import { type Connection, closeConnection, openConnection } from "./connection.ts";
import { type ExchangeRequest, exchange } from "./exchange.ts";
import { Stop } from "./stop.ts";
import { response, type ScriptedServer, startScriptedServer } from "./testing/scripted-server.ts";

const OK = response("200 OK", {}, "ok");

function get(path: string): ExchangeRequest {
  return { method: "GET", path, headers: [], body: null, responseBytes: 1_000 };
}

async function openTo(server: ScriptedServer): Promise<Connection & Disposable> {
  const socket: Socket = connect(server.port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  const limits = { idleMs: 1_000, responseHeaderBytes: 16_384 };
  const connection = openConnection(`http://127.0.0.1:${server.port}`, "127.0.0.1", socket, limits);
  return { ...connection, [Symbol.dispose]: () => closeConnection(connection) };
}

function stoppable() {
  const controller = new AbortController();
  const stop = new Stop(5_000, controller.signal);
  return { stop, abort: () => controller.abort(), [Symbol.dispose]: () => stop.end() };
}

test("a call that is called off before undici's first write is not written, then or later", async () => {
  await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
  for (const reused of [false, true]) {
    using connection = await openTo(server);
    const closed = new Promise((resolve) => connection.socket.once("close", resolve));
    if (reused) {
      using before = stoppable();
      assert.equal((await exchange(connection, get("/before"), before.stop)).kind, "answered");
    }
    using early = stoppable();
    const pending = exchange(connection, get("/called-off"), early.stop);
    early.abort();
    assert.deepEqual(await pending, { kind: "not_written", cause: "aborted" }, `reused: ${reused}`);
    await closed;
  }
  assert.deepEqual(
    server.requests.map(({ head }) => head.split(" ")[1]),
    ["/before"],
  );
});

test("a call that is over is not given to the connection at all", async () => {
  await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
  using connection = await openTo(server);
  using over = stoppable();
  over.abort();
  assert.deepEqual(await exchange(connection, get("/"), over.stop), { kind: "not_written", cause: "aborted" });
  assert.equal(server.bytesReceived(), 0);
});

test("a connection whose socket is gone does not open another", async () => {
  await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
  for (const used of [false, true]) {
    const before = server.accepted.length;
    using connection = await openTo(server);
    using first = stoppable();
    if (used) assert.equal((await exchange(connection, get("/"), first.stop)).kind, "answered");
    connection.socket.destroy();
    using second = stoppable();
    assert.deepEqual(await exchange(connection, get("/again"), second.stop), { kind: "not_written", cause: null });
    assert.equal(server.accepted.length, before + 1);
  }
  assert.equal(
    server.requests.some(({ head }) => head.startsWith("GET /again")),
    false,
  );
});
