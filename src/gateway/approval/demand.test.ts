import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import {
  type DecisionStatement,
  type GivenDecision,
  statementBytes,
  type Verified,
} from "../../conventions/approval/decision.ts";
import { challengeFor } from "../../conventions/passkey/assertion.ts";
import { TestAuthenticator } from "../../conventions/passkey/testing/authenticator.ts";
import { Denied } from "../../kernel/failure.ts";
import type { Ledger } from "../record/ledger.ts";
import { createHands, demandNow, demandOf, needsPerson, passkeyNeeded, requireOther } from "./demand.ts";
import type { Approval, Given, Question } from "./question.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
const read = { action: "acme.thing.get", effect: "read", credential: null };
const rules = { passkey: { all: false, effects: ["read"], credentials: [], packs: [] }, twoPeople: [] };

test("policy demands what its rules say now, and nothing where it has none", () => {
  const none = { posture: () => ({}) };
  assert.deepEqual(demandNow(none, [read]), { passkey: false, approvers: 1 });
  assert.equal(needsPerson(none, [read]), false);
  assert.equal(needsPerson({ posture: () => ({ decisions: { rules } }) }, [read]), true);
});

test("a yes is held to the stricter of what the card says and what policy says now", () => {
  const demands = (decide: object | undefined, demand: Question["demand"]) =>
    demandOf({ card: decide === undefined ? null : { decide } } as Approval, { demand } as Question);
  const [hand, two] = [
    { passkey: true, approvers: 1 },
    { passkey: false, approvers: 2 },
  ] as const;
  assert.deepEqual(demands(undefined, undefined), { passkey: false, approvers: 1 });
  assert.deepEqual(
    demands(hand, () => two),
    { passkey: true, approvers: 2 },
  );
  assert.deepEqual(demands(two, undefined), two);
  assert.deepEqual(
    demands(undefined, () => hand),
    hand,
  );
});

const yes = (operator: string, key: string, narrow: DecisionStatement["narrow"] = null) =>
  ({ statement: { operator, operator_key_id: key, narrow } }) as Verified<DecisionStatement>;
const given = (operator: string, operatorKeyId: string, narrow: Given["narrow"] = null): Given => ({
  ...{ operator, operatorKeyId, decidedAt: "2030-01-01T00:00:00.000Z", narrow, passkey: null },
});
const less = { actions: ["acme.a"], request_bytes: null, budget: null };

test("two people are two names and two keys, and say yes to the same", () => {
  requireOther([], yes("ada", "k1"));
  requireOther([given("ada", "k1")], yes("bob", "k2"));
  for (const same of [yes("ada", "k1"), yes("ada", "k2"), yes("bob", "k1")])
    assert.throws(() => requireOther([given("ada", "k1")], same), denies("approver_already"));
  requireOther(
    [given("ada", "k1", less)],
    yes("bob", "k2", { budget: null, request_bytes: null, actions: ["acme.a"] }),
  );
  for (const [before, now] of [
    [null, less],
    [less, null],
    [less, { ...less, request_bytes: 5 }],
  ] as const)
    assert.throws(() => requireOther([given("ada", "k1", before)], yes("bob", "k2", now)), denies("approvals_differ"));
});

test("whoever has to bring a passkey is told where, and where none is enrolled", () => {
  const at = (origin: string) => ({ origin }) as never;
  assert.match(
    passkeyNeeded([at("http://a"), at("http://b"), at("http://a")]).message,
    /at http:\/\/a or http:\/\/b\./,
  );
  assert.match(passkeyNeeded([]).message, /none is enrolled/);
});

const operator = generateKeyPairSync("ed25519");
const statement = { format: "gw.decision/v1", operator: "ada", operator_key_id: "k1" } as DecisionStatement;

/** One authenticator, and a state that holds what is put there. */
function stand() {
  const authenticator = new TestAuthenticator();
  const passkey = authenticator.enrol({ name: "ada", keyId: "k1", privateKey: operator.privateKey }, "v1");
  const rows = new Map<string, object>();
  const find = ((table: string, id: string) => rows.get(`${table} ${id}`) ?? null) as Ledger["find"];
  const answer = (counter?: number) => {
    const assertion = authenticator.answer(
      challengeFor(statementBytes(statement)),
      counter === undefined ? {} : { counter },
    );
    const signed = { statement, signature: "", assertion } as GivenDecision;
    return [signed, signed as unknown as Verified<DecisionStatement>, [passkey]] as const;
  };
  const keep = (hands: ReturnType<typeof createHands>) => {
    for (const { table, id, ...row } of hands.rows(passkey)) rows.set(`${table} ${id}`, row);
  };
  return { passkey, rows, hands: createHands(find), again: () => createHands(find), answer, keep };
}

test("a hand that was looked at has not counted; one that was taken has, also for the next start", () => {
  const { passkey, hands, again, answer, keep } = stand();
  const first = answer(5);
  assert.deepEqual(hands.look(...first), { passkey, counter: 5 });
  assert.deepEqual(hands.look(...first), { passkey, counter: 5 });
  assert.equal(hands.take(...first), passkey);
  assert.throws(() => hands.look(...first), denies("passkey_cloned"));
  keep(hands);
  const next = again();
  assert.throws(() => next.take(...answer(5)), denies("passkey_cloned"));
  assert.equal(next.take(...answer(6)), passkey);
  assert.equal(again().take(...answer(6)), passkey, "what was not kept is not known");
});

test("what was decided with a passkey meanwhile is no copy of it, and another trouble stays what it is", () => {
  const { passkey, hands, answer } = stand();
  const early = answer(5);
  hands.take(...answer(6));
  assert.throws(() => hands.takeLater(...early), denies("passkey_refused"));
  assert.equal(hands.takeLater(...answer(7)), passkey);
  const [signed, verified] = answer(8);
  assert.throws(() => hands.takeLater(signed, verified, []), denies("passkey_refused"));
});

test("the counter begins where the enrolment left it, and one that does not authenticate counts for nothing", () => {
  const { passkey, hands, rows, answer, keep, again } = stand();
  const [signed, verified] = answer(4);
  assert.throws(() => hands.look(signed, verified, [{ ...passkey, counter: 4 }]), denies("passkey_cloned"));
  assert.notEqual(hands.look(signed, verified, [{ ...passkey, counter: 3 }]), null);
  hands.take(...answer(9));
  keep(hands);
  for (const id of rows.keys()) rows.set(id, { tampered: id });
  assert.throws(() => again().look(...answer(10)), denies("passkey_refused"));
});

test("without an answer there is no hand, and nothing is kept", () => {
  const { hands, answer } = stand();
  const [, verified, passkeys] = answer();
  const bare = { statement, signature: "" } as GivenDecision;
  assert.deepEqual(
    [hands.look(bare, verified, passkeys), hands.take(bare, verified, passkeys), hands.rows(null)],
    [null, null, []],
  );
});
