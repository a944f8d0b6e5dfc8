import assert from "node:assert/strict";
import { type Duplex, duplexPair } from "node:stream";
import { test } from "node:test";
import type { JSONRPCMessage } from "@modelcontextprotocol/server";
import { createLineTransport } from "./transport.ts";
import { createTurns } from "./turns.ts";

interface Stand {
  readonly peer: Duplex;
  readonly socket: Duplex;
  readonly got: JSONRPCMessage[];
  readonly transport: ReturnType<typeof createLineTransport>;
  closed: boolean;
  say(text: string): Promise<void>;
  answers(): readonly { readonly id?: unknown; readonly error?: { code: number; data: { code: string } } }[];
}

const limits = { lineBytes: 200, badLines: 3, requestsOpen: 2 };

async function stand(head = "", given: Partial<typeof limits> = {}): Promise<Stand> {
  const [socket, peer] = duplexPair();
  const transport = createLineTransport(socket, Buffer.from(head), { ...limits, ...given }, createTurns(64, 0));
  let out = "";
  peer.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  const made: Stand = {
    peer,
    socket,
    got: [],
    transport,
    closed: false,
    async say(text) {
      peer.write(text);
      for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
    answers: () =>
      out
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
  };
  transport.onmessage = (message) => made.got.push(message);
  transport.onclose = () => {
    made.closed = true;
  };
  await transport.start();
  return made;
}

const ping = (id: unknown): string => `${JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })}\n`;

test("messages pass in order, those that came with the upgrade first", async () => {
  const { got, say } = await stand(`${ping(1).slice(0, 10)}`);
  await say(`${ping(1).slice(10)}\n \r\n${ping("two")}`);
  assert.deepEqual(
    got.map((message) => ("id" in message ? message.id : null)),
    [1, "two"],
  );
});

test("a repeated member is answered with a parse error and never reaches the server", async () => {
  const { got, say, answers } = await stand();
  for (const line of [
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}',
    '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/list"}',
  ]) {
    await say(`${line}\n`);
  }
  assert.deepEqual(got, []);
  assert.deepEqual(
    answers().map(({ id, error }) => [id, error?.code, error?.data.code]),
    Array(3).fill([null, -32_700, "json_duplicate_member"]),
  );
});

test("what is no JSON-RPC message is answered as one, and so is a batch", async () => {
  const { got, say, answers, closed } = await stand();
  await say('nonsense\n{"id":7}\n[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n');
  assert.deepEqual(got, []);
  assert.deepEqual(
    answers().map(({ id, error }) => [id, error?.code]),
    [
      [null, -32_700],
      [7, -32_600],
      [null, -32_600],
    ],
  );
  assert.equal(closed, false);
});

test("whoever keeps sending what is no message is let go", async () => {
  const one = await stand();
  await one.say("x\nx\nx\n");
  assert.equal(one.closed, false);
  await one.say("x\n");
  assert.equal(one.closed, true);
  await one.say(ping(1));
  assert.deepEqual(one.got, []);
});

test("a line longer than the bound is answered, and the connection ends", async () => {
  const one = await stand();
  await one.say(`${ping(1)}${"x".repeat(limits.lineBytes + 1)}`);
  assert.equal(one.got.length, 1);
  assert.deepEqual(one.answers()[0]?.error?.data.code, "body_too_large");
  assert.equal(one.closed, true);
});

test("open requests are bounded, an id is used once at a time, and an answer or a cancel frees its place", async () => {
  const { got, say, answers, transport } = await stand();
  await say(ping(1) + ping(1) + ping(2) + ping(3));
  assert.deepEqual(
    answers().map(({ id, error }) => [id, error?.data.code]),
    [
      [1, "repeated_name"],
      [3, "too_many_requests"],
    ],
  );
  await transport.send({ jsonrpc: "2.0", id: 1, result: {} });
  await say('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}\n');
  await say(ping(4) + ping(5));
  assert.deepEqual(
    got.map((message) => ("id" in message ? message.id : "cancel")),
    [1, 2, "cancel", 4, 5],
  );
});

test("input is not read while the answers are not read, and progress is dropped meanwhile", async () => {
  const [socket, peer] = duplexPair({ highWaterMark: 1_000 });
  const transport = createLineTransport(
    socket,
    Buffer.alloc(0),
    { ...limits, requestsOpen: 1_000 },
    createTurns(64, 0),
  );
  let received = 0;
  let progressed = 0;
  transport.onmessage = () => {
    received++;
  };
  await transport.start();
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  };
  await transport.send({ jsonrpc: "2.0", id: 0, result: { filler: "x".repeat(5_000) } });
  for (let step = 0; step < 50; step++) {
    await transport.send({
      jsonrpc: "2.0",
      method: "notifications/progress",
      params: { progressToken: 1, progress: step },
    });
  }
  peer.write(ping(1));
  await settle();
  assert.equal(received, 0);
  peer.setEncoding("utf8").on("data", (text: string) => {
    if (text.includes("progress")) progressed++;
  });
  await settle();
  assert.equal(received, 1);
  assert.equal(progressed, 0);
});

test("the end of the input and a broken connection end the transport once", async () => {
  for (const how of ["end", "destroy"] as const) {
    const one = await stand();
    let times = 0;
    one.transport.onclose = () => {
      times++;
    };
    if (how === "end") one.peer.end();
    else one.socket.destroy(new Error("lost"));
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    await one.transport.close();
    await one.transport.send({ jsonrpc: "2.0", id: 1, result: {} });
    assert.equal(times, 1, how);
  }
});

test("a connection that sends without end does not hold up another: they take turns", async () => {
  const turns = createTurns(64, 0);
  const told: string[] = [];
  const connect = async (name: string): Promise<Duplex> => {
    const [socket, peer] = duplexPair();
    const transport = createLineTransport(socket, Buffer.alloc(0), limits, turns);
    transport.onmessage = () => told.push(name);
    await transport.start();
    return peer;
  };
  const [flooder, other] = [await connect("flooder"), await connect("other")];
  const progress = { method: "notifications/progress", params: { progressToken: 1, progress: 1 } };
  flooder.write(`${JSON.stringify({ jsonrpc: "2.0", ...progress })}\n`.repeat(500));
  other.write(ping(1));
  while (told.length < 501) await new Promise((resolve) => setImmediate(resolve));
  assert.ok(told.indexOf("other") <= 64, `it was number ${told.indexOf("other")}`);
});

test("long lines fill a turn by their bytes, so that everything else has its own between them", async () => {
  const turns = createTurns(64, 0, 1_000);
  const order: string[] = [];
  for (const name of ["one", "two"])
    turns.queue(() => {
      if (order.length === 0) setImmediate(() => order.push("something else"));
      order.push(name);
      return { bytes: 1_000, more: false };
    });
  while (order.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.deepEqual(order, ["one", "something else", "two"]);
});

test("a connection is at work while a request is open, and not before or after", async () => {
  const [socket, peer] = duplexPair();
  const told: boolean[] = [];
  const transport = createLineTransport(socket, Buffer.alloc(0), limits, createTurns(64, 0), (busy) => told.push(busy));
  let got = 0;
  transport.onmessage = () => {
    got++;
  };
  await transport.start();
  peer.write(ping(1) + ping(2));
  while (got < 2) await new Promise((resolve) => setImmediate(resolve));
  await transport.send({ jsonrpc: "2.0", id: 1, result: {} });
  assert.deepEqual(told, [true]);
  await transport.send({ jsonrpc: "2.0", id: 2, result: {} });
  assert.deepEqual(told, [true, false]);
});
