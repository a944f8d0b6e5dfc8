import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import { digestBytes } from "../../../src/kernel/canonical-json.ts";
import { Denied } from "../../../src/kernel/failure.ts";
import { type IncomingBody, readBody, seeBytes, takeWhole } from "./read-body.ts";

/** The events of an IncomingMessage, driven by hand. */
class Source extends EventEmitter implements IncomingBody {
  complete = false;
  readonly rawTrailers: readonly string[] = [];
  readonly socket = {};
  readonly said: string[] = [];

  pause(): void {
    this.said.push("pause");
  }

  resume(): void {
    this.said.push("resume");
  }

  finish(): void {
    this.complete = true;
    this.emit("end");
    this.emit("close");
  }
}

function intake(push: (chunk: Uint8Array) => void | Promise<void>) {
  const state = { aborted: 0 };
  return { state, push, abort: () => void state.aborted++ };
}

test("a body that ends whole is read once", async () => {
  const source = new Source();
  const seen: string[] = [];
  const reader = intake((chunk) => void seen.push(Buffer.from(chunk).toString()));
  const read = readBody(source, reader);
  source.emit("data", Buffer.from("a"));
  source.emit("data", Buffer.from("b"));
  source.finish();
  await read;
  assert.deepEqual(seen, ["a", "b"]);
  assert.equal(reader.state.aborted, 0);
});

test("the first refusal stops the reading, and what follows is never pushed", async () => {
  const source = new Source();
  let pushed = 0;
  const reader = intake(() => {
    pushed++;
    throw new Denied("body_too_large", "enough");
  });
  const read = readBody(source, reader);
  source.emit("data", Buffer.from("a"));
  source.emit("data", Buffer.from("b"));
  await assert.rejects(read, { code: "body_too_large" });
  assert.deepEqual([pushed, reader.state.aborted, source.said], [1, 1, ["pause"]]);
  // Late events of a dying connection change nothing.
  source.emit("error", new Error("reset"));
  source.emit("close");
  assert.equal(reader.state.aborted, 1);
});

test("a connection that breaks before the end is neither an end nor an unreadable request", async () => {
  for (const event of ["close", "error", "end"]) {
    const source = new Source();
    const reader = intake(() => {});
    const read = readBody(source, reader);
    source.emit(event, new Error("reset"));
    await assert.rejects(read, { code: "request_cut_off" }, event);
    assert.equal(reader.state.aborted, 1);
  }
});

test("a sink that is not ready holds back the sender, and one that fails ends the request", async () => {
  const source = new Source();
  const gate = Promise.withResolvers<void>();
  const slow = intake(() => gate.promise);
  const read = readBody(source, slow);
  source.emit("data", Buffer.from("a"));
  assert.deepEqual(source.said, ["pause"]);
  gate.resolve();
  await gate.promise;
  await Promise.resolve();
  assert.deepEqual(source.said, ["pause", "resume"]);
  source.finish();
  await read;

  const broken = new Source();
  const failing = intake(() => Promise.reject(new Error("disk full")));
  const failed = readBody(broken, failing);
  broken.emit("data", Buffer.from("a"));
  await assert.rejects(failed, /disk full/);
  assert.equal(failing.state.aborted, 1);
});

test("a body does not count as whole while a part of it is still being written", async () => {
  const source = new Source();
  const gate = Promise.withResolvers<void>();
  let whole = false;
  const read = readBody(
    source,
    intake(() => gate.promise),
  ).then(() => (whole = true));
  source.emit("data", Buffer.from("the last piece"));
  source.finish();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(whole, false);
  gate.resolve();
  await read;

  const broken = new Source();
  const fails = Promise.withResolvers<void>();
  const failing = intake(() => fails.promise);
  const failed = readBody(broken, failing);
  broken.emit("data", Buffer.from("the last piece"));
  broken.finish();
  fails.reject(new Error("disk full"));
  await assert.rejects(failed, /disk full/);
  assert.equal(failing.state.aborted, 1);
});

test("a body that came whole lets go of what it had opened, where that fails at once or while it is written", async () => {
  const broken = new Error("disk full");
  const failsAtOnce = intake(() => {
    throw broken;
  });
  assert.throws(() => takeWhole(Buffer.from("x"), failsAtOnce, seeBytes()), broken);
  const failsLater = intake(() => Promise.reject(broken));
  await assert.rejects(async () => takeWhole(Buffer.from("x"), failsLater, seeBytes()), broken);
  assert.deepEqual([failsAtOnce.state.aborted, failsLater.state.aborted], [1, 1]);
  const written = intake(() => Promise.resolve());
  await takeWhole(Buffer.from("x"), written, seeBytes());
  assert.equal(written.state.aborted, 0);
});

test("what was read of a refused request is told by its size and digest, in however many pieces it came", () => {
  const told = (...pieces: readonly string[]) => {
    const seen = seeBytes();
    for (const piece of pieces) seen.add(Buffer.from(piece));
    return seen.told();
  };
  const whole = { digest: digestBytes(Buffer.from("abc")), bytes: 3 };
  for (const pieces of [["abc"], ["a", "bc"], ["a", "b", "c"], ["", "abc"]]) assert.deepEqual(told(...pieces), whole);
  for (const pieces of [[], [""], ["", ""]]) assert.deepEqual(told(...pieces), { digest: null, bytes: 0 });
});
