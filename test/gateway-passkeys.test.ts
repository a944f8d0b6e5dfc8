import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { gatherContents } from "../src/audit/journals/contents.ts";
import { type DecisionStatement, statementBytes } from "../src/conventions/approval/decision.ts";
import { challengeFor } from "../src/conventions/passkey/assertion.ts";
import { PLACE, TestAuthenticator } from "../src/conventions/passkey/testing/authenticator.ts";
import type { Approval } from "../src/gateway/approval/question.ts";
import { checkHand } from "../src/surfaces/cli/audit/check-hand.ts";
import { scriptedCaller } from "./support/caller.ts";
import { type Bench, denies, operatorKeys, secondOperator, startBench, VAULT_ID } from "./support/gateway.ts";
import { grantFor } from "./support/grant.ts";
import { demoPack } from "./support/home.ts";
import { startProvider, type TestProvider } from "./support/provider.ts";

/** What policy demands of a yes, at the desk of a whole gateway. */
describe("a yes that policy demands more of", () => {
  let bench: Bench;
  let provider: TestProvider;
  let authenticator: TestAuthenticator;
  const ada = { name: "ada", keyId: "k1", privateKey: operatorKeys.privateKey };
  const bob = { operator: "bob", operator_key_id: "k2" } as const;

  before(async () => {
    provider = await startProvider();
  });
  after(() => provider.close());
  beforeEach(async (context) => {
    bench = await startBench(demoPack(provider.origin));
    bench.credentials.set("demo-token", { eachUse: false, disabled: false, origin: provider.origin });
    authenticator = new TestAuthenticator();
    bench.passkeys.push(authenticator.enrol(ada, VAULT_ID));
    (context as { after?: (fn: () => Promise<void>) => void }).after?.(() => bench.close());
  });

  const demand = (change: Partial<NonNullable<Bench["posture"]["decisions"]>["rules"]>): void => {
    bench.posture.decisions = { rules: { passkey: null, twoPeople: [], ...change }, where: [PLACE.origin] };
  };
  const everything = { all: true, effects: [], credentials: [], packs: [] };
  const withHand = (approval: Approval, change: Partial<DecisionStatement> = {}, bent = {}) => {
    const signed = bench.decision(approval, change);
    return { ...signed, assertion: authenticator.answer(challengeFor(statementBytes(signed.statement)), bent) };
  };

  test("cannot be given with the vault's key alone where a passkey is demanded, and the card says where", async () => {
    demand({ passkey: everything });
    const run = await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    const asked = await bench.waiting();
    assert.deepEqual(asked.card?.decide, { passkey: true, approvers: 1, where: [PLACE.origin] });
    await assert.rejects(bench.gateway.desk.decide(bench.decision(asked)), denies("passkey_needed"));
    assert.equal((await bench.waiting()).state, "pending");
    const decided = await bench.gateway.desk.decide(withHand(asked));
    assert.equal(decided.state, "approved");
    await run.admission?.session;
    await assert.rejects(bench.gateway.desk.decide(withHand(asked)), denies("approval_not_pending"));
  });

  test("is demanded of a card that was open before the rule was signed", async () => {
    await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    const asked = await bench.waiting();
    assert.equal(asked.card?.decide, undefined);
    demand({ passkey: everything });
    await assert.rejects(bench.gateway.desk.decide(bench.decision(asked)), denies("passkey_needed"));
  });

  test("is not taken from another's passkey, another statement, another card, or twice from one counter", async () => {
    demand({ passkey: everything });
    await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    const asked = await bench.waiting();
    const { decide } = bench.gateway.desk;
    const signedByBob = bench.decision(asked, bob, secondOperator.privateKey);
    const challenge = challengeFor(statementBytes(signedByBob.statement));
    await assert.rejects(
      decide({ ...signedByBob, assertion: authenticator.answer(challenge) }),
      denies("passkey_refused"),
    );
    const wide = bench.decision(asked);
    const narrowed = withHand(asked, { narrow: { actions: [], request_bytes: null, budget: null } });
    await assert.rejects(decide({ ...wide, assertion: narrowed.assertion }), denies("passkey_refused"));
    await assert.rejects(decide(withHand(asked, {}, { flags: 0x01 })), denies("passkey_refused"));
    await assert.rejects(decide(withHand(asked, { card_digest: `sha256:${"0".repeat(64)}` })), denies("card_mismatch"));
    assert.equal((await decide(withHand(asked, {}, { counter: 9 }))).state, "approved");
    await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    await assert.rejects(decide(withHand(await bench.waiting(), {}, { counter: 9 })), denies("passkey_cloned"));
  });

  test("stands in the log in the order of its passkey's counter, however long a ticket is looked up meanwhile", async () => {
    await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    const { card, ...shown } = await bench.waiting();
    assert.ok(card !== null);
    const looking = Promise.withResolvers<void>();
    const slow = bench.gateway.desk.ask({
      ...{ runId: shown.runId, callId: null, mode: "session", action: null, askDigest: "slow", budget: null },
      ...{ uid: 901, callerKey: "another", deadlineBootMs: shown.expiresBootMs },
      writeCard: (approval_id) => ({ ...card, approval_id }),
      accept: async () => {
        await looking.promise;
        return { events: [], take: () => undefined };
      },
    });
    const first = bench.gateway.desk.find(slow.approvalId);
    assert.ok(first !== undefined);
    const given = [withHand(first), withHand({ ...shown, card })] as const;
    const decided = bench.gateway.desk.decide(given[0]);
    await bench.gateway.desk.decide(given[1]);
    looking.resolve();
    await assert.rejects(decided, denies("passkey_refused"));
    assert.equal((await bench.gateway.desk.decide(withHand(first))).state, "approved");
    const counters = bench.hands.map((text) => {
      const data: string = JSON.parse(text).assertion.authenticator_data;
      return Buffer.from(data, "base64url").readUInt32BE(33);
    });
    assert.deepEqual(counters, [2, 3]);
  });

  test("leaves a no and a revocation as they are", async () => {
    demand({ passkey: everything });
    const run = await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    await bench.gateway.desk.decide(withHand(await bench.waiting()));
    await run.admission?.session;
    const [session] = run.sessions.values();
    await bench.gateway.revoke(bench.revocation(session?.id ?? ""));
    assert.equal(session?.endReason, "operator_revoked");
    await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    assert.equal((await bench.deny("no")).state, "denied");
  });

  test("by effect, credential and pack: a session is held to the strictest of its actions", async () => {
    const rule = { all: false, effects: [], credentials: [], packs: [] };
    for (const [passkey, actions, needed] of [
      [{ ...rule, effects: ["write"] }, ["demo.thing.get"], false],
      [{ ...rule, effects: ["write"] }, ["demo.thing.get", "demo.thing.make"], true],
      [{ ...rule, credentials: ["demo-token"] }, ["demo.thing.get"], true],
      [{ ...rule, packs: ["demo"] }, ["demo.thing.get"], true],
      [{ ...rule, packs: ["other"] }, ["demo.thing.make"], false],
    ] as const) {
      demand({ passkey });
      await bench.openRun(scriptedCaller({ uid: 900 + Math.floor(Math.random() * 1e6) }), actions);
      const asked = await bench.waiting();
      assert.equal(asked.card?.decide?.passkey === true, needed, JSON.stringify(passkey));
      await bench.gateway.desk.decide(bench.decision(asked, { decision: "deny", reason: "enough seen" }));
    }
  });

  test("is asked for although a grant covers the session", async () => {
    bench.grants.push(grantFor(bench, "demo.thing.get"));
    demand({ passkey: everything });
    await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    assert.equal((await bench.waiting()).card?.decide?.passkey, true);
  });

  test("of two people is one by two operators over one card, and the same of both", async () => {
    demand({ twoPeople: ["demo.thing.make"] });
    const run = await bench.openRun(scriptedCaller(), ["demo.thing.make"]);
    const asked = await bench.waiting();
    assert.equal(asked.card?.decide?.approvers, 2);
    const { decide } = bench.gateway.desk;
    const first = await decide(bench.decision(asked));
    assert.equal(first.state, "pending");
    assert.deepEqual(
      first.given.map(({ operator }) => operator),
      ["ada"],
    );
    await assert.rejects(decide(bench.decision(asked)), denies("approver_already"));
    const narrow = { actions: [], request_bytes: null, budget: null };
    const other = bench.decision(asked, { ...bob, narrow }, secondOperator.privateKey);
    await assert.rejects(decide(other), denies("approvals_differ"));
    const second = await decide(bench.decision(asked, bob, secondOperator.privateKey));
    assert.equal(second.state, "approved");
    assert.equal(second.decidedBy, "ada and bob");
    await run.admission?.session;
    const signed = bench
      .events()
      .filter(({ event_type }) => event_type === "approval_given" || event_type === "approval_approved");
    assert.equal(new Set(signed.map((event) => ("card_digest" in event ? event.card_digest : ""))).size, 1);
  });

  test("of two people is one of each by what policy demands now, also where the first said yes before", async () => {
    const twoPeople = ["demo.thing.make"];
    demand({ twoPeople });
    const run = await bench.openRun(scriptedCaller(), twoPeople);
    const asked = await bench.waiting();
    const { decide } = bench.gateway.desk;
    await decide(bench.decision(asked));
    const hand = new TestAuthenticator();
    const enrolled = hand.enrol({ name: "bob", keyId: "k2", privateKey: secondOperator.privateKey }, VAULT_ID);
    bench.passkeys.push(enrolled);
    demand({ twoPeople, passkey: everything });
    const byBob = bench.decision(asked, bob, secondOperator.privateKey);
    const first = await decide({ ...byBob, assertion: hand.answer(challengeFor(statementBytes(byBob.statement))) });
    assert.deepEqual([first.state, first.given.map(({ operator }) => operator)], ["pending", ["bob"]]);
    // Nor does one count whose passkey was removed since.
    bench.passkeys.splice(bench.passkeys.indexOf(enrolled), 1);
    const next = await decide(withHand(asked));
    assert.deepEqual([next.state, next.given.map(({ operator }) => operator)], ["pending", ["ada"]]);
    bench.passkeys.push(enrolled);
    const again = bench.decision(asked, { ...bob, reason: "again" }, secondOperator.privateKey);
    const assertion = hand.answer(challengeFor(statementBytes(again.statement)));
    assert.equal((await decide({ ...again, assertion })).decidedBy, "ada and bob");
    await run.admission?.session;
  });

  test("of two people is gone with more time, which makes another card; and one no is enough", async () => {
    demand({ twoPeople: ["demo.thing.make"] });
    await bench.openRun(scriptedCaller(), ["demo.thing.make"]);
    const asked = await bench.waiting();
    await bench.gateway.desk.decide(bench.decision(asked));
    const longer = await bench.gateway.desk.extend(asked.approvalId, 10_000);
    assert.deepEqual(longer.given, []);
    assert.equal((await bench.deny("no")).state, "denied");
  });

  test("is in the log with its passkey's enrolment and answer, and can be checked from there", async () => {
    demand({ passkey: everything });
    const run = await bench.openRun(scriptedCaller(), ["demo.thing.get"]);
    const given = withHand(await bench.waiting());
    await bench.gateway.desk.decide(given);
    await run.admission?.session;
    const contents = gatherContents();
    const events = bench.events();
    for (const event of events) if (event.event_type === "content_kept") contents.add(event);
    const approved = events.find((event) => event.event_type === "approval_approved");
    assert.ok(approved?.event_type === "approval_approved");
    const signers = { vaultId: VAULT_ID, keys: [{ name: "ada", keyId: "k1", publicKey: operatorKeys.publicKey }] };
    const { assertion_digest: digest } = approved;
    assert.equal(checkHand(digest, given.statement, contents, signers), "verifies");
    assert.equal(checkHand(digest, { ...given.statement, reason: "x" }, contents, signers), "does_not_verify");
    const strangers = [{ name: "ada", keyId: "k1", publicKey: secondOperator.publicKey }];
    assert.equal(checkHand(digest, given.statement, contents, { ...signers, keys: strangers }), "does_not_verify");
    assert.equal(checkHand(digest, given.statement, gatherContents(), signers), "not_kept");
    assert.equal(checkHand(undefined, given.statement, contents, signers), null);
  });
});
