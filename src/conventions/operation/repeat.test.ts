import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import { decideRepeat, type RepeatFacts, sayStop } from "./repeat.ts";

const facts: RepeatFacts = {
  token: "tok",
  windowMs: 60_000,
  sinceFirstMs: 1_000,
  sendMs: 2_000,
  standing: true,
  repeats: 0,
  maxRepeats: 3,
  sent: "sha256:a",
  rebuilt: "sha256:a",
};
const why = (change: Partial<RepeatFacts>): string => {
  const decision = decideRepeat({ ...facts, ...change });
  return decision.kind === "stop" ? decision.why : decision.kind;
};

test("the very request goes out again while its provider remembers the token and its session stands", () => {
  assert.equal(why({}), "repeat");
  assert.equal(why({ rebuilt: "sha256:b" }), "another_request");
  assert.equal(why({ token: null }), "no_token");
  assert.equal(why({ token: "" }), "no_token");
  assert.equal(why({ windowMs: null }), "no_window");
  assert.equal(why({ standing: false }), "session_over");
  assert.equal(why({ repeats: 3 }), "repeats_used");
});

test("past the provider's token window it is never sent again, and it must arrive before the end of it", () => {
  assert.equal(why({ sinceFirstMs: 57_999 }), "repeat");
  assert.equal(why({ sinceFirstMs: 58_000 }), "window_over");
  assert.equal(why({ sinceFirstMs: 10 ** 12 }), "window_over");
  assert.equal(why({ sinceFirstMs: -1 }), "window_over");
});

test("whatever else holds, a repeat has the same payload, a token, time left and a standing session", () => {
  const any = fc.record<RepeatFacts>({
    token: fc.option(fc.string()),
    windowMs: fc.option(fc.nat(100_000)),
    sinceFirstMs: fc.integer({ min: -10_000, max: 200_000 }),
    sendMs: fc.nat(30_000),
    standing: fc.boolean(),
    repeats: fc.nat(5),
    maxRepeats: fc.nat(5),
    sent: fc.constantFrom("a", "b"),
    rebuilt: fc.constantFrom("a", "b"),
  });
  fc.assert(
    fc.property(any, (given) => {
      const decision = decideRepeat(given);
      const may =
        given.sent === given.rebuilt &&
        (given.token ?? "") !== "" &&
        given.sinceFirstMs >= 0 &&
        given.sinceFirstMs + given.sendMs < (given.windowMs ?? 0) &&
        given.standing &&
        given.repeats < given.maxRepeats;
      assert.equal(decision.kind === "repeat", may);
      if (decision.kind === "stop") assert.notEqual(sayStop(decision.why), "");
    }),
    { numRuns: runsOf(2_000) },
  );
});
