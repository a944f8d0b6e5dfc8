import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { createAnswerRoom } from "./answer-room.ts";

/** A holder that writes down when it got its place. */
function holders(room: ReturnType<typeof createAnswerRoom>) {
  const came: string[] = [];
  const take = (name: string, bytes: number, callerKey = name) => {
    const holder = { callerKey, name };
    return { holder, at: room.take(holder, bytes, () => came.push(name)) };
  };
  return { came, take };
}

test("places are given at once while there is room, and then in turn", () => {
  const room = createAnswerRoom(100);
  const { came, take } = holders(room);
  const first = take("first", 60);
  const second = take("second", 40);
  assert.deepEqual([first.at, second.at, take("third", 50).at, take("fourth", 1).at], [true, true, false, false]);
  assert.deepEqual(room.status(), { heldBytes: 100, waiting: 2 });
  // What is small does not overtake what is large and came before it.
  room.leave(second.holder);
  assert.deepEqual(came, []);
  room.leave(first.holder);
  assert.deepEqual([came, room.status()], [["third", "fourth"], { heldBytes: 51, waiting: 0 }]);
});

test("whoever has a place is never made to wait for another", () => {
  const room = createAnswerRoom(100);
  const { holder } = holders(room).take("one", 100);
  assert.equal(room.take(holder, 100, assert.fail), true);
  assert.equal(room.status().heldBytes, 100);
});

test("whoever needs a larger place gives its own back, and waits for the larger one in turn", () => {
  const room = createAnswerRoom(100);
  const { came, take } = holders(room);
  const { holder: other } = take("other", 50);
  const { holder } = take("one", 10);
  take("next", 45);
  assert.equal(
    room.take(holder, 60, () => came.push("one, larger")),
    false,
  );
  assert.deepEqual([came, room.status()], [["next"], { heldBytes: 95, waiting: 1 }]);
  room.leave(other);
  assert.deepEqual(room.status(), { heldBytes: 45, waiting: 1 });
  room.leave(holder);
  assert.deepEqual([came, room.status()], [["next"], { heldBytes: 45, waiting: 0 }]);
  const { holder: grown } = take("grown", 10);
  assert.deepEqual([room.take(grown, 55, assert.fail), room.status().heldBytes], [true, 100]);
});

test("an answer that would never fit has the whole room", () => {
  const room = createAnswerRoom(100);
  const { take } = holders(room);
  const { holder, at } = take("huge", 1_000);
  assert.deepEqual([at, room.status().heldBytes, take("small", 1).at], [true, 100, false]);
  room.leave(holder);
  assert.equal(room.status().heldBytes, 1);
});

test("one caller has half of the room, or one answer, and others pass it", () => {
  const room = createAnswerRoom(100);
  const { came, take } = holders(room);
  const first = take("slow 1", 40, "slow");
  assert.deepEqual([first.at, take("slow 2", 40, "slow").at, take("other", 60, "other").at], [true, false, true]);
  room.leave(first.holder);
  assert.deepEqual([came, room.status()], [["slow 2"], { heldBytes: 100, waiting: 0 }]);
});

test("whoever leaves while it waits gets no place, and does not hold up the next", () => {
  const room = createAnswerRoom(100);
  const { came, take } = holders(room);
  const first = take("first", 60);
  const gone = take("gone", 100);
  take("next", 40);
  room.leave(gone.holder);
  assert.deepEqual(came, ["next"]);
  room.leave(gone.holder);
  room.leave(first.holder);
  assert.equal(room.status().heldBytes, 40);
});

test("a place shrinks to what came, and can be handed on", () => {
  const room = createAnswerRoom(100);
  const { came, take } = holders(room);
  const { holder } = take("large", 100);
  take("next", 90);
  room.fit(holder, 200);
  assert.equal(room.status().heldBytes, 100);
  room.fit(holder, 10);
  assert.deepEqual([came, room.status().heldBytes], [["next"], 100]);
  const reader = { callerKey: "reader" };
  assert.deepEqual([room.pass(holder, reader), room.pass(holder, reader)], [true, false]);
  room.leave(reader);
  assert.equal(room.status().heldBytes, 90);
});

test("whatever comes and goes, no more is held than there is, everybody gets a place, and nothing is left behind", () => {
  const step = fc.record({
    bytes: fc.integer({ min: 1, max: 150 }),
    caller: fc.constantFrom("a", "b", "c"),
    leaves: fc.nat(9),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const room = createAnswerRoom(100);
      const inside: { callerKey: string }[] = [];
      let given = 0;
      for (const { bytes, caller, leaves } of steps) {
        const holder = { callerKey: caller };
        const enter = () => {
          given++;
          inside.push(holder);
        };
        if (room.take(holder, bytes, enter)) enter();
        for (let left = 0; left < leaves % 3; left++) {
          const one = inside.shift();
          if (one !== undefined) room.leave(one);
        }
        assert.ok(room.status().heldBytes <= 100);
        assert.ok(room.status().waiting === 0 || inside.length > 0, "somebody waits for nobody");
      }
      for (let one = inside.shift(); one !== undefined; one = inside.shift()) room.leave(one);
      assert.deepEqual([given, room.status()], [steps.length, { heldBytes: 0, waiting: 0 }]);
    }),
  );
});
