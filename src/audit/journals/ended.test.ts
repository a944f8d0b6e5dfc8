import assert from "node:assert/strict";
import { test } from "node:test";
import { rememberEnded } from "./ended.ts";

test("the newest ends are remembered, and no more than so many", () => {
  const ended = rememberEnded();
  for (let at = 0; at <= 4_096; at++) ended.add(`evt_${at}`);
  assert.deepEqual(["evt_0", "evt_1", "evt_4096"].map(ended.has), [false, true, true]);
});
