import assert from "node:assert/strict";
import { Duplex } from "node:stream";
import { test } from "node:test";
import { type PlainReply, type PlainRequest, servePlainly } from "./plain-door.ts";

const REQUEST = Buffer.from("GET /v1/runs HTTP/1.1\r\nHost: gw\r\n\r\n", "latin1");
const DATE = /date: [^\r]*\r\n/;

/** A connection whose peer is this test. */
class Line extends Duplex {
  written = "";
  handedOver = 0;
  offer: (bytes: Buffer) => boolean = () => false;
  handOver: () => void = () => undefined;
  readPlainly(take: (bytes: Buffer) => boolean, handOver: () => void): void {
    this.offer = take;
    this.handOver = handOver;
  }
  writePlainly(text: string): boolean {
    return this.write(text, "utf8");
  }
  override _read(): void {}
  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.written += chunk.toString("utf8");
    done();
  }
}

function open(): { line: Line; served: { request: PlainRequest; reply: PlainReply }[] } {
  const line = new Line();
  const served: { request: PlainRequest; reply: PlainReply }[] = [];
  servePlainly(line, {
    serve: (request, reply) => void served.push({ request, reply }),
    handOver: () => line.handedOver++,
    late: () => undefined,
  });
  return { line, served };
}

test("a plain request is answered with its length, and the next is read on the same connection", () => {
  const { line, served } = open();
  for (const round of [1, 2]) {
    assert.equal(line.offer(REQUEST), true);
    const asked = served[round - 1];
    assert.equal(asked?.request.url, "/v1/runs");
    let gone = 0;
    asked?.reply.once("close", () => gone++);
    asked?.reply.writeHead(200, { "content-type": "application/json", "content-length": 2 });
    asked?.reply.end("{}");
    assert.equal(gone, 1);
  }
  const one =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\n{}";
  assert.equal(line.written.replace(DATE, "").replace(DATE, ""), one + one);
  assert.equal(line.handedOver, 0);
});

test("a reply that comes piece by piece is in chunks, and one that ends the connection ends it", async () => {
  const { line, served } = open();
  line.offer(REQUEST);
  const reply = served[0]?.reply;
  reply?.writeHead(200, { connection: "close" });
  reply?.write("one\n");
  reply?.write("zwölf\n");
  reply?.end("");
  await new Promise((resolve) => line.once("close", resolve));
  assert.equal(
    line.written.replace(DATE, ""),
    "HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n4\r\none\n\r\n7\r\nzwölf\n\r\n0\r\n\r\n",
  );
});

test("what comes before the answer, and what is not plain, is not taken", () => {
  const { line, served } = open();
  line.offer(REQUEST);
  assert.equal(line.offer(REQUEST), false, "the first is not answered yet");
  assert.equal(served.length, 1);
  const other = open();
  assert.equal(other.line.offer(Buffer.concat([REQUEST, REQUEST])), false, "two in one read");
  assert.equal(other.line.offer(Buffer.from("POST / HTTP/1.1\r\n", "latin1")), false);
  assert.equal(other.served.length, 0);
});

test("whoever hangs up is gone before the answer, which then goes nowhere", async () => {
  const { line, served } = open();
  line.offer(REQUEST);
  let gone = 0;
  served[0]?.reply.once("close", () => gone++);
  line.destroy();
  await new Promise((resolve) => line.once("close", resolve));
  assert.equal(gone, 1);
  served[0]?.reply.writeHead(200, { "content-length": 0 });
  served[0]?.reply.end("");
  assert.equal(line.written, "");
});

test("no value of a reply breaks out of its line", () => {
  const { line, served } = open();
  line.offer(REQUEST);
  assert.throws(() => served[0]?.reply.writeHead(200, { location: "/a\r\nset-cookie: b" }), /holds what no field can/);
});
