import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { VerifiedConnection } from "../src/adapters/platform/linux/connection.ts";
import { Denied } from "../src/kernel/failure.ts";
import { asAttack, openStage, type Stage } from "./caller-stage.ts";

describe("peer credentials name who connected; every byte is asked for its writer", asAttack, () => {
  test("bytes of the process that connected are read, from any of its threads", async () => {
    await withStage(async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const { connection } = await stage.next();
      await attacker.say("write first");
      assert.equal(await read(connection), "first");
      await attacker.say("thread-write second");
      assert.equal(await read(connection), "second");
    });
  });

  test("a child that inherited the descriptor writes: nothing is read and the connection ends", async () => {
    await withStage(async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const { connection } = await stage.next();
      await attacker.say("fork-write stolen");
      await assertWriterChanged(connection);
    });
  });

  test("a child writes after its parent did: the parent's bytes are read, the child's end the connection", async () => {
    await withStage(async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      await attacker.say("write honest");
      await attacker.say("fork-write stolen");
      const { connection } = await stage.next();
      assert.equal(await read(connection), "honest");
      await assertWriterChanged(connection);
    });
  });

  test("a descriptor passed with SCM_RIGHTS is used by its receiver: the connection ends", async () => {
    await withStage(async (stage) => {
      const [owner, thief] = [stage.start(), stage.start()];
      await owner.say(`connect ${stage.socket}`);
      const { connection, caller } = await stage.next();
      const meeting = join(stage.folder, "meeting.sock");
      await thief.say(`receive ${meeting}`);
      await owner.say(`pass-to ${meeting}`);
      await thief.say("write stolen").catch(() => undefined);
      await thief.say("write stolen").catch(() => undefined);
      await assertWriterChanged(connection);
      assert.deepEqual((await caller).check(), { kind: "same" });
    });
  });

  test("connect, fork, exec a genuine program while the child writes: the connection ends and the caller is replaced", async () => {
    await withStage(async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const { connection, caller } = await stage.next();
      const identified = await caller;
      await attacker.say("write-after-exec stolen");
      attacker.tell("exec /bin/sleep 60");
      // The kernel reports the exec and the child's bytes at about the same time; either ends it.
      await assertEnded(connection, ["caller_writer_changed", "caller_replaced"]);
      assert.equal(identified.check().kind, "replaced");
    });
  });

  test("connect, fork and exec before anybody looks: the child's bytes are still not the genuine program's", async () => {
    await withStage(async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      await attacker.say("write-after-exec stolen");
      attacker.tell("exec /bin/sleep 60");
      const { connection } = await stage.next();
      await assertEnded(connection, ["caller_writer_changed", "caller_replaced"]);
    });
  });

  test("the process that connected ends: the connection ends with it, whoever still holds the descriptor", async () => {
    for (const [ending, code] of [
      ["exec /bin/sleep 60", "caller_replaced"],
      ["quit", "caller_gone"],
    ] as const) {
      await withStage(async (stage) => {
        const attacker = stage.start();
        await attacker.say(`connect ${stage.socket}`);
        const { connection, caller } = await stage.next();
        await caller;
        await attacker.say("fork-hold");
        if (ending === "quit") attacker.process.kill("SIGKILL");
        else attacker.tell(ending);
        await new Promise((resolve) => connection.once("close", resolve));
        assert.ok(connection.errored instanceof Denied);
        assert.equal(connection.errored.code, code);
      });
    }
  });

  test("descriptors sent over the connection are never installed here and end it", async () => {
    await withStage(async (stage) => {
      const attacker = stage.start();
      await attacker.say(`connect ${stage.socket}`);
      const { connection, caller } = await stage.next();
      await caller;
      const before = readdirSync("/proc/self/fd").length;
      await attacker.say("pass-over");
      await assertWriterChanged(connection);
      assert.ok(readdirSync("/proc/self/fd").length <= before);
    });
  });

  test("connections leave no descriptor behind", async () => {
    await withStage(async (stage) => {
      const openOnce = async (): Promise<void> => {
        const attacker = stage.start();
        await attacker.say(`connect ${stage.socket}`);
        const { connection, caller } = await stage.next();
        const found = await caller;
        attacker.process.kill("SIGKILL");
        await once(attacker.process, "close");
        found.close();
        connection.destroy();
        if (!connection.closed) await new Promise((resolve) => connection.once("close", resolve));
      };
      await openOnce();
      const before = readdirSync("/proc/self/fd").length;
      for (let round = 0; round < 12; round++) await openOnce();
      assert.ok(readdirSync("/proc/self/fd").length <= before);
    });
  });
});

describe("a verified connection is a whole socket", asAttack, () => {
  test("whatever is written in whatever pieces comes back the same", async () => {
    await withStage(async (stage) => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.uint8Array({ minLength: 1, maxLength: 100_000 }), { maxLength: 8 }),
          async (parts) => {
            const client = connect({ path: stage.socket, allowHalfOpen: true });
            const { connection } = await stage.next();
            connection.pipe(connection);
            for (const part of parts) client.write(part);
            client.end();
            assert.deepEqual(await buffer(client), Buffer.concat(parts));
          },
        ),
        { numRuns: 20 },
      );
    });
  });

  test("a reader that is slower than the writer loses nothing and holds little", async () => {
    await withStage(async (stage) => {
      const client = connect({ path: stage.socket, allowHalfOpen: true });
      const { connection } = await stage.next();
      const sent = Buffer.alloc(4_000_000, 7);
      client.end(sent);
      let received = 0;
      for await (const chunk of connection) {
        received += (chunk as Buffer).length;
        assert.ok(connection.readableLength <= 262_144);
        await new Promise(setImmediate);
      }
      assert.equal(received, sent.length);
      connection.destroy();
    });
  });

  test("a writer that is faster than the reader waits, and everything arrives", async () => {
    await withStage(async (stage) => {
      const client = connect({ path: stage.socket, allowHalfOpen: true });
      client.pause();
      const { connection } = await stage.next();
      const sent = Buffer.alloc(4_000_000, 9);
      connection.end(sent);
      await new Promise(setImmediate);
      assert.ok(connection.writableLength > 0);
      assert.equal((await buffer(client)).length, sent.length);
      client.end();
      connection.resume();
      await once(connection, "close");
    });
  });

  test("a connection without traffic reports a timeout", async () => {
    await withStage(async (stage) => {
      const client = connect(stage.socket);
      const { connection } = await stage.next();
      connection.setTimeout(10);
      await once(connection, "timeout");
      client.destroy();
    });
  });

  test("node:http serves requests, kept alive and pipelined, with bodies both ways", async () => {
    await withStage(async (stage) => {
      const server = createServer((request, response) => {
        const digest = request.headers["x-name"];
        buffer(request).then((body) => response.end(Buffer.concat([Buffer.from(`${digest}:`), body])));
      });
      const client = spawn(process.execPath, ["-e", PIPELINE, stage.socket], { stdio: ["ignore", "pipe", "inherit"] });
      const { connection } = await stage.next();
      server.emit("connection", connection);
      const text = (await buffer(client.stdout)).toString();
      assert.deepEqual(
        [...text.matchAll(/(a|b|c):(x*)/g)].map(([, name, body]) => [name, body?.length]),
        [
          ["a", 1],
          ["b", 20_000],
          ["c", 0],
        ],
      );
    });
  });

  test("a client that gives up while its request waits is noticed", async () => {
    await withStage(async (stage) => {
      const given = Promise.withResolvers<void>();
      const server = createServer((_request, response) => response.once("close", given.resolve));
      const client = connect(stage.socket);
      client.write("GET / HTTP/1.1\r\nHost: gw\r\n\r\n");
      server.emit("connection", (await stage.next()).connection);
      await once(server, "request");
      client.destroy();
      await given.promise;
    });
  });

  test("a hundred requests at once through an agent of node:http", async () => {
    await withStage(async (stage) => {
      const server = createServer((request, response) => response.end(request.url));
      const accept = async (): Promise<void> => {
        for (;;) server.emit("connection", (await stage.next()).connection);
      };
      void accept();
      const urls = Array.from({ length: 100 }, (_, index) => `/${index}`);
      const answers = await Promise.all(urls.map((path) => get(stage.socket, path)));
      assert.deepEqual(answers, urls);
    });
  });
});

const PIPELINE = `
const socket = require("node:net").connect(process.argv[1]);
const ask = (name, body, last) => "POST / HTTP/1.1\\r\\nHost: gw\\r\\nX-Name: " + name + "\\r\\nContent-Length: " + body.length
  + (last ? "\\r\\nConnection: close" : "") + "\\r\\n\\r\\n" + body;
socket.write(ask("a", "x") + ask("b", "x".repeat(20000)) + ask("c", "", true));
socket.pipe(process.stdout);
`;

function get(socketPath: string, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath, path, agent: false }, (response) => {
      buffer(response).then((body) => resolve(body.toString()), reject);
    });
    request.on("error", reject);
    request.end();
  });
}

async function read(connection: VerifiedConnection): Promise<string> {
  for (;;) {
    const chunk: unknown = connection.read();
    if (chunk !== null) return String(chunk);
    await once(connection, "readable");
  }
}

function assertWriterChanged(connection: VerifiedConnection): Promise<void> {
  return assertEnded(connection, ["caller_writer_changed"]);
}

async function assertEnded(connection: VerifiedConnection, codes: readonly string[]): Promise<void> {
  const seen: Buffer[] = [];
  connection.on("data", (chunk: Buffer) => seen.push(chunk));
  if (!connection.closed) await new Promise((resolve) => connection.once("close", resolve));
  assert.deepEqual(seen, []);
  assert.ok(connection.errored instanceof Denied);
  assert.ok(codes.includes(connection.errored.code), connection.errored.code);
}

async function withStage(act: (stage: Stage) => Promise<void>): Promise<void> {
  const stage = openStage();
  try {
    await act(stage);
  } finally {
    stage.close();
  }
}
