import assert from "node:assert/strict";
import { test } from "node:test";
import type { Card } from "../approval/card.ts";
import { reasonOf } from "../approval/reason.ts";
import { call, cardOf } from "../approval/testing/card.ts";
import { proposeGrant } from "./propose.ts";

const IMAGE = `sha256:${"ab".repeat(32)}`;

const card = cardOf("apr_01m7gwx0168jedv0mkrybqr3k2", {
  asks: "call",
  created_at: "2026-11-18T10:00:00.000Z",
  caller: { process: { uid: 1000 }, cdhash: IMAGE },
  call: { ...call, action: "demo.thing_of.make", credential: "demo", maximum_cents: null, because: [], arguments: {} },
});

const withCall = (change: object): Card => ({ ...card, call: { ...card.call, ...change } as Card["call"] });
const withContext = (change: object, mode: Card["mode"] = "guard-rail"): Card => ({
  ...card,
  mode,
  context: { ...card.context, ...change },
});

function wordsOf(given: Card): readonly string[] {
  const proposal = proposeGrant(given);
  assert.ok(proposal.kind === "words", JSON.stringify(proposal));
  return proposal.words;
}

function refusal(given: Card): string {
  const proposal = proposeGrant(given);
  assert.ok(proposal.kind === "none", JSON.stringify(proposal));
  return proposal.why;
}

const after = (words: readonly string[], option: string): readonly string[] =>
  words.flatMap((word, at) => (words[at - 1] === option ? [word] : []));

test("a proposal is the image, the action, its effect and its arguments, for thirty days and twenty calls a day", () => {
  assert.deepEqual(wordsOf(withCall({ arguments: { name: "a b", count: 3, loud: false } })), [
    "demo-thing-of-make-r3k2",
    ...["--caller", `image:${IMAGE}`],
    ...["--actions", "demo.thing_of.make", "--effects", "write"],
    ...["--where", "name=a b", "--where", "count=3", "--where", "loud=false"],
    ...["--per-day", "20", "--until", "2026-12-18"],
  ]);
  const long = wordsOf(withCall({ action: `demo.${"a".repeat(60)}` }));
  assert.equal(long[0], `demo-${"a".repeat(35)}-r3k2`, "a name that a person can type");
});

test("an argument is bound where a condition holds for exactly it, and stays free elsewhere", () => {
  const bound = (value: unknown, name = "x"): boolean =>
    after(wordsOf(withCall({ arguments: { [name]: value } })), "--where").length === 1;
  for (const value of ["a", 0, true, "y=z", "b".repeat(118)]) assert.ok(bound(value), String(value));
  const free = [-1, 0.5, null, ["a"], { a: 1 }, "", "it's", 'say "a"', "a\\b", "a\u0000", "b".repeat(119)];
  for (const value of free) assert.ok(!bound(value), JSON.stringify(value));
  for (const name of ["count<", "a b", "path^"]) assert.ok(!bound(3, name), `${name} would bind another argument`);
});

test("what asked is included by its word; that another grant does not cover it is no reason of its own", () => {
  const included = (...because: string[]): readonly string[] => after(wordsOf(withCall({ because })), "--include");
  assert.deepEqual(included(reasonOf("each_use_credential").words, reasonOf("plan").words), ["each_use:demo", "plans"]);
  assert.deepEqual(included(reasonOf("unapproved_spend").words), []);
  assert.deepEqual(included("the grant triage does not name it"), []);
  assert.equal(refusal(withCall({ because: ["not the grant "] })), "no grant covers this: not the grant ");
  const both = [reasonOf("purchase").words, "the last attempt is open"];
  assert.equal(refusal(withCall({ because: both })), "no grant covers this: the last attempt is open");
});

test("a proposal has the money of the call, and none where it costs nothing", () => {
  const spend = (maximum_cents: number | null) => after(wordsOf(withCall({ maximum_cents })), "--spend");
  assert.deepEqual([spend(1), spend(0), spend(null)], [["1"], [], []]);
});

test("the caller is held to its user where it has one of its own, and to its image where that is known", () => {
  const callers = (given: Card) => after(wordsOf(given), "--caller");
  const own = { ...card, mode: "dedicated" } as const;
  assert.deepEqual(callers(own), ["uid:1000", `image:${IMAGE}`]);
  const unknown = { process: { uid: 1000 }, cdhash: `x${IMAGE}` };
  assert.deepEqual(callers({ ...own, caller: unknown }), ["uid:1000"]);
  assert.deepEqual(callers({ ...own, caller: { cdhash: IMAGE } }), [`image:${IMAGE}`]);
  assert.deepEqual(callers({ ...own, caller: { process: { uid: "0" }, cdhash: IMAGE } }), [`image:${IMAGE}`]);
  for (const caller of [unknown, { process: null }])
    assert.equal(refusal({ ...card, caller }), "nothing about the caller can be held to");
  const loaded = { unowned_mappings: ["/tmp/x.so"] };
  assert.equal(refusal(withContext(loaded)), "the caller has loaded code that nothing vouches for");
  assert.deepEqual(callers(withContext(loaded, "dedicated")), ["uid:1000", `image:${IMAGE}`]);
  const scripted = { interpreter: { name: "node" } };
  assert.equal(refusal(withContext(scripted)), "node runs any script, and the agent has no user of its own");
  assert.equal(callers(withContext(scripted, "dedicated")).length, 2);
  for (const mode of ["guard-rail", "dedicated"] as const)
    assert.equal(refusal(withContext({ namespaces: "other" }, mode)), "the caller lives in another namespace");
});

test("what is no call, or lacks its ticket, gets no proposal", () => {
  assert.equal(refusal({ ...card, call: null }), "this card shows no call to take a grant from");
  for (const asks of ["redirect", "custody"] as const)
    assert.equal(refusal({ ...card, asks }), "a grant covers calls, and this is none");
  assert.match(refusal({ ...card, ticket_needed: { operation: "x", target: "y" } }), /lacks its ticket/);
});
