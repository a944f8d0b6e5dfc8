import assert from "node:assert/strict";
import { test } from "node:test";
import { readTraceparent } from "./traceparent.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const PARENT = "b7ad6b7169203331";
const GOOD = `00-${TRACE}-${PARENT}-01`;

test("a trace context of version 00 is read as it stands, one of a later version as far as it is understood", () => {
  assert.equal(readTraceparent(GOOD), GOOD);
  const later = `01-${TRACE}-${PARENT}-00`;
  assert.equal(readTraceparent(later), later);
  assert.equal(readTraceparent(`${later}-what-comes-next`), later);
});

test("anything else is as if it were not there", () => {
  for (const value of [
    undefined,
    7,
    "",
    `ff-${TRACE}-${PARENT}-01`,
    `00-${"0".repeat(32)}-${PARENT}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE.toUpperCase()}-${PARENT}-01`,
    `${GOOD}-more`,
    `${GOOD}, ${GOOD}`,
    `${GOOD}\n`,
    ` ${GOOD}`,
    `01-${TRACE}-${PARENT}-01more`,
    `01-${TRACE}-${PARENT}-01-${"x".repeat(200)}`,
  ]) {
    assert.equal(readTraceparent(value), null, String(value));
  }
});
