import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createFrameReader, type Frame, readFrame, writeFrame } from "./frames.ts";
import { type RefusalCode, refusals } from "./refusal.ts";

const ID = "call_0123456789";
const ready: Frame = { kind: "ready", nonce: "AAAAAAAAAAAAAAAAAAAAAA" };
const started: Frame = { kind: "started", requestId: ID };
const output: Frame = { kind: "output", stream: "stdout", data: Buffer.from("hello\n") };
const finished: Frame = {
  kind: "finished",
  requestId: ID,
  exitStatus: 0,
  signal: null,
  timedOut: false,
  truncated: false,
};
const refused: Frame = { kind: "refused", requestId: ID, code: "action_unknown" };

function read(frames: readonly Frame[], tail = "") {
  const reader = createFrameReader(ID);
  const seen = reader.push(Buffer.from(frames.map((frame) => writeFrame(frame)).join("") + tail));
  reader.end();
  return { reader, kinds: seen.map(({ kind }) => kind) };
}

test("ready, started, output, finished is the whole way of an operation", () => {
  const { reader, kinds } = read([ready, started, output, output, finished]);
  assert.deepEqual(kinds, ["ready", "started", "output", "output", "finished"]);
  assert.equal(reader.progress, "finished");
  assert.equal(reader.violation, null);
});

test("a refusal may come before ready, or in the place of started", () => {
  assert.equal(read([refused]).reader.violation, null);
  assert.equal(read([ready, refused]).reader.progress, "refused");
  assert.equal(read([ready, { ...refused, requestId: null }]).reader.violation, null);
});

const disorders: readonly (readonly Frame[])[] = [
  [started],
  [output],
  [finished],
  [ready, ready],
  [ready, output],
  [ready, finished],
  [ready, started, started],
  [ready, started, ready],
  [ready, started, refused],
  [ready, refused, started],
  [ready, started, finished, finished],
  [ready, started, finished, output],
];
for (const frames of disorders) {
  test(`out of order: ${frames.map(({ kind }) => kind).join(", ")}`, () => {
    const { reader, kinds } = read(frames);
    assert.equal(reader.violation, "frame_out_of_order");
    assert.equal(kinds.length, frames.length - 1);
  });
}

test("a frame for another request is a violation", () => {
  const other = "call_9876543210";
  assert.equal(read([ready, { ...started, requestId: other }]).reader.violation, "frame_for_another_request");
  assert.equal(read([ready, started, { ...finished, requestId: other }]).reader.violation, "frame_for_another_request");
  assert.equal(read([ready, { ...refused, requestId: other }]).reader.violation, "frame_for_another_request");
});

test("half a line at the end and a line without end are violations", () => {
  assert.equal(read([ready], '{"frame"').reader.violation, "frame_malformed");
  const reader = createFrameReader(ID);
  reader.push(Buffer.alloc(50_000, 0x78));
  assert.equal(reader.violation, "frame_too_long");
  assert.deepEqual(reader.push(Buffer.from(writeFrame(ready))), []);
});

const misshapen = [
  "",
  "null",
  "[]",
  '"ready"',
  '{"frame":"ready"}',
  '{"frame":"ready","format":"gw.receiver/v2","nonce":"AAAAAAAAAAAAAAAAAAAAAA"}',
  '{"frame":"ready","format":"gw.receiver/v1","nonce":"short"}',
  '{"frame":"ready","format":"gw.receiver/v1","nonce":"AAAAAAAAAAAAAAAAAAAAAA","more":1}',
  '{"frame":"ready","frame":"ready","format":"gw.receiver/v1","nonce":"AAAAAAAAAAAAAAAAAAAAAA"}',
  '{"frame":"started"}',
  '{"frame":"started","request_id":7}',
  '{"frame":"started","request_id":"a b c d e"}',
  '{"frame":"refused","request_id":null,"code":"because"}',
  '{"frame":"refused","request_id":null,"code":"constructor"}',
  '{"frame":"refused","code":"action_unknown"}',
  '{"frame":"output","stream":"stdlog","data":""}',
  '{"frame":"output","stream":"stdout","data":"!!!!"}',
  '{"frame":"output","stream":"stdout","data":"QQ"}',
];
const ends = [
  { exit_status: 256 },
  { exit_status: -1 },
  { exit_status: 1.5 },
  { exit_status: "0" },
  { exit_status: null },
  { signal: "SIGKILL" },
  { signal: "kill", exit_status: null },
  { timed_out: 0 },
  { truncated: null },
  { extra: true },
];
test("lines of another shape are no frames", () => {
  for (const line of misshapen) assert.equal(readFrame(Buffer.from(line)), undefined, line);
  const good = { frame: "finished", request_id: ID, exit_status: 0, signal: null, timed_out: false, truncated: false };
  assert.ok(readFrame(Buffer.from(JSON.stringify(good))));
  for (const end of ends) assert.equal(readFrame(Buffer.from(JSON.stringify({ ...good, ...end }))), undefined);
  assert.equal(readFrame(Buffer.from([0xff, 0xfe])), undefined);
});

const anyFrame: fc.Arbitrary<Frame> = fc.oneof(
  fc
    .uint8Array({ minLength: 16, maxLength: 16 })
    .map((bytes) => ({ kind: "ready" as const, nonce: Buffer.from(bytes).toString("base64url") })),
  fc
    .constantFrom(...(Object.keys(refusals) as RefusalCode[]))
    .map((code) => ({ kind: "refused" as const, requestId: ID, code })),
  fc
    .uint8Array({ maxLength: 300 })
    .map((bytes) => ({ kind: "output" as const, stream: "stderr" as const, data: Buffer.from(bytes) })),
  fc.integer({ min: 0, max: 255 }).map((exitStatus) => ({
    ...finished,
    kind: "finished" as const,
    requestId: ID,
    exitStatus,
    signal: null,
    timedOut: true,
    truncated: true,
  })),
);

test("what is written reads back the same", () => {
  fc.assert(
    fc.property(anyFrame, (frame) => assert.deepEqual(readFrame(Buffer.from(writeFrame(frame).trimEnd())), frame)),
  );
});

test("how the bytes are cut into chunks changes nothing", () => {
  const bytes = Buffer.from([ready, started, output, finished].map((frame) => writeFrame(frame)).join(""));
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: bytes.length - 1 }), { maxLength: 8 }), (cuts) => {
      const reader = createFrameReader(ID);
      const places = [0, ...cuts.sort((a, b) => a - b), bytes.length];
      const kinds = places.slice(1).flatMap((end, at) => reader.push(bytes.subarray(places[at], end)));
      assert.deepEqual(
        kinds.map(({ kind }) => kind),
        ["ready", "started", "output", "finished"],
      );
    }),
  );
});

test("no bytes make the reader throw", () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 80 }), { maxLength: 6 }), (chunks) => {
      const reader = createFrameReader(ID);
      for (const chunk of chunks) reader.push(Buffer.from(chunk));
      reader.end();
      assert.ok(reader.progress === "none");
    }),
  );
});
