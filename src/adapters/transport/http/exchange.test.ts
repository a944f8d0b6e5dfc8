import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createAnswerRoom } from "../../../gateway/answer-room.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { createSpool } from "../../store/spool.ts";
import { exchange } from "./exchange.ts";
import { get, openTo, stoppable } from "./testing/open-to.ts";
import { response, startScriptedServer } from "./testing/scripted-server.ts";

const OK = response("200 OK", {}, "ok");

test("a call that is called off before the first write is not written, then or later", async () => {
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

test("an upload that is let go, or called off, before its first byte is not written; after that it is silent", async () => {
  await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
  const folder = mkdtempSync(join(tmpdir(), "gw-exchange-"));
  try {
    const spool = createSpool(join(folder, "spool"), { low: () => false });
    for (const reused of [false, true]) {
      using connection = await openTo(server);
      if (reused) {
        using before = stoppable();
        assert.equal((await exchange(connection, get("/before"), before.stop)).kind, "answered");
      }
      using early = stoppable();
      const file = spool.open(1_000);
      await file.write(Buffer.alloc(1_000));
      const put = { ...get("/upload"), method: "PUT", body: file.body("sha256:0") };
      file.close();
      assert.deepEqual(await exchange(connection, put, early.stop), { kind: "not_written", cause: "aborted" });
    }
    const received = server.bytesReceived();
    using slow = await openTo(server);
    using called = stoppable();
    const closed = new Promise((resolve) => slow.socket.once("close", resolve));
    const reading = Promise.withResolvers<void>();
    const slowly = (read: () => void, first: Buffer | null) => {
      const stream = new Readable({ read });
      if (first !== null) stream.push(first);
      return { ...get("/upload"), method: "PUT", body: { byteLength: 10, digest: "sha256:0", read: () => stream } };
    };
    const pending = exchange(slow, slowly(reading.resolve, null), called.stop);
    await reading.promise;
    called.abort();
    assert.deepEqual(await pending, { kind: "not_written", cause: "aborted" });
    await closed;
    assert.deepEqual([server.bytesReceived(), server.requests.length], [received, 1]);

    using begun = await openTo(server);
    using late = stoppable();
    const half = exchange(
      begun,
      slowly(() => undefined, Buffer.alloc(5)),
      late.stop,
    );
    while (server.bytesReceived() === received) await setImmediate();
    late.abort();
    assert.equal((await half).kind, "silent");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
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

const LARGE = "x".repeat(3 * defaults.smallAnswerBytes);
const CHUNKED = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${LARGE.length.toString(16)}\r\n${LARGE}\r\n0\r\n\r\n`;

for (const [how, text] of [
  ["that says how long it is", response("200 OK", {}, LARGE)],
  ["that does not say how long it is", CHUNKED],
] as const) {
  test(`a large answer ${how} waits for room, comes whole, and holds what it takes`, async () => {
    await using server = await startScriptedServer({ onRequest: (socket) => socket.write(text) });
    using connection = await openTo(server);
    const room = createAnswerRoom(1_000_000);
    const [other, holder] = [{ callerKey: "other" }, { callerKey: "one" }];
    room.take(other, 900_000, assert.fail);
    using asked = stoppable();
    const pending = exchange(connection, { ...get("/"), responseBytes: 950_000, room, holder }, asked.stop);
    while (room.status().waiting === 0) await setImmediate();
    room.leave(other);
    const answered = await pending;
    assert.equal(answered.kind === "answered" && answered.body.toString(), LARGE);
    assert.deepEqual(room.status(), { heldBytes: LARGE.length, waiting: 0 });
    // The next one of the same holder does not wait for what the holder has, and one that is small takes nothing.
    using again = stoppable();
    assert.equal(
      (await exchange(connection, { ...get("/"), responseBytes: 950_000, room, holder }, again.stop)).kind,
      "answered",
    );
    assert.equal(room.status().heldBytes, LARGE.length);
  });
}

test("a call that is called off, or out of time, while its answer waits for room is silent, and waits no more", async () => {
  await using server = await startScriptedServer({
    onRequest: (socket) => socket.write(response("200 OK", {}, LARGE)),
  });
  const room = createAnswerRoom(1_000_000);
  room.take({ callerKey: "other" }, 1_000_000, assert.fail);
  const ask = { ...get("/"), responseBytes: 950_000, room, holder: { callerKey: "one" } };
  for (const [cause, reason] of [
    ["aborted", "aborted"],
    ["deadline", "timeout"],
  ] as const) {
    using connection = await openTo(server);
    using asked = stoppable();
    const pending = exchange(connection, ask, asked.stop);
    while (room.status().waiting === 0) await setImmediate();
    asked.stop.onStop?.(cause);
    const seen = await pending;
    assert.deepEqual(seen, { kind: "silent", reason, detail: "no_room_for_response" });
    assert.deepEqual(room.status(), { heldBytes: 1_000_000, waiting: 0 });
  }
});

test("a large answer that breaks off gives its place back", async () => {
  const begun = response("200 OK", {}, LARGE).slice(0, -1);
  await using server = await startScriptedServer({ onRequest: (socket) => socket.end(begun) });
  using connection = await openTo(server);
  const room = createAnswerRoom(1_000_000);
  using asked = stoppable();
  const holder = { callerKey: "one" };
  const seen = await exchange(connection, { ...get("/"), responseBytes: 950_000, room, holder }, asked.stop);
  assert.equal(seen.kind === "silent" && seen.reason, "connection_lost");
  assert.equal(room.status().heldBytes, 0);
});

test("a small answer takes no place", async () => {
  await using server = await startScriptedServer({ onRequest: (socket) => socket.write(OK) });
  using connection = await openTo(server);
  const room = { ...createAnswerRoom(1), take: () => assert.fail("it took a place") };
  using asked = stoppable();
  const seen = await exchange(connection, { ...get("/"), room, holder: { callerKey: "one" } }, asked.stop);
  assert.equal(seen.kind, "answered");
});
