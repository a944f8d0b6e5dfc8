import assert from "node:assert/strict";
import { test } from "node:test";
import { startHands } from "./hands.ts";
import type { SeenHand } from "./report.ts";

const ada = Buffer.alloc(32, 1);
const bob = Buffer.alloc(32, 2);

/** A text is `whose counter statement`; what makes it a passkey's answer is tested with real ones, in check-hand.test.ts. */
function read(text: string): SeenHand | undefined {
  const [operator = "", counter = "", statementDigest = ""] = text.split(" ");
  const operatorKey = operator === "ada" ? ada : bob;
  const passkey = { passkey: "key", credentialId: "id", publicKey: "public" };
  return counter === "" ? undefined : { operator, operatorKey, ...passkey, counter: Number(counter), statementDigest };
}

const taken = (texts: readonly string[], pins: readonly Buffer[] | null = null) => {
  const hands = startHands(read, pins);
  const { wrong, unpinned, countedBack } = hands.take(texts, false);
  return { wrong, unpinned: unpinned !== null, countedBack: countedBack !== null, counts: hands.counts() };
};

test("a counter that stands still is told, but for a passkey that does not count at all", () => {
  assert.equal(taken(["ada 0 a", "ada 0 b"]).countedBack, false);
  assert.equal(taken(["ada 1 a", "ada 1 b"]).countedBack, true);
  assert.equal(taken(["ada 1 a", "ada 0 b"]).countedBack, true);
  assert.equal(taken(["ada 1 a", "ada 2 b", "bob 1 c"]).countedBack, false);
  assert.equal(taken(["ada 9 a", "ada 3 b", "ada 4 c"]).countedBack, true);
  const after = startHands(read, null);
  after.take(["ada 9 a", "ada 3 b"], false);
  assert.notEqual(after.take(["ada 4 c"], false).countedBack, null, "the highest that was seen counts, not the last");
});

test("of several pinned operators each counts, and nobody else", () => {
  assert.equal(taken(["ada 1 a", "bob 1 b"], [ada, bob]).unpinned, false);
  assert.equal(taken(["ada 1 a", "bob 1 b"], [ada]).unpinned, true);
  assert.equal(taken(["ada 1 a"], []).unpinned, true);
  assert.equal(taken(["ada 1 a"]).unpinned, false, "where nobody is pinned nothing is said of it");
  assert.deepEqual(
    taken(["ada 1 a", "bob 1 b", "ada 2 c"], [ada]).counts.map(({ pinned, decisions }) => [pinned, decisions]),
    [
      [true, 2],
      [false, 1],
    ],
  );
});

test("an answer for a statement counts once, in one frame and over several, and one that does not hold ends it", () => {
  assert.equal(taken(["ada 1 a", "ada 2 a"]).wrong, "hand_repeated");
  const hands = startHands(read, null);
  assert.equal(hands.take(["ada 1 a"], false).wrong, null);
  assert.equal(hands.take(["bob 1 a"], false).wrong, "hand_repeated");
  assert.equal(taken(["ada", "ada 1 a"]).wrong, "hand_invalid");
  assert.deepEqual(taken([]), { wrong: null, unpinned: false, countedBack: false, counts: [] });
});
