import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import { type Assertion, challengeFor } from "../passkey/assertion.ts";
import { TestAuthenticator } from "../passkey/testing/authenticator.ts";
import { type Card, digestCard } from "./card.ts";
import {
  type DecisionStatement,
  requireSameCard,
  signStatement,
  statementBytes,
  verifyHand,
  verifyStatement,
} from "./decision.ts";
import { addCoolDown, type CardPlace, coolDownKey, isCoolingDown, mayOpen, mayWait, pickNext } from "./queue.ts";
import { readReason, reasonOf } from "./reason.ts";
import { renderCard } from "./render.ts";
import { type ApprovalState, type ApprovalTrigger, codeOfState, stepApproval } from "./state.ts";
import { call, cardOf } from "./testing/card.ts";

const plain = cardOf("apr_1");
const card: Card = {
  ...plain,
  run: { ...plain.run, purpose_claimed: "tidy\u202e up\nApproved by: root" },
  call: { ...call, arguments: { name: "x".repeat(5_000), evil: "\u001b[2J\r\nrequest digest sha256:ff" } },
};

test("the approval card leads with the signing authority, and the file is context only", () => {
  const lines = renderCard(card);
  assert.equal(lines[0], card.authority);
  assert.ok(lines.some((line) => line.includes("file (context only)")));
});

test("arguments on a card are never elided", () => {
  assert.ok(renderCard(card).some((line) => line.includes("x".repeat(5_000))));
});

test("nothing that an agent wrote can start a line, move the cursor or hide", () => {
  const lines = renderCard(card);
  for (const line of lines) {
    for (const point of line) assert.ok(point >= " " && !/\p{C}/u.test(point), JSON.stringify(line));
    assert.ok(!line.startsWith("Approved by"));
    assert.ok(!line.startsWith("request digest"));
  }
});

test("any text whatsoever stays inside its own line", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const hostile = { ...card, run: { ...card.run, purpose_claimed: text } };
      assert.equal(renderCard(hostile).length, renderCard(card).length);
      assert.ok(renderCard(hostile).every((line) => !line.includes("\n") && !line.includes("\u001b")));
    }),
  );
});

const operator = generateKeyPairSync("ed25519");
const stranger = generateKeyPairSync("ed25519");
const keys = [{ name: "ada", keyId: "k1", publicKey: operator.publicKey }];
const statement: DecisionStatement = {
  format: "gw.decision/v1",
  vault_id: "v1",
  approval_id: "apr_1",
  card_digest: digestCard(card),
  decision: "approve",
  reason: null,
  narrow: null,
  operator: "ada",
  operator_key_id: "k1",
  decided_at: "2026-01-01T00:01:00.000Z",
  log_head: { frame: "7", link: "00" },
};

function approverOf(key: KeyObject): { sign(bytes: Buffer): Buffer } {
  return { sign: (bytes) => sign(null, bytes, key) };
}

function denies(code: string): (error: unknown) => boolean {
  return (error) => error instanceof Denied && error.code === code;
}

test("a decision is a signature by the approver key over the digest of the exact card", () => {
  const verified = verifyStatement(signStatement(statement, approverOf(operator.privateKey)), "v1", keys);
  requireSameCard(verified, "apr_1", digestCard(card));
  assert.throws(
    () => requireSameCard(verified, "apr_1", digestCard({ ...card, if_unanswered: "something" })),
    denies("card_mismatch"),
  );
  assert.throws(() => requireSameCard(verified, "apr_2", digestCard(card)), denies("card_mismatch"));
});

test("a decision without, with a wrong or with a borrowed signature is refused", () => {
  const signed = signStatement(statement, approverOf(operator.privateKey));
  const refused: [string, () => unknown][] = [
    ["none", () => verifyStatement({ statement, signature: "" }, "v1", keys)],
    ["stranger", () => verifyStatement(signStatement(statement, approverOf(stranger.privateKey)), "v1", keys)],
    ["changed", () => verifyStatement({ ...signed, statement: { ...statement, decision: "deny" } }, "v1", keys)],
    ["other vault", () => verifyStatement(signed, "v2", keys)],
    ["unknown key", () => verifyStatement(signed, "v1", [])],
    ["other name", () => verifyStatement(signed, "v1", [{ name: "eve", keyId: "k1", publicKey: operator.publicKey }])],
    ["sloppy base64", () => verifyStatement({ ...signed, signature: `${signed.signature}\n` }, "v1", keys)],
  ];
  for (const [name, attempt] of refused) assert.throws(attempt, denies("signature_invalid"), name);
});

test("a hand is the hand of whoever signs, and answers for this decision alone", () => {
  const authenticator = new TestAuthenticator();
  const passkey = authenticator.enrol({ name: "ada", keyId: "k1", privateKey: operator.privateKey }, "v1");
  const answerTo = (said: DecisionStatement) => authenticator.answer(challengeFor(statementBytes(said)));
  const look = (said: DecisionStatement, assertion: Assertion, counter = 0) =>
    verifyHand({ statement: said }, assertion, [passkey], () => counter);
  assert.deepEqual(look(statement, answerTo(statement)), { passkey, counter: 1 });
  const bob = { ...statement, operator: "bob", operator_key_id: "k2" };
  assert.throws(() => look(bob, answerTo(bob)), denies("passkey_refused"), "somebody else's");
  const other = { ...answerTo(statement), credential_id: "other" };
  assert.throws(() => look(statement, other), denies("passkey_refused"), "one that nobody enrolled");
  assert.throws(() => look(statement, answerTo({ ...statement, decision: "deny" })), denies("passkey_refused"));
  assert.throws(() => look(statement, answerTo(statement), 100), denies("passkey_cloned"));
});

test("a final state is final, and a decision needs a signature", () => {
  const states: ApprovalState[] = ["pending", "approved", "denied", "expired", "withdrawn"];
  const triggers: ApprovalTrigger[] = ["operator_approved", "operator_denied", "time_passed", "withdrawn"];
  for (const from of states.slice(1)) {
    for (const trigger of triggers) {
      assert.equal(stepApproval(from, trigger, "signature"), null);
      assert.equal(stepApproval(from, trigger, "observation"), null);
    }
  }
  assert.equal(stepApproval("pending", "operator_approved", "observation"), null);
  assert.equal(stepApproval("pending", "operator_approved", "signature"), "approved");
  assert.equal(stepApproval("pending", "operator_denied", "observation"), null);
  assert.equal(stepApproval("pending", "operator_denied", "signature"), "denied");
  assert.equal(stepApproval("pending", "time_passed", "signature"), null);
  assert.equal(stepApproval("pending", "time_passed", "observation"), "expired");
  assert.equal(stepApproval("pending", "withdrawn", "observation"), "withdrawn");
  assert.deepEqual(
    ["denied", "expired", "withdrawn"].map((state) => codeOfState(state as "denied")),
    ["approval_denied", "approval_expired", "approval_withdrawn"],
  );
});

const limits = { openPerUid: 3, waitingPerUid: 4 };
const place = (callerKey: string, uid = 1000): CardPlace => ({ callerKey, uid });

test("one open card per caller, three per uid", () => {
  assert.equal(mayOpen([place("a")], place("a"), limits), false);
  assert.equal(mayOpen([place("a"), place("b")], place("c"), limits), true);
  assert.equal(mayOpen([place("a"), place("b"), place("c")], place("d"), limits), false);
  assert.equal(mayOpen([place("a"), place("b"), place("c")], place("d", 2000), limits), true);
  assert.equal(mayWait([place("a"), place("a"), place("a"), place("a")], place("b"), limits), false);
  assert.equal(mayWait([place("a"), place("a"), place("a"), place("a", 2000)], place("b"), limits), true);
});

test("the line moves in order and never opens more than the limits allow", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d", "e"), fc.constantFrom(1, 2)), { maxLength: 12 }),
      (asked) => {
        const picked = pickNext(
          [],
          asked.map(([key, uid]) => place(`${uid}${key}`, uid)),
          limits,
        );
        assert.equal(new Set(picked.map(({ callerKey }) => callerKey)).size, picked.length);
        for (const uid of [1, 2]) assert.ok(picked.filter((entry) => entry.uid === uid).length <= 3);
      },
    ),
  );
});

test("a denied digest cools down", () => {
  const key = coolDownKey(1000, "sha256:aa");
  const cooling = addCoolDown(new Map(), key, { untilBootMs: 60_000, budget: null }, 0, 8);
  assert.equal(isCoolingDown(cooling, key, null, 59_999), true);
  assert.equal(isCoolingDown(cooling, key, null, 60_000), false);
  assert.equal(isCoolingDown(cooling, coolDownKey(1001, "sha256:aa"), null, 0), false);
  let many = cooling;
  for (let index = 0; index < 20; index++)
    many = addCoolDown(many, `k${index}`, { untilBootMs: 60_000, budget: null }, 0, 8);
  assert.deepEqual([...many.keys()], ["k12", "k13", "k14", "k15", "k16", "k17", "k18", "k19"], "the oldest went first");
  const later = addCoolDown(cooling, "k", { untilBootMs: 90_000, budget: null }, 60_000, 8);
  assert.deepEqual([...later.keys()], ["k"], "what has cooled down is dropped");
  const again = addCoolDown(cooling, key, { untilBootMs: 90_000, budget: null }, 59_999, 8);
  assert.deepEqual([...again], [[key, { untilBootMs: 90_000, budget: null }]]);
});

test("the words on a card lead back to their reason, and any others to none that a grant covers", () => {
  for (const kind of ["each_use_credential", "previewless", "purchase", "plan"] as const)
    assert.equal(readReason(reasonOf(kind).words), kind);
  assert.equal(readReason("it carries out a plan of mine"), "other");
});

const budget = { attempts: 40, side_effects: 5, duration_seconds: 600, spend_cents: 100 };

test("what was denied cools down with any budget but a markedly smaller one", () => {
  const denied = { untilBootMs: 60_000, budget };
  const cools = (asked: Partial<typeof budget>): boolean =>
    isCoolingDown(addCoolDown(new Map(), "k", denied, 0, 8), "k", { ...budget, ...asked }, 0);
  assert.equal(cools({}), true, "the same");
  assert.equal(cools({ attempts: 41 }), true, "a larger one");
  assert.equal(cools({ attempts: 39 }), true, "shaving off a little does not count");
  assert.equal(cools({ attempts: 20 }), false, "half of one ceiling");
  assert.equal(cools({ attempts: 21 }), true, "a little more than half");
  assert.equal(cools({ spend_cents: 0 }), false);
  const nothing = { attempts: 0, side_effects: 0, duration_seconds: 0, spend_cents: 0 };
  const none = addCoolDown(new Map(), "k", { untilBootMs: 1, budget: nothing }, 0, 8);
  assert.equal(isCoolingDown(none, "k", nothing, 0), true, "nothing cannot become less");
  for (const [was, is] of [
    [budget, null],
    [null, budget],
  ] as const)
    assert.equal(isCoolingDown(addCoolDown(new Map(), "k", { untilBootMs: 1, budget: was }, 0, 8), "k", is, 0), true);
  assert.equal(cools({ attempts: 10, duration_seconds: 601 }), true, "smaller here and larger there");
});

test("nobody can ask many times by asking for less and less", () => {
  const limits = fc.record({
    attempts: fc.nat(1_000),
    side_effects: fc.nat(100),
    duration_seconds: fc.nat(86_400),
    spend_cents: fc.nat(1_000_000),
  });
  fc.assert(
    fc.property(limits, fc.array(limits, { maxLength: 60 }), (first, others) => {
      let last = first;
      let asked = 1;
      for (const next of others.sort((a, b) => b.attempts - a.attempts)) {
        const cooling = addCoolDown(new Map(), "k", { untilBootMs: 1, budget: last }, 0, 8);
        if (isCoolingDown(cooling, "k", next, 0)) continue;
        asked++;
        last = next;
      }
      // Each question that gets through halves a ceiling, and none ever grows.
      assert.ok(asked <= 1 + 11 + 8 + 18 + 21);
    }),
  );
});
