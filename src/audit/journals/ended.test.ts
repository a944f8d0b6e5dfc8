import assert from "node:assert/strict";
import { test } from "node:test";
import { rememberEnded } from "./ended.ts";

test("the newest ends are remembered, and never twice as many", () => {
  const ended = rememberEnded();
  const known = (...ends: number[]): boolean[] => ends.map((end) => ended.has(`evt_${end}`));
  for (let end = 1; end <= 4_096; end++) ended.add(`evt_${end}`);
  assert.deepEqual(known(0, 1, 4_096), [false, true, true]);
  for (let end = 4_097; end <= 8_191; end++) ended.add(`evt_${end}`);
  assert.deepEqual(known(1, 4_096, 8_191), [true, true, true]);
  ended.add("evt_8192");
  assert.deepEqual(known(1, 4_096, 4_097, 8_192), [false, false, true, true]);
  // One that was told of before is no other end.
  ended.add("evt_8192");
  assert.deepEqual(known(4_097, 8_192), [true, true]);
});
