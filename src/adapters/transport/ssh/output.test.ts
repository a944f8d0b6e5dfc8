import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readRecording, writeRecording } from "../../../conventions/ssh/recording.ts";
import { runsOf } from "../../../kernel/testing/whole.ts";
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
  /** As it is sealed. */
  const file = () => writeRecording(output.recording(`evt_${"0".repeat(26)}`));
  return { write, played, file };
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
  const { write, played } = keeper(128 + 64 + 8);
  write("stdout", "0123456789", 0);
  write("stdout", "after it", 1);
  assert.deepEqual(played(), { capped: true, chunks: [["stdout", 0, "012345"]] });
});

test("the recording as it is kept is within its bound, whatever was written, and a large one fills it", () => {
  const { write, file } = keeper(65_536);
  write("stdout", "x".repeat(65_536), 3_600_000);
  assert.ok(file().length <= 65_536 && file().length > 65_536 - 64, `${file().length}`);
  const pieces = fc.array(
    fc.tuple(fc.constantFrom("stdout" as const, "stderr" as const), fc.nat(400), fc.constantFrom(0, 1, 20, 10_000_000)),
    { maxLength: 60 },
  );
  fc.assert(
    fc.property(pieces, fc.nat(4_000), (all, limit) => {
      const tape = keeper(limit);
      let [atMs, whole] = [0, 0];
      for (const [stream, bytes, laterMs] of all) {
        atMs += laterMs;
        whole += bytes;
        tape.write(stream, "x".repeat(bytes), atMs);
      }
      const { chunks = [], capped } = readRecording(tape.file()) ?? {};
      const kept = chunks.reduce((sum, { data }) => sum + data.length, 0);
      if (kept > 0) assert.ok(tape.file().length <= limit, `${tape.file().length} of ${limit}`);
      assert.equal(capped, kept < whole);
    }),
    { numRuns: runsOf(300) },
  );
});
