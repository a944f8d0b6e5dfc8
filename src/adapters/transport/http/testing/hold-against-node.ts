import assert from "node:assert/strict";
import { inspect } from "node:util";
import { type ChangedAnswer, changedAnswer } from "./changed-answers.ts";
import { parseWithNode } from "./llhttp.ts";
import { readPieces, type Verdict } from "./read-pieces.ts";

const HEAD_BYTES = 16_384;

/** How many of the answers of these numbers were read whole; throws where our parser and Node's do not agree. For tests only. */
export function holdAgainstNode(first: number, count: number): number {
  let whole = 0;
  for (let seed = first; seed < first + count; seed++) {
    if (holdOne(changedAnswer(seed), `seed ${seed}`).kind === "whole") whole++;
  }
  return whole;
}

/** Whatever we read whole, Node's parser reads whole and the same; and how it comes in pieces changes nothing. */
export function holdOne({ bytes, method, pieces }: ChangedAnswer, name: string): Verdict {
  const ours = readPieces([bytes], method, HEAD_BYTES);
  const shown = `${name}: ${method} ${inspect(bytes.toString("latin1"))}`;
  assert.deepEqual(readPieces(pieces, method, HEAD_BYTES), ours, shown);
  assert.deepEqual(readPieces(pieces, method, HEAD_BYTES, true), ours, `paused, ${shown}`);
  if (ours.kind === "whole") {
    for (const way of [[bytes], pieces]) {
      const theirs = parseWithNode(way, method, HEAD_BYTES);
      // We may give a connection up that could be used again; after HEAD nobody uses one again.
      const keeps: boolean | undefined = method === "HEAD" || !ours.parsed.keeps || theirs?.keeps;
      assert.deepEqual({ ...ours.parsed, keeps: true }, { ...theirs, keeps }, shown);
    }
  }
  return ours;
}
