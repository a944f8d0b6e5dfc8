import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, openSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import type { CallerPlatform } from "../../../conventions/caller/port.ts";
import { Denied } from "../../../kernel/failure.ts";
import { VerifiedConnection } from "./connection.ts";
import type { CredentialRead } from "./credential-reader.ts";
import { listenVerified } from "./listener.ts";
import { createReactor, EPOLLIN, type Reactor } from "./reactor.ts";

const skip = process.platform === "linux" ? false : "these sockets are Linux's";

const nobody: CallerPlatform = {
  identify: () => Promise.reject(new Denied("caller_unknown", "nobody is asked here")),
  close: () => undefined,
};

test("a peer that vanishes while nobody reads costs no turn of the loop", { skip }, async () => {
  await withConnection(async (connection, client, wakes) => {
    client.destroy();
    await once(client, "close");
    const turns = 200;
    for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate);
    assert.ok(wakes() < 5, `woken ${wakes()} times`);
    connection.resume();
    await once(connection, "end");
  });
});

test("what was sent before a hang-up is still read", { skip }, async () => {
  await withConnection(async (connection, client) => {
    client.end("last words");
    await once(client, "finish");
    client.destroy();
    await once(client, "close");
    const seen: Buffer[] = [];
    connection.on("data", (chunk: Buffer) => seen.push(chunk));
    await once(connection, "end");
    assert.equal(Buffer.concat(seen).toString(), "last words");
  });
});

test("writing to a peer that is gone fails the write and raises no signal", { skip }, async () => {
  await withConnection(async (connection, client) => {
    client.destroy();
    await once(client, "close");
    const [error] = await Promise.all([
      new Promise((resolve) => connection.once("error", resolve)),
      new Promise((resolve) => connection.write("hello", resolve)),
    ]);
    assert.ok(error instanceof Error);
  });
});

test("of a large write it is told what the kernel has taken, before a reader took it and after", { skip }, async () => {
  await withConnection(async (connection, client) => {
    const bytes = 4_194_304;
    connection.writePlainly("x".repeat(bytes));
    const before = connection.sentBytes;
    assert.ok(before > 0 && before < bytes, String(before));
    const drained = once(connection, "drain");
    client.resume();
    await drained;
    assert.equal(connection.sentBytes, bytes);
  });
});

test("bytes whose writer the kernel does not name end the connection", { skip }, async () => {
  const unnamed: CredentialRead = { kind: "bytes", bytes: Buffer.from("x"), writer: 0 };
  /** Reports readable as soon as anybody is interested. */
  const eager: Reactor = {
    watch: (_fd, _interest, ready) => ({ change: () => setImmediate(() => ready(EPOLLIN)), stop: () => undefined }),
    close: () => undefined,
  };
  const connection = new VerifiedConnection(openSync("/dev/null", "r"), process.pid, eager, () => unnamed);
  connection.on("error", () => undefined);
  connection.resume();
  await new Promise((resolve) => connection.once("close", resolve));
  assert.ok(connection.errored instanceof Denied);
  assert.equal(connection.errored.code, "caller_writer_unknown");
});

test("a closed listener takes its socket file away and leaves open connections alone", { skip }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const path = join(folder, "agent.sock");
  const accepted = Promise.withResolvers<VerifiedConnection>();
  const listener = listenVerified({ path, mode: 0o600, callers: nobody, accept: accepted.resolve });
  const client = connect(path);
  const connection = await accepted.promise;
  listener.close();
  await assert.rejects(once(connect(path), "connect"), { code: "ENOENT" });
  client.write("still here");
  connection.resume();
  assert.equal(String((await once(connection, "data"))[0]), "still here");
  connection.destroy();
  client.destroy();
  rmSync(folder, { recursive: true });
});

test("a path that does not fit a socket address is refused", { skip }, () => {
  const path = `/${"x".repeat(120)}`;
  assert.throws(() => listenVerified({ path, mode: 0o600, callers: nobody, accept: () => undefined }), {
    name: "Fault",
  });
});

async function withConnection(
  act: (connection: VerifiedConnection, client: ReturnType<typeof connect>, wakes: () => number) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  const path = join(folder, "agent.sock");
  let woken = 0;
  const real = createReactor();
  const reactor: Reactor = {
    watch(fd, interest, ready) {
      return real.watch(fd, interest, (events) => {
        woken++;
        ready(events);
      });
    },
    close: () => real.close(),
  };
  const accepted = Promise.withResolvers<VerifiedConnection>();
  const listener = listenVerified({ path, mode: 0o600, callers: nobody, reactor, accept: accepted.resolve });
  const client = connect(path);
  client.on("error", () => undefined);
  const connection = await accepted.promise;
  woken = 0;
  connection.on("error", () => undefined);
  try {
    await act(connection, client, () => woken);
  } finally {
    client.destroy();
    if (!connection.destroyed) connection.destroy();
    listener.close();
    reactor.close();
    rmSync(folder, { recursive: true });
  }
}
