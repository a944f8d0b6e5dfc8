import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../../kernel/defaults.ts";
import { openPipe } from "./pipe.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("a head is told once there is one, and pieces come in their order until the end", async () => {
  const { signal } = new AbortController();
  const pipe = openPipe(signal);
  assert.deepEqual([pipe.begun, pipe.gone], [false, signal]);
  pipe.begin(200, { "content-type": "text/plain" });
  assert.equal(pipe.begun, true);
  assert.deepEqual(await pipe.head, { status: 200, headers: [["content-type", "text/plain"]] });
  const read: string[] = [];
  const reading = (async () => {
    for await (const piece of pipe.pieces()) read.push(String(piece));
  })();
  await turn();
  pipe.write(Buffer.from("a"));
  pipe.write(Buffer.from("b"));
  await turn();
  assert.deepEqual(read, ["a", "b"]);
  pipe.write(Buffer.from("c"));
  pipe.finish();
  await reading;
  assert.deepEqual(read, ["a", "b", "c"], "what was written before the end is read");
});

test("one who waits for more is told that there is none", async () => {
  const pipe = openPipe(new AbortController().signal);
  const next = pipe.pieces().next();
  await turn();
  pipe.finish();
  assert.equal((await next).done, true);
});

test("whoever writes waits where so much is unread, and goes on once less is", async () => {
  const pipe = openPipe(new AbortController().signal);
  const half = Buffer.alloc(defaults.streamHeldBytes / 2);
  assert.equal(pipe.write(half.subarray(1)), null);
  assert.equal(pipe.write(half), null, "a byte is left");
  let room = false;
  const waiting = pipe.write(half.subarray(0, 1)) ?? assert.fail("it is full");
  void waiting.then(() => {
    room = true;
  });
  await turn();
  assert.equal(room, false);
  const pieces = pipe.pieces();
  await pieces.next();
  await waiting;
  assert.equal(pipe.write(Buffer.from("x")), null);
});

test("one who reads slowly lets nobody write before there is room again", async () => {
  const pipe = openPipe(new AbortController().signal);
  const all = Buffer.alloc(defaults.streamHeldBytes);
  pipe.write(all.subarray(0, 1));
  let room = false;
  void Promise.resolve(pipe.write(all)).then(() => {
    room = true;
  });
  const pieces = pipe.pieces();
  await pieces.next();
  await turn();
  assert.equal(room, false, "it is full still");
  await pieces.next();
  await turn();
  assert.equal(room, true);
});
