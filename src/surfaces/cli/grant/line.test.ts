import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { readPack } from "../../../conventions/action/read.ts";
import type { Card, CardCall } from "../../../conventions/approval/card.ts";
import { reasonOf } from "../../../conventions/approval/reason.ts";
import { call as madeCall, cardOf as madeCard } from "../../../conventions/approval/testing/card.ts";
import { coverCall } from "../../../conventions/grant/cover.ts";
import { proposeGrant } from "../../../conventions/grant/propose.ts";
import { showText } from "../../../kernel/display.ts";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { anyText } from "../../../kernel/testing/any-text.ts";
import { draftGrant } from "./draft.ts";
import { readGrantLine, writeGrantLine } from "./line.ts";

const NOW = Date.parse("2026-11-18T10:00:00.000Z");
const IMAGE = `sha256:${"ab".repeat(32)}`;
const { pack } = readPack(
  Buffer.from(`format: gw.pack/v1
pack: demo
provider: { origin: https://api.demo.example, credential: demo-token, auth: { scheme: bearer } }
actions:
  thing.make:
    effect: write
    request: { method: POST, path: /v1/things, body: application/json }
    input:
      name: { in: body, type: string, maxLength: 400 }
      count: { in: body, type: integer }
      loud: { in: body, type: boolean }
`),
  "demo.yaml",
);
const actions = [...(pack?.actions.values() ?? [])];

const call: CardCall = {
  ...madeCall,
  ...{ action: "demo.thing.make", effect: "write", credential: "demo-token", maximum_cents: 25, because: [] },
};

/** A card of a call, as a grant can be taken from it; what a gateway writes is in test/e2e-grants.test.ts. */
const cardOf = (change: Partial<CardCall>): Card =>
  madeCard("apr_01m7gwx0168jedv0mkrybqr3k2", {
    ...{ asks: "call", created_at: "2026-11-18T10:00:00.000Z" },
    caller: { process: { uid: 1000 }, cdhash: IMAGE },
    call: { ...call, ...change },
  });

function grantFrom(card: Card) {
  const proposal = proposeGrant(card);
  assert.ok(proposal.kind === "words", JSON.stringify(proposal));
  const words = readGrantLine(writeGrantLine(proposal.words));
  assert.deepEqual(words.caller, [`image:${IMAGE}`]);
  return draftGrant(words, { authority: null, image: IMAGE, command: null, uid: null }, actions, NOW);
}

const factsOf = (input: JsonObject, because: Parameters<typeof reasonOf>[0][] = []) =>
  ({
    action: "demo.thing.make",
    effect: "write",
    input,
    credential: "demo-token",
    because: because.map(reasonOf),
  }) as const;

test("what a card proposes covers its call, and no call with another value where one is bound", () => {
  const text = fc.oneof(fc.string(), anyText(), fc.constantFrom("a b", "x=y", "--until", "it's", ""));
  const inputs = fc.record({ name: text, count: fc.integer(), loud: fc.boolean() });
  fc.assert(
    fc.property(inputs, inputs, (input, other) => {
      const grant = grantFrom(cardOf({ arguments: input }));
      assert.equal(coverCall(grant, factsOf(input)).kind, "covered", JSON.stringify([input, grant.conditions]));
      const bound = new Set(grant.conditions.map((condition) => condition.input));
      assert.ok(bound.has("loud") && bound.has("count") === input.count >= 0);
      const differs = (["name", "count", "loud"] as const).some(
        (name) => bound.has(name) && input[name] !== other[name],
      );
      assert.equal(coverCall(grant, factsOf(other)).kind, differs ? "not_covered" : "covered");
    }),
  );
});

test("nothing that hides, turns around or moves what stands beside it is on a line that a person edits and signs", () => {
  const text = fc.oneof(anyText(), fc.constantFrom("x\u202eyad-rep-- 1", "a\u200bb", "a      b", "e\u0301"));
  fc.assert(
    fc.property(text, (name) => {
      const proposal = proposeGrant(cardOf({ arguments: { name, count: 1 } }));
      assert.ok(proposal.kind === "words");
      assert.deepEqual(proposal.words.map(showText), proposal.words);
      assert.ok(proposal.words.includes("count=1"));
    }),
  );
  const plain = proposeGrant(cardOf({ arguments: { name: "caf\u00e9 \u2014 \u4e2d" } }));
  assert.ok(plain.kind === "words" && plain.words.includes("name=caf\u00e9 \u2014 \u4e2d"));
});

test("what asks on every use is named, and nothing that was not asked about", () => {
  const input = { name: "a", count: 1, loud: true };
  for (const kind of ["each_use_credential", "each_use_action", "previewless", "uncapped_cost"] as const) {
    const grant = grantFrom(cardOf({ arguments: input, because: [reasonOf(kind).words] }));
    assert.equal(coverCall(grant, factsOf(input, [kind])).kind, "covered", kind);
    assert.equal(coverCall(grant, factsOf(input, ["purchase"])).kind, "not_covered");
  }
});

test("a run under what a card proposes can pay the call again, whatever it was asked for, and nothing where it costs nothing", () => {
  const input = { name: "a", count: 1, loud: true };
  for (const kind of ["unapproved_spend", "purchase", "each_use_action"] as const) {
    const grant = grantFrom(cardOf({ arguments: input, because: [reasonOf(kind).words] }));
    assert.equal(grant.limits.spendCents, 25, kind);
    assert.equal(coverCall(grant, factsOf(input, [kind, "unapproved_spend"])).kind, "covered", kind);
  }
  for (const maximum_cents of [null, 0])
    assert.equal(grantFrom(cardOf({ arguments: input, maximum_cents })).limits.spendCents, 0);
});

test("a line that could not be signed is refused while it is written", () => {
  const line = "mine --caller uid:1040 --actions demo.thing.get";
  assert.equal(readGrantLine(`${line} --until 2027-01-31 --hours 'mon-fri 08-18'`).until, "2027-01-31");
  for (const rest of [
    "",
    "--until 2027-01-31g",
    "--until soon",
    "--until 2027-01-31 --hours always",
    "--until 2027-01-31 'x",
  ])
    assert.throws(() => readGrantLine(`${line} ${rest}`), { code: "grant_invalid" }, rest);
});

test("a line that is no grant is refused whole", () => {
  const good = "a --caller uid:7 --actions demo.thing.make --until 2027-01-01";
  assert.equal(readGrantLine(good).name, "a");
  for (const line of [
    "",
    "--until 2027-01-01",
    `${good} b`,
    `${good} --all`,
    `${good} 'x`,
    `${good} --per-day ten`,
    "a",
  ]) {
    assert.throws(
      () => readGrantLine(line),
      (error) => error instanceof Denied && error.code === "grant_invalid",
      line,
    );
  }
});
