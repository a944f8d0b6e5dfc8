import assert from "node:assert/strict";
import { test } from "node:test";
import { createOutputKeeper } from "./output.ts";

const MEGABYTE = 1_048_576;

function keeper(recordingBytes = MEGABYTE) {
  let ms = 0;
  const output = createOutputKeeper({ bodyBytes: MEGABYTE, recordingBytes }, () => ms);
  const write = (stream: "stdout" | "stderr", text: string, atMs: number): void => {
    ms = atMs;
    output.take({ kind: "output", stream, data: Buffer.from(text) });
  };
  const played = () => {
    const { chunks, capped } = output.recording("req");
    return { capped, chunks: chunks.map(({ stream, afterMs, data }) => [stream, afterMs, data.toString()]) };
  };
  return { write, played };
}

test("a recording plays what was written, on its stream and at its time", () => {
  const { write, played } = keeper();
  write("stdout", "one ", 1);
  write("stdout", "breath", 9);
  write("stderr", "oh", 9);
  write("stdout", "later", 11);
  write("stdout", "much later", 500);
  assert.deepEqual(played(), {
    capped: false,
    chunks: [
      ["stdout", 1, "one breath"],
      ["stderr", 9, "oh"],
      ["stdout", 11, "later"],
      ["stdout", 500, "much later"],
    ],
  });
});

test("a host that writes byte by byte, on both streams in turns, fills a recording and nothing beyond it", () => {
  const { write, played } = keeper(65_536);
  for (let at = 0; at < 10_000; at++) write(at % 2 === 0 ? "stdout" : "stderr", "x", at * 20);
  const { chunks, capped } = played();
  assert.deepEqual([capped, chunks.length <= 1_024, chunks.length > 900], [true, true, true]);
});

test("what is beyond the cap is cut where it is reached, and said", () => {
  const { write, played } = keeper(70);
  write("stdout", "0123456789", 0);
  write("stdout", "after it", 1);
  assert.deepEqual(played(), { capped: true, chunks: [["stdout", 0, "012345"]] });
});
