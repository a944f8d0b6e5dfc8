import assert from "node:assert/strict";
import { test } from "node:test";
import { openBudget, type RunBudget } from "../../conventions/budget/budget.ts";
import type { Scope } from "../../conventions/scope/scope.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import type { LiveCaller } from "../ports.ts";
import type { Posture } from "../posture.ts";
import type { Run, Session } from "../run/run.ts";
import { type CallAsked, cardCall, writeQuestion } from "./cards.ts";
import type { Accept } from "./question.ts";

const limits = { attempts: 40, sideEffects: 5, durationMs: 600_000, spendCents: 100 };
const RUN = "run_1" as Run["id"];

function callerOf(change: Partial<LiveCaller> = {}, evidence: object = {}): LiveCaller {
  return {
    ...{ key: "caller-1", uid: 1000, pid: 7, binding: "process" },
    evidence: {
      process: { pid: 7, startTime: "70", uid: 1000, pidfdInode: "71" },
      ...{ pathObserved: "/opt/agent", signingIdentifier: null, designatedRequirement: null },
      ...{ cdhash: `sha256:${"ab".repeat(32)}`, validity: "unsigned", authority: { kind: "unsigned", note: null } },
      ...{ interpreter: null, unownedMappings: [], ancestors: [], namespaces: "own", binding: "process" },
      ...evidence,
    },
    ...change,
  } as unknown as LiveCaller;
}

function runOf(change: Partial<Run> = {}, budget: Partial<RunBudget> = {}): Run {
  const opened = openBudget(RUN, limits, { wallMs: 1_790_000_000_000, bootMs: 0, bootId: "boot" });
  return {
    ...{ id: RUN, purpose: "the run's words", command: ["agent", "-x"], ownerKey: "caller-1", notes: ["of the run"] },
    ...{ sessions: new Map(), budget: { ...opened, ...budget }, ...change },
  } as unknown as Run;
}

const scope: Scope = {
  actions: [
    {
      ...{ action: "acme.thing.get", effect: "read", channel: "http", destination: "https://api.acme.example" },
      ...{ hostKey: null, credential: "acme", method: "GET", path: "/things" },
    },
  ],
  requestBytes: 10,
};

function callOf(change: Partial<CallAsked> = {}, action: object = {}, bound: object = {}): CallAsked {
  return {
    ...{ callId: "call_1", target: "https://api.acme.example/things", because: ["it says so"] },
    outbound: {
      ...{ action: "acme.thing.make", channel: "http", method: "POST", credential: "acme", requestDigest: "sha256:1" },
      ...{ shownArguments: { a: 1 }, bound: { sentAs: {}, ...bound } },
      definition: { action: { effect: "write", pages: null, maxCostCents: null, asksEachCall: false, ...action } },
    },
    ...change,
  } as unknown as CallAsked;
}

const accepts: Accept = async () => ({ events: [], take: () => undefined });
type Asked = Partial<Parameters<typeof writeQuestion>[1]>;

function ask(asked: Asked, posture: Partial<Posture> = {}) {
  const core = { acceptTicket: () => accepts, posture: (): Posture => ({ mode: "dedicated", ...posture }) };
  const whole = { mode: "each_use", run: runOf(), caller: callerOf(), scope: null, call: callOf(), ...asked } as const;
  const question = writeQuestion(core, whole);
  return { question, card: question.writeCard("apr_1" as ApprovalId, "created", "expires") };
}

test("what is asked follows from the mode, and from whether a session, a call or both would be granted", () => {
  const asks = (asked: Asked) => ask(asked).card.asks;
  assert.equal(asks({}), "call");
  assert.equal(asks({ mode: "session", scope, call: null }), "session");
  assert.equal(asks({ mode: "session", scope }), "session_and_call");
  assert.equal(asks({ mode: "join", scope, call: null }), "session");
  assert.equal(asks({ mode: "redirect" }), "redirect");
  assert.equal(asks({ mode: "access", scope }), "access");
});

test("a question names its call where there is one, and a budget where one would be granted", () => {
  const { question, card } = ask({});
  assert.deepEqual([question.callId, question.action, question.budget], ["call_1", "acme.thing.make", null]);
  assert.equal(card.call?.call_id, "call_1");
  assert.equal(card.scope, null);
  const session = ask({ mode: "session", scope, call: null });
  assert.deepEqual([session.question.callId, session.question.action], [null, null]);
  assert.deepEqual(session.question.budget, session.card.run.budget);
  assert.equal(session.card.call, null);
  assert.equal(session.question.deadlineBootMs, 600_000);
  assert.notEqual(session.card.scope, null);
  const named = ask({ call: callOf({ approvalId: "apr_9" as ApprovalId }) }).question;
  assert.deepEqual(["approvalId" in question, named.approvalId], [false, "apr_9"]);
});

test("the same question has one digest, and anything that would be granted or sent makes it another", () => {
  const digest = (asked: Asked) => ask(asked).question.askDigest;
  const one = digest({});
  assert.equal(digest({ run: runOf({ id: "run_2" as Run["id"] }), call: callOf({ callId: "call_2" as never }) }), one);
  const outbound = { ...callOf().outbound, requestDigest: "sha256:2" } as CallAsked["outbound"];
  const ticket = { scopeDigest: "sha256:3", context: { ticket_ref: "jira:A-1" }, issuer: {} } as never;
  const others: readonly Asked[] = [
    { mode: "redirect" },
    { scope },
    { call: callOf({ target: "https://api.acme.example/others" }) },
    { call: callOf({ outbound }) },
    { call: callOf({ ticket }) },
    { call: null },
    { notes: ["more"] },
  ];
  const digests = others.map(digest);
  assert.equal(new Set([one, ...digests]).size, others.length + 1);
  const same = callOf({ outbound, sameAs: "sha256:same" });
  assert.equal(digest({ call: same }), digest({ call: callOf({ sameAs: "sha256:same" }) }));
});

test("a work context may be assigned to a session alone, and where a call needs one to that call", () => {
  assert.equal(ask({ mode: "session", scope, call: null }).question.accept, accepts);
  assert.equal(ask({ mode: "session", scope }).question.accept, undefined);
  assert.equal(ask({ mode: "join", scope, call: null }).question.accept, undefined);
  const own: Accept = async () => ({ events: [], take: () => undefined });
  const need = { operation: "acme.thing.make" } as never;
  const { question, card } = ask({ call: callOf({ ticketEntry: { need, accept: own } }) });
  assert.deepEqual([question.accept, card.ticket_needed], [own, need]);
});

test("the command that a wrapper claims and the run's notes stand on the cards of whoever opened the run", () => {
  const own = ask({}).card;
  assert.deepEqual([own.run.command_claimed, own.notes], [["agent", "-x"], ["of the run"]]);
  const other = ask({ caller: callerOf({ key: "caller-2" }) }).card;
  assert.deepEqual([other.run.command_claimed, other.notes], [undefined, []]);
  assert.equal(ask({ run: runOf({ command: null }) }).card.run.command_claimed, undefined);
});

test("the agent's own words are those of the question where it has any, and else those of the run", () => {
  assert.equal(ask({}).card.run.purpose_claimed, "the run's words");
  assert.equal(ask({ says: "now this" }).card.run.purpose_claimed, "now this");
});

test("what is gone of a budget is said to whoever has a session, money that is held with money that is spent", () => {
  const session = { id: "ses_1", state: "approved", approvedBy: "ada", approvedAt: "then", endReason: null };
  const budget = { attemptsUsed: 3, sideEffectAttempts: 1, settledSpendCents: 20, reservedSpendCents: 5 };
  const standing = (one: object) => runOf({ sessions: new Map([["caller-1", one as unknown as Session]]) }, budget);
  const { card } = ask({ run: standing(session) });
  assert.deepEqual(card.run.used, { attempts: 3, side_effects: 1, spend_cents: 25 });
  assert.deepEqual(card.session, { session_id: "ses_1", approved_by: "ada", approved_at: "then" });
  for (const run of [runOf({}, budget), standing({ ...session, state: "ended" })]) {
    const without = ask({ run }).card;
    assert.deepEqual(["used" in without.run, "session" in without], [false, false]);
  }
});

test("a card says guard-rail where the caller's user could decide itself, whatever the mode", () => {
  const mode = (posture: Partial<Posture>) => ask({}, posture).card.mode;
  assert.equal(mode({}), "dedicated");
  assert.equal(mode({ mayDecide: () => false }), "dedicated");
  assert.equal(mode({ mayDecide: ({ uid }) => uid === 1000 }), "guard-rail");
  assert.equal(mode({ mode: "guard-rail", mayDecide: () => false }), "guard-rail");
});

test("what policy demands of a yes is on the card and asked of policy again, with where a passkey decides", () => {
  const rules = (effects: readonly string[], twoPeople: readonly string[] = []) => ({
    passkey: { all: false, effects, credentials: [], packs: [] },
    twoPeople,
  });
  const decisions = (...given: Parameters<typeof rules>) =>
    ({ decisions: { rules: rules(...given), where: ["http://127.0.0.1:1"] } }) as unknown as Partial<Posture>;
  assert.equal(ask({}).card.decide, undefined);
  assert.deepEqual(ask({}, decisions(["write"])).card.decide, {
    ...{ passkey: true, approvers: 1, where: ["http://127.0.0.1:1"] },
  });
  assert.equal(ask({}, decisions(["read"])).card.decide, undefined);
  assert.equal(ask({ scope }, decisions(["read"])).question.demand?.().passkey, true, "for what a session would allow");
});

test("a person is told of a list's pages, of another namespace, of a caller that nothing binds, and of a join", () => {
  const notes = (asked: Asked) => ask({ ...asked, run: runOf({ notes: [] }) }).card.notes.length;
  assert.equal(notes({}), 0);
  assert.equal(notes({ call: callOf({}, { pages: { maxPages: 10, maxRecords: 500 } }) }), 1);
  assert.equal(notes({ caller: callerOf({}, { namespaces: "other" }) }), 1);
  assert.equal(notes({ caller: callerOf({ binding: "connection" }) }), 1);
  assert.equal(notes({ mode: "join", scope, call: null }), 1);
  assert.deepEqual(ask({ call: callOf({ notes: ["first"] }), notes: ["last"] }).card.notes, [
    "first",
    "of the run",
    "last",
  ]);
});

test("a call's card has the most it may cost: what the pack says, nothing, or that nobody knows", () => {
  const cents = (action: object) => cardCall(callOf({}, action)).maximum_cents;
  assert.equal(cents({ maxCostCents: 25, asksEachCall: true }), 25);
  assert.equal(cents({ maxCostCents: 0, asksEachCall: true }), 0);
  assert.equal(cents({}), 0);
  assert.equal(cents({ asksEachCall: true }), null);
  assert.equal("sent_as" in cardCall(callOf()), false);
  assert.deepEqual(cardCall(callOf({}, {}, { sentAs: { a: "header X-A" } })).sent_as, { a: "header X-A" });
});
