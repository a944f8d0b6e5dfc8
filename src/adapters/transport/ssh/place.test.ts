import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnswerRoom } from "../../../gateway/answer-room.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { createOutputKeeper } from "./output.ts";
import { createOutputPlace } from "./place.ts";

const bodyBytes = 2 * defaults.smallAnswerBytes;

/** Output that waits for room in a room that others have, in a send with so much time of which so much has passed. */
function startWaiting(timeoutMs: number, passedMs: number) {
  const room = createAnswerRoom(bodyBytes);
  assert.ok(room.take({ callerKey: "others" }, bodyBytes, () => undefined));
  const keeper = createOutputKeeper({ bodyBytes, recordingBytes: 0 }, () => 0);
  const waits: number[] = [];
  const reads: string[] = [];
  const { promise: slept, resolve: wake } = Promise.withResolvers<void>();
  const sleep = {
    sleep(ms: number) {
      waits.push(ms);
      return slept;
    },
  };
  const place = createOutputPlace({ room, holder: { callerKey: "own" }, timeoutMs }, sleep, () => passedMs);
  const pipe = { pause: () => reads.push("paused"), resume: () => reads.push("read") };
  keeper.take({ kind: "output", stream: "stdout", data: Buffer.alloc(defaults.smallAnswerBytes + 1) });
  place.need(keeper, pipe);
  return { room, keeper, place, waits, reads, slept, wake };
}

test("output waits for room within the time of its send, whose end would leave unknown what happened", () => {
  assert.deepEqual(startWaiting(60_000, 1_000).waits, [defaults.sshRoomWaitMs]);
  assert.deepEqual(startWaiting(4_000, 1_000).waits, [1_500]);
  assert.deepEqual(startWaiting(4_000, 4_500).waits, [0]);
});

test("what has no place by then is cut, read on, and gives back what it never had", async () => {
  const { room, keeper, place, reads, slept, wake } = startWaiting(60_000, 0);
  assert.deepEqual([reads, room.status().waiting, keeper.truncated], [["paused"], 1, false]);
  wake();
  await slept;
  assert.deepEqual([reads, room.status().waiting], [["paused", "read"], 0]);
  keeper.take({ kind: "output", stream: "stdout", data: Buffer.from("more") });
  assert.ok(keeper.truncated);
  place.settle(keeper.heldBytes);
  assert.deepEqual(room.status(), { heldBytes: bodyBytes, waiting: 0 });
});
