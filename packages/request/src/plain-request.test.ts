import assert from "node:assert/strict";
import { createServer } from "node:http";
import { Duplex } from "node:stream";
import { test } from "node:test";
import fc from "fast-check";
import { readPlainHead } from "./plain-request.ts";

const MOST = 16_384;
const BODY = '{"action":"demo.thing.get","input":{"id":"7"}}';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

/** What node:http makes of the bytes: the requests that came whole. */
async function readByNode(bytes: Buffer): Promise<readonly Seen[]> {
  const seen: Seen[] = [];
  const ended = Promise.withResolvers<void>();
  const server = createServer({ maxHeaderSize: MOST, requireHostHeader: false }, async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { method, url, rawHeaders } = request;
    seen.push({ method, url, rawHeaders, body: Buffer.concat(pieces).toString("latin1") });
    response.end();
    ended.resolve();
  });
  server.on("clientError", () => ended.resolve());
  const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
  server.emit("connection", socket);
  socket.push(bytes);
  await ended.promise;
  socket.destroy();
  return seen;
}

function post(lines: readonly string[], body = BODY): string {
  return `POST /v1/runs/run_1/calls HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n${body}`;
}

const plain = [
  "Host: localhost",
  "Content-Type: application/json",
  `Content-Length: ${BODY.length}`,
  "Prefer: wait=30",
  "Connection: keep-alive",
];

test("a request in the form in which nearly all come is read as node:http reads it", async () => {
  const bytes = Buffer.from(post(plain), "latin1");
  const head = readPlainHead(bytes, MOST);
  assert.ok(head !== null);
  assert.deepEqual(
    [
      {
        method: head.method,
        url: head.target,
        rawHeaders: head.rawHeaders,
        body: bytes.subarray(head.headBytes).toString("latin1"),
      },
    ],
    await readByNode(bytes),
  );
  assert.equal(head.headBytes + head.bodyBytes, bytes.length);
  assert.equal(head.headers["prefer"], "wait=30");
});

test("whatever could mean anything else is left to the general parser", () => {
  const odd: readonly (readonly [string, string])[] = [
    ["a head that is not whole", post(plain).slice(0, 60)],
    ["two lengths", post([...plain, `Content-Length: ${BODY.length}`])],
    ["a coding", post([...plain.filter((line) => !line.startsWith("Content-L")), "Transfer-Encoding: chunked"])],
    ["a coding beside a length", post([...plain, "Transfer-Encoding: chunked"])],
    ["an upgrade", post([...plain, "Upgrade: websocket"])],
    ["an expectation", post([...plain, "Expect: 100-continue"])],
    ["a connection that ends", post([...plain.slice(0, 4), "Connection: close"])],
    ["a field nobody knows", post([...plain, "X-Any: thing"])],
    ["no host", post(plain.slice(1))],
    ["no length", post(plain.filter((line) => !line.startsWith("Content-L")))],
    [
      "a length that is no number",
      post([...plain.filter((line) => !line.startsWith("Content-L")), "Content-Length: +3"]),
    ],
    ["a folded line", post([...plain, " and more"])],
    ["a blank before the colon", post([...plain.slice(1), "Host : localhost"])],
    ["a bare line feed", post(plain).replace("\r\nPrefer", "\nPrefer")],
    ["a bare carriage return", post([...plain.slice(1), "Host: local\rhost"])],
    ["a zero byte", post([...plain.slice(1), "Host: local\0host"])],
    ["a value beyond ASCII", post([...plain.slice(1), "Host: löcal"])],
    ["another version", post(plain).replace("HTTP/1.1", "HTTP/1.0")],
    ["another method", post(plain).replace("POST", "PUT")],
    ["a target in absolute form", post(plain).replace("/v1", "http://x/v1")],
    ["a blank line first", `\r\n${post(plain)}`],
    ["a GET with a length", post(plain).replace("POST", "GET")],
    ["a head that is too large", post([...plain, `Accept: ${"x".repeat(MOST)}`])],
  ];
  for (const [what, text] of odd) assert.equal(readPlainHead(Buffer.from(text, "latin1"), MOST), null, what);
});

test("no bytes are plain that node:http reads in another way", async () => {
  const bytes = Buffer.from(post(plain), "latin1");
  const change = fc.record({
    at: fc.nat(bytes.length - 1),
    cut: fc.nat(3),
    put: fc.oneof(
      fc.constantFrom("", "\r", "\n", "\r\n", " ", "\t", ":", "\0", "\x7f", "Host: x\r\n", "Content-Length: 3\r\n"),
      fc.constantFrom("Transfer-Encoding: chunked\r\n", "Accept: \r\n", "Accept:\r\n", "%", "?", "#", "\xff", "0", "1"),
    ),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(change, { maxLength: 3 }), async (changes) => {
      let text = bytes.toString("latin1");
      for (const { at, cut, put } of changes) text = text.slice(0, at) + put + text.slice(at + cut);
      const changed = Buffer.from(text, "latin1");
      const head = readPlainHead(changed, MOST);
      if (head === null || changed.length !== head.headBytes + head.bodyBytes) return;
      const body = changed.subarray(head.headBytes).toString("latin1");
      const { method, target: url, rawHeaders } = head;
      assert.deepEqual([{ method, url, rawHeaders, body }], await readByNode(changed));
    }),
    { numRuns: 500 },
  );
});

test("a head is read up to its longest, the empty line counted, and one byte more is left to others", () => {
  const head = Buffer.from("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
  assert.notEqual(readPlainHead(head, head.length), null);
  assert.equal(readPlainHead(head, head.length - 1), null);
  assert.equal(readPlainHead(head.subarray(0, -1), 100), null);
});
