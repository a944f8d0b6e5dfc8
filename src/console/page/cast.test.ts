import assert from "node:assert/strict";
import { test } from "node:test";
import { writeAsciicast } from "../../conventions/ssh/recording.ts";
import { readPieces } from "./cast.ts";

test("a recording is text in time: controls that a host sent are spelled out, and a long silence is cut short", () => {
  const chunk = (afterMs: number, text: string) => ({ afterMs, stream: "stdout" as const, data: Buffer.from(text) });
  const chunks = [chunk(500, "one\n"), chunk(60_500, "\u001b]0;title\u0007\u001b[2J<img src=x>\u202eevil\r\n")];
  const lines = writeAsciicast({ requestId: "evt_1", chunks, capped: false }, 0).trimEnd().split("\n");
  const pieces = readPieces(lines);
  assert.deepEqual(
    pieces.map(({ atSeconds }) => atSeconds),
    [0.5, 2.5],
  );
  const text = pieces.map((one) => one.text).join("");
  assert.match(text, /^one\n/);
  assert.match(text, /\\u\{1b\}.*<img src=x>\\u\{202e\}evil/);
  assert.doesNotMatch(text, /[^\P{C}\n\t]/u);
});
