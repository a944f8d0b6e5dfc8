import assert from "node:assert/strict";
import { createSecretKey } from "node:crypto";
import { test } from "node:test";
import { digestText } from "../../kernel/canonical-json.ts";
import { createStamper, stampOf } from "./stamps.ts";

const BOOT = "b1946ac9-2e2c-4a54-9f9b-8f3a5c6d7e8f";
const key = createSecretKey(Buffer.alloc(32, 7));
const high = (version: number) => ({ vault: null, policy: { version, digest: digestText(String(version)) } });

test("the stamp of a frame follows policy, state and lock, and is made anew for nothing else", () => {
  const stamp = createStamper(BOOT);
  const first = high(1);
  const opened = (written: number) => ({ mark: { written, durable: 3 }, key });
  assert.equal(stamp(first, opened(4)), stamp(first, opened(4)));
  for (const [above, state] of [
    [first, opened(4)],
    [first, opened(5)],
    [first, null],
    [first, opened(5)],
    [high(2), opened(5)],
    [first, { mark: { written: 5, durable: 5 }, key }],
    [first, { ...opened(5), key: createSecretKey(Buffer.alloc(32, 8)) }],
  ] as const) {
    assert.deepEqual(stamp(above, state), stampOf(above, state, BOOT));
  }
});
