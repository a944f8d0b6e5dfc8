import assert from "node:assert/strict";
import { test } from "node:test";
import type { Card } from "../approval/card.ts";
import { reasonOf } from "../approval/reason.ts";
import { coverCard } from "./cover-card.ts";
import type { Grant } from "./grant.ts";

const IMAGE = `sha256:${"ab".repeat(32)}`;

const grant: Grant = {
  name: "triage",
  caller: { authority: null, image: IMAGE, command: null, uid: null },
  actions: ["github.issue.*"],
  effects: ["write"],
  conditions: [{ kind: "one_of", input: "owner", values: ["acme"] }],
  includes: [{ kind: "each_use", credential: "github" }],
  limits: { attempts: 10, sideEffects: 2, durationMs: 60_000, spendCents: 0 },
  callsPerDay: 5,
  createdAt: "2026-11-20T00:00:00.000Z",
  until: "2026-11-21T00:00:00.000Z",
  hours: null,
  idleDays: null,
};

const card = {
  created_at: "2026-11-18T10:00:00.000Z",
  mode: "guard-rail",
  caller: { cdhash: IMAGE, process: { pid: 7, uid: 1040 } },
  context: { authority: { kind: "unsigned", note: null }, interpreter: null, unowned_mappings: [], namespaces: "own" },
  call: {
    action: "github.issue.comment",
    effect: "write",
    credential: "github",
    arguments: { owner: "acme" },
    because: [],
  },
} as unknown as Card;

const withCall = (change: object): Card => ({ ...card, call: { ...card.call, ...change } as Card["call"] });
const withContext = (change: object): Card => ({ ...card, context: { ...card.context, ...change } });
const why = (given: Grant, asked: Card): string | null => {
  const cover = coverCard(given, asked);
  return cover.kind === "covered" ? null : cover.why;
};

test("a card of the past is covered as if the grant had been signed by then, and is held to its hours", () => {
  assert.equal(why(grant, card), null);
  assert.equal(why({ ...grant, hours: { days: [3], fromHour: 10, toHour: 11 } }, card), null);
  assert.equal(
    why({ ...grant, hours: { days: [3], fromHour: 11, toHour: 12 } }, card),
    "it counts wed 11-12 UTC alone",
  );
});

test("what a card asks for beyond a call, or without its ticket, no grant would have answered", () => {
  assert.equal(why(grant, { ...card, call: null }), "the card shows no call");
  const lacks = { ...card, ticket_needed: { operation: "x", target: "y" } };
  assert.equal(why(grant, lacks), "it lacks its ticket");
});

test("the call of a card is held to the grant's actions, conditions and inclusions; that no grant covered it is no reason", () => {
  assert.equal(why(grant, withCall({ action: "github.repo.delete" })), "it does not name github.repo.delete");
  assert.equal(why(grant, withCall({ effect: "send" })), "it does not allow a send");
  assert.equal(why(grant, withCall({ arguments: { owner: "other" } })), "it holds only where owner=acme");
  assert.equal(why(grant, withCall({ because: [reasonOf("each_use_credential").words] })), null);
  const asked = reasonOf("purchase").words;
  assert.equal(why(grant, withCall({ because: [asked] })), `it does not include this: ${asked}`);
  assert.equal(why(grant, withCall({ because: ["the grant other does not cover it"] })), null);
  assert.equal(why(grant, withCall({ because: ["not the grant "] })), "it does not include this: not the grant ");
});

test("the caller of a card is who it was recorded to be, and what was not recorded counts as what no grant covers", () => {
  const own = { ...grant, caller: { authority: null, image: null, command: null, uid: 1040 } };
  assert.match(why(own, card) ?? "", /does not run as user 1040/, "no user of its own in guard-rail mode");
  assert.equal(why(own, { ...card, mode: "dedicated" }), null);
  const scripted = withContext({ interpreter: { name: "node", script: "a.js" } });
  assert.match(why(grant, scripted) ?? "", /^node runs any script/);
  assert.equal(why(own, { ...scripted, mode: "dedicated" }), null);
  for (const unowned_mappings of [["/tmp/x.so"], undefined, "none"])
    assert.match(why(grant, withContext({ unowned_mappings })) ?? "", /loaded code/, String(unowned_mappings));
  for (const namespaces of ["other", undefined])
    assert.match(why(grant, withContext({ namespaces })) ?? "", /another namespace/, String(namespaces));
  assert.match(why(grant, { ...card, caller: { ...card.caller, cdhash: "sha256:cd" } }) ?? "", /another one/);
});
