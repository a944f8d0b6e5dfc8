import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { test } from "node:test";
import type { NewEvent } from "../../audit/event.ts";
import type { Card } from "../../conventions/approval/card.ts";
import {
  type DecisionStatement,
  type ExtensionStatement,
  type GivenDecision,
  type Signed,
  signStatement,
  statementBytes,
} from "../../conventions/approval/decision.ts";
import { challengeFor } from "../../conventions/passkey/assertion.ts";
import type { EnrolledPasskey } from "../../conventions/passkey/passkey.ts";
import { TestAuthenticator } from "../../conventions/passkey/testing/authenticator.ts";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import type { ApprovalId } from "../../kernel/ids.ts";
import { createLedger, type Ledger } from "../record/ledger.ts";
import { createDesk } from "./desk.ts";
import type { Approval, Question } from "./question.ts";

const denies = (code: string) => (error: unknown) => error instanceof Denied && error.code === code;
const VAULT = "vault_1";
const people = ["ada", "bob"].map((name) => ({ name, keyId: `key-${name}`, ...generateKeyPairSync("ed25519") }));

interface Recorded {
  readonly point: string;
  readonly events: readonly (NewEvent & Record<string, unknown>)[];
  readonly rows: readonly { readonly id: string }[];
}

/** The log has what it was given. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A desk with a clock that is moved by hand, and a log that can be read. */
function stand(passkeys: readonly EnrolledPasskey[] = [], keys = people) {
  let [bootMs, serial] = [1_000, 0];
  let sleepers: (() => void)[] = [];
  const recorded: Recorded[] = [];
  const told: Approval[] = [];
  const charged: string[] = [];
  const shownHands: string[] = [];
  const log: { refuses: Denied | null } = { refuses: null };
  const sleep = { sleep: () => new Promise<void>((resolve) => sleepers.push(resolve)) };
  const append = async () => {
    if (log.refuses !== null) throw log.refuses;
    return {} as never;
  };
  const ledger = createLedger({
    audit: { append, hasRoom: () => log.refuses?.code !== "log_backlogged", head: () => ({ frame: 0, link: "" }) },
    sleep,
    worker: "w",
    onStop: () => undefined,
  });
  const desk = createDesk({
    clock: { bootMs: () => bootMs, wallMs: () => 1_790_000_000_000 + bootMs, bootId: () => "boot" },
    sleep,
    ids: { next: (kind: string) => `${kind}_${++serial}` } as never,
    record: ((point: "approval.given", events: Recorded["events"], rows: () => Recorded["rows"] = () => []) =>
      ledger.record(point, events, () => {
        recorded.push({ point, events, rows: rows() });
        return [];
      })) as never,
    find: (() => null) as Ledger["find"],
    hasRoom: ledger.hasRoom,
    showHand: (text) => void shownHands.push(text),
    volume: { charge: (who: string) => void charged.push(who) } as never,
    operators: () => ({ vaultId: VAULT, keys, passkeys }),
  });
  const stop = desk.watch((approval) => void told.push(approval));
  const setTimeOnly = (ms: number): void => {
    bootMs += ms;
  };
  const passMs = async (ms: number): Promise<void> => {
    setTimeOnly(ms);
    const woken = sleepers;
    sleepers = [];
    for (const wake of woken) wake();
    for (let turns = 0; turns < 5; turns++) await turn();
  };
  const types = (): string[] => recorded.flatMap(({ events }) => events.map(({ event_type }) => event_type));
  return { desk, recorded, told, charged, shownHands, setTimeOnly, passMs, types, stop, log };
}

const question = (change: Partial<Question> = {}): Question => ({
  ...{ callerKey: "caller-1", uid: 1000, runId: "run_1", callId: "call_1", mode: "each_use" as const },
  ...{ action: "acme.thing.make", askDigest: "sha256:1", budget: null, deadlineBootMs: 10_000_000 },
  writeCard: (approval_id, created_at, expires_at) =>
    ({ approval_id, created_at, expires_at, authority: "unsigned" }) as unknown as Card,
  ...change,
});

interface Says {
  readonly by?: number;
  readonly decision?: DecisionStatement["decision"];
  readonly change?: Partial<DecisionStatement>;
  readonly key?: KeyObject;
}

function say(
  approval: Approval | undefined,
  { by = 0, decision = "approve", change = {}, key }: Says = {},
): GivenDecision {
  const person = people[by] as (typeof people)[number];
  const statement: DecisionStatement = {
    ...{ format: "gw.decision/v1", vault_id: VAULT, approval_id: approval?.approvalId ?? "apr_0" },
    ...{ card_digest: approval?.cardDigest ?? "sha256:0", decision, reason: null, narrow: null },
    ...{ operator: person.name, operator_key_id: person.keyId, decided_at: "2030-01-01T00:00:00.000Z" },
    log_head: { frame: "7", link: "sha256:7" },
    ...change,
  };
  return signStatement(statement, { sign: (bytes) => sign(null, bytes, key ?? person.privateKey) });
}

test("a question is shown at once where there is room: announced, and its card is in the log with its digest", async () => {
  const { desk, recorded, told, charged } = stand();
  const { approvalId } = desk.ask(question({ mode: "session" }));
  const shown = desk.find(approvalId);
  assert.deepEqual(desk.list(), [shown]);
  assert.deepEqual(told, [shown]);
  assert.equal(shown?.card?.expires_at, new Date(1_790_000_001_000 + defaults.approvalWaitMs).toISOString());
  await turn();
  const [{ point, events } = { point: "", events: [] }] = recorded;
  assert.equal(point, "approval.requested");
  assert.deepEqual(
    events.map((one) => one.event_type),
    ["content_kept", "approval_requested"],
  );
  assert.equal(events[1]?.["card_digest"], shown?.cardDigest);
  assert.equal(events[0]?.["digest"], shown?.cardDigest);
  assert.deepEqual(charged, ["uid 1000"], "a session that nobody let begin pays for its card itself");
  const join = stand();
  join.desk.ask(question({ mode: "join" }));
  assert.equal(join.charged.length, 1);
  const paid = stand();
  paid.desk.ask(question());
  assert.deepEqual(paid.charged, []);
});

test("a yes is in the log with its signature before whoever asked learns of it, and the next in line is shown", async () => {
  const { desk, recorded, told } = stand();
  const { approvalId, answer } = desk.ask(question());
  const next = desk.ask(question());
  assert.equal(desk.find(next.approvalId)?.card, null, "a caller has one card at a time");
  const given = say(desk.find(approvalId));
  const decided = await desk.decide(given);
  assert.deepEqual([decided.state, decided.decidedBy], ["approved", "ada"]);
  assert.equal((await answer).statement, given.statement);
  const finished = recorded.find(({ point }) => point === "approval.finished");
  const approved = finished?.events.at(-1);
  assert.equal(approved?.event_type, "approval_approved");
  assert.deepEqual([approved?.["signature"], approved?.["head_frame"]], [given.signature, 7]);
  assert.deepEqual(finished?.rows, []);
  assert.notEqual(desk.find(next.approvalId)?.card, null);
  assert.deepEqual(
    told.map(({ approvalId: id, state }) => [id, state]),
    [
      [approvalId, "pending"],
      [approvalId, "approved"],
      [next.approvalId, "pending"],
    ],
  );
  assert.deepEqual(
    desk.list().map((one) => one.approvalId),
    [next.approvalId],
  );
});

test("a no reaches whoever asked with its reason, and the same is not asked again yet", async () => {
  for (const reason of ["not today", null]) {
    const { desk, recorded } = stand();
    const { approvalId, answer } = desk.ask(question());
    const denied = await desk.decide(say(desk.find(approvalId), { decision: "deny", change: { reason } }));
    assert.deepEqual([denied.state, denied.decidedBy, denied.reason], ["denied", "ada", reason]);
    await assert.rejects(answer, denies("approval_denied"));
    assert.equal(recorded.at(-1)?.events.at(-1)?.["reason"], reason ?? "no reason given");
    assert.throws(() => desk.ask(question()), denies("approval_cooling_down"));
    assert.equal(desk.list().length, 0);
  }
});

test("what is not an operator's signature over this very card in its time decides nothing, and stands in the log", async () => {
  const { desk, recorded, setTimeOnly } = stand();
  const { approvalId } = desk.ask(question());
  const open = desk.find(approvalId);
  const refused = async (given: GivenDecision, code: string): Promise<void> => {
    await turn();
    await assert.rejects(desk.decide(given), denies(code));
    await turn();
    const { point, events } = recorded.at(-1) ?? { point: "", events: [] };
    assert.equal(point, "approval.refused");
    const { approval_id, operator_key_id } = given.statement;
    assert.deepEqual([events[0]?.event_type, events[0]?.["code"]], ["decision_refused", code]);
    assert.deepEqual([events[0]?.["approval_id"], events[0]?.["operator_key_id"]], [approval_id, operator_key_id]);
  };
  await refused(say(open, { key: generateKeyPairSync("ed25519").privateKey }), "signature_invalid");
  await refused(say(open, { change: { vault_id: "another" } }), "signature_invalid");
  await refused(say(undefined), "approval_not_pending");
  await refused(say(open, { change: { card_digest: "sha256:0" } }), "card_mismatch");
  await refused(say(open, { change: { ticket_context: "eyJ" } }), "ticket_invalid");
  const waits = desk.ask(question());
  await refused(say(desk.find(waits.approvalId)), "approval_not_pending");
  assert.equal(desk.find(approvalId)?.state, "pending");
  // In the very moment at which it runs out, before anybody has looked.
  const expiring = question({ callerKey: "caller-2", deadlineBootMs: 1_500 });
  const last = desk.find(desk.ask(expiring).approvalId);
  setTimeOnly(500);
  await refused(say(last), "approval_not_pending");
});

test("nobody decided in time: it expires in the log, and whoever asked is told", async () => {
  const { desk, types, passMs, told } = stand();
  const { approvalId, answer } = desk.ask(question({ deadlineBootMs: 2_000 }));
  await passMs(999);
  assert.equal(desk.find(approvalId)?.state, "pending");
  await passMs(1);
  await assert.rejects(answer, denies("approval_expired"));
  assert.equal(types().at(-1), "approval_expired");
  assert.deepEqual([told.at(-1)?.state, told.at(-1)?.decidedBy], ["expired", null]);
  assert.equal(desk.list().length, 0);
});

test("where two people have to, the first yes is on record and the card waits for another person's", async () => {
  const { desk, recorded, told, types } = stand();
  const two = question({ demand: () => ({ passkey: false, approvers: 2 }) });
  const { approvalId, answer } = desk.ask(two);
  const open = desk.find(approvalId);
  await assert.rejects(desk.decide(say(open, { change: { ticket_context: "eyJ" } })), denies("ticket_invalid"));
  const first = await desk.decide(say(open));
  assert.deepEqual([first.state, first.given.map(({ operator }) => operator)], ["pending", ["ada"]]);
  assert.equal(told.at(-1), first);
  assert.deepEqual([recorded.at(-1)?.point, types().at(-1)], ["approval.given", "approval_given"]);
  await assert.rejects(desk.decide(say(open)), denies("approver_already"));
  const second = await desk.decide(say(open, { by: 1 }));
  assert.deepEqual([second.state, second.decidedBy], ["approved", "ada and bob"]);
  assert.equal((await answer).statement.operator, "bob");
});

test("the first yes of somebody who is no operator any more is none", async () => {
  const stay = [...people];
  const { desk } = stand([], stay);
  const { approvalId } = desk.ask(question({ demand: () => ({ passkey: false, approvers: 2 }) }));
  await desk.decide(say(desk.find(approvalId)));
  stay.splice(0, 1);
  const left = await desk.decide(say(desk.find(approvalId), { by: 1 }));
  assert.deepEqual([left.state, left.given.map(({ operator }) => operator)], ["pending", ["bob"]]);
});

test("one person's no is enough after another's yes, and is theirs alone", async () => {
  const { desk } = stand();
  const { approvalId, answer } = desk.ask(question({ demand: () => ({ passkey: false, approvers: 2 }) }));
  await desk.decide(say(desk.find(approvalId)));
  const denied = await desk.decide(say(desk.find(approvalId), { by: 1, decision: "deny" }));
  assert.deepEqual([denied.state, denied.decidedBy], ["denied", "bob"]);
  await assert.rejects(answer, denies("approval_denied"));
});

test("what comes with a yes is written with it and taken once it stands; refused, it decides nothing", async () => {
  const { desk, types } = stand();
  const order: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const accept: Question["accept"] = async () => {
    await promise;
    const events = [{ event_id: "evt_x", event_type: "ticket_attached", occurred_at: "" } as unknown as NewEvent];
    return { events, take: () => void order.push(...types()) };
  };
  const { approvalId } = desk.ask(question({ accept }));
  const [one, other] = [0, 1].map((by) => desk.decide(say(desk.find(approvalId), { by })));
  resolve();
  assert.equal((await one)?.decidedBy, "ada");
  await assert.rejects(async () => other, denies("approval_not_pending"));
  assert.ok(order.includes("ticket_attached"), "it was written before it was taken");
  assert.equal(order.filter((type) => type === "approval_requested").length, 1, "it was taken once");

  const closed = question({ callerKey: "caller-2", accept: () => Promise.reject(new Denied("ticket_invalid", "no")) });
  const refused = desk.ask(closed).approvalId;
  await assert.rejects(desk.decide(say(desk.find(refused))), denies("ticket_invalid"));
  assert.equal(desk.find(refused)?.state, "pending");
});

test("a yes whose ticket took longer to look up than the card lasts decides nothing", async () => {
  const { desk, setTimeOnly } = stand();
  const { promise, resolve } = Promise.withResolvers<void>();
  const accept = () => promise.then(() => ({ events: [], take: () => assert.fail("taken") }));
  const { approvalId } = desk.ask(question({ deadlineBootMs: 2_000, accept }));
  const decided = desk.decide(say(desk.find(approvalId)));
  setTimeOnly(1_000);
  resolve();
  await assert.rejects(decided, denies("approval_not_pending"));
});

test("whoever is no operator any more when the ticket has been looked up decides nothing, and more is demanded if policy does so by then", async () => {
  const stay = [...people];
  const { desk, types } = stand([], stay);
  let approvers: 1 | 2 = 1;
  const waits: (() => void)[] = [];
  const accept = () =>
    new Promise<void>((resolve) => void waits.push(resolve)).then(() => ({
      events: [],
      take: () => assert.fail("taken"),
    }));
  const { approvalId } = desk.ask(question({ accept, demand: () => ({ passkey: false, approvers }) }));
  const byBob = desk.decide(say(desk.find(approvalId), { by: 1 }));
  stay.pop();
  waits.pop()?.();
  await assert.rejects(byBob, denies("signature_invalid"));
  const byAda = desk.decide(say(desk.find(approvalId)));
  approvers = 2;
  waits.pop()?.();
  const standing = await byAda;
  assert.deepEqual([standing.state, standing.given.map(({ operator }) => operator)], ["pending", ["ada"]]);
  assert.ok(!types().includes("approval_approved"));
});

test("more time makes another card, up to what the run has left; a yes to the one before counts no longer", async () => {
  const { desk, told } = stand();
  const demand = () => ({ passkey: false, approvers: 2 }) as const;
  const { approvalId } = desk.ask(question({ deadlineBootMs: 1_000 + defaults.approvalWaitMs + 50, demand }));
  const before = desk.find(approvalId);
  await desk.decide(say(before));
  const longer = await desk.extend(approvalId, 20);
  assert.equal(longer.expiresBootMs, 1_020 + defaults.approvalWaitMs);
  assert.notEqual(longer.cardDigest, before?.cardDigest);
  assert.deepEqual(longer.given, []);
  const longest = await desk.extend(approvalId, 999);
  assert.equal(longest.expiresBootMs, 1_050 + defaults.approvalWaitMs);
  // It waits for as long as its run stands: no other card comes of asking once more, and a first yes stays.
  await desk.decide(say(longest));
  await assert.rejects(desk.extend(approvalId, 999), denies("run_deadline_exhausted"));
  const same = desk.find(approvalId);
  assert.deepEqual([same?.cardDigest, same?.given.length], [longest.cardDigest, 1]);
  await assert.rejects(desk.decide(say(before, { by: 1 })), denies("card_mismatch"));
  await assert.rejects(desk.extend("apr_0", 1), denies("approval_not_pending"));
  const waiting = desk.ask(question());
  const waits = await desk.extend(waiting.approvalId, 5);
  assert.deepEqual([waits.card, told.at(-1)], [null, waits]);
});

test("a question whose time is over gets no more, also before anybody has looked", async () => {
  const { desk, setTimeOnly, types } = stand();
  const { approvalId } = desk.ask(question());
  setTimeOnly(defaults.approvalWaitMs);
  await assert.rejects(desk.extend(approvalId, 3_600_000), denies("approval_not_pending"));
  assert.equal(desk.find(approvalId)?.expiresBootMs, 1_000 + defaults.approvalWaitMs);
  await turn();
  assert.deepEqual(types(), ["content_kept", "approval_requested"]);
});

test("more time that was signed on another machine is in the log as it was signed, with the card that comes of it", async () => {
  const { desk, recorded } = stand();
  const { approvalId } = desk.ask(question());
  const before = desk.find(approvalId);
  const [ada] = people;
  assert.ok(ada !== undefined);
  const statement: ExtensionStatement = {
    ...{ format: "gw.extension/v1", vault_id: VAULT, approval_id: approvalId, card_digest: before?.cardDigest ?? "" },
    ...{ seconds: 20, operator: "ada", operator_key_id: ada.keyId, decided_at: "2030-01-01T00:00:00.000Z" },
  };
  const signed = signStatement(statement, { sign: (bytes) => sign(null, bytes, ada.privateKey) });
  const longer = await desk.extendAsSigned(signed);
  const [extended, , requested] = recorded.at(-1)?.events ?? [];
  assert.deepEqual(
    ["event_type", "approval_id", "seconds", "operator", "statement", "signature"].map((name) => extended?.[name]),
    ["card_extended", approvalId, 20, "ada", statementBytes(statement).toString("utf8"), signed.signature],
  );
  assert.equal(requested?.["card_digest"], longer.cardDigest);

  // What is refused leaves its word too: for the card before, for no card, and in a hand that is nobody's.
  const refused = async (what: Signed<ExtensionStatement>, code: string): Promise<void> => {
    await assert.rejects(desk.extendAsSigned(what), denies(code));
    const [event] = recorded.at(-1)?.events ?? [];
    assert.deepEqual(
      ["event_type", "approval_id", "code", "operator_key_id"].map((name) => event?.[name]),
      ["decision_refused", what.statement.approval_id, code, ada.keyId],
    );
  };
  await refused(signed, "card_mismatch");
  const elsewhere = { ...statement, approval_id: "apr_0" };
  await refused(
    signStatement(elsewhere, { sign: (bytes) => sign(null, bytes, ada.privateKey) }),
    "approval_not_pending",
  );
  await refused({ ...signed, statement: { ...statement, seconds: 3_600 } }, "signature_invalid");
});

test("what is refused without end is counted past an allowance, so that a hub's administrator fills no disk", async () => {
  const { desk, recorded, passMs } = stand();
  const { approvalId } = desk.ask(question());
  const forged = say(desk.find(approvalId), { key: generateKeyPairSync("ed25519").privateKey });
  for (let round = 0; round < defaults.denialsBurst + 30; round++)
    await assert.rejects(desk.decide(forged), denies("signature_invalid"));
  const told = () => recorded.flatMap(({ events }) => events);
  const singly = () => told().filter(({ event_type }) => event_type === "decision_refused").length;
  assert.equal(singly(), defaults.denialsBurst);
  await passMs(defaults.countedMs);
  const counted = told().filter(({ event_type }) => event_type === "denials_counted");
  assert.deepEqual(
    counted.map((event) => [event["code"], event["caller"], event["count"]]),
    [["signature_invalid", "operators", 30]],
  );
});

test("a larger question takes an undecided one's place, and whoever waited for that gets the new answer", async () => {
  const { desk, recorded } = stand();
  const old = desk.ask(question());
  const larger = desk.supersede(old.approvalId, question({ askDigest: "sha256:2" }));
  assert.ok(larger !== null);
  assert.deepEqual([desk.find(old.approvalId)?.state, desk.find(old.approvalId)?.reason], ["withdrawn", "superseded"]);
  await turn();
  const withdrawn = recorded.flatMap(({ events }) => events).find((one) => one.event_type === "approval_withdrawn");
  assert.deepEqual([withdrawn?.["reason"], withdrawn?.["call_id"]], ["superseded", "call_1"]);
  await desk.decide(say(desk.find(larger.approvalId)));
  assert.equal(await old.answer, await larger.answer);
  assert.equal(desk.supersede(old.approvalId, question()), null);
});

test("what is taken back leaves the log's word and the reason, and nothing else with it", async () => {
  const { desk, types, stop, told } = stand();
  const [one, other] = [question(), question({ callerKey: "caller-2", callId: null })].map((each) => desk.ask(each));
  await desk.withdraw("run ended", ({ approvalId }) => approvalId === one?.approvalId);
  await assert.rejects(async () => one?.answer, denies("approval_withdrawn"));
  assert.equal(desk.find(one?.approvalId ?? "")?.reason, "run ended");
  assert.equal(types().at(-1), "approval_withdrawn");
  assert.deepEqual(
    desk.list().map(({ approvalId }) => approvalId),
    [other?.approvalId],
  );
  const before = told.length;
  stop();
  await desk.withdraw("run ended", () => true);
  assert.equal(told.length, before, "whoever has stopped listening is told nothing");
});

test("a decision, and a card that runs out, wait for room in the log, and whoever asked hears of it then", async () => {
  const { desk, types, passMs, log } = stand();
  const [one, other] = [question(), question({ callerKey: "caller-2", callId: null })].map((each) => desk.ask(each));
  log.refuses = new Denied("log_backlogged", "full");
  const decided = desk.decide(say(desk.find(one?.approvalId ?? "")));
  await passMs(0);
  await passMs(9_999_999);
  const ends = () => types().filter((type) => ["approval_approved", "approval_expired"].includes(type));
  assert.deepEqual(ends(), []);
  log.refuses = null;
  await passMs(1_000);
  assert.equal((await decided).state, "approved");
  assert.equal((await one?.answer)?.statement.approval_id, one?.approvalId);
  await assert.rejects(async () => other?.answer, denies("approval_expired"));
  assert.deepEqual(ends().sort(), ["approval_approved", "approval_expired"]);
});

test("a card that is shown while the log is full stands there before what is decided about it", async () => {
  const { desk, types, told: announced, passMs, log } = stand();
  log.refuses = new Denied("log_backlogged", "full");
  const ask = desk.ask(question({ demand: () => ({ approvers: 2, passkey: false }) }));
  await passMs(0);
  const first = desk.decide(say(desk.find(ask.approvalId)));
  await passMs(0);
  const second = desk.decide(say(desk.find(ask.approvalId), { by: 1 }));
  await passMs(1_000);
  assert.deepEqual(types(), []);
  log.refuses = null;
  await passMs(1_000);
  assert.equal((await first).state, "pending");
  assert.equal((await second).state, "approved");
  assert.equal(announced.filter(({ state }) => state === "approved").length, 1, "told once, when the log has it");
  const told = types().filter((type) => type !== "content_kept");
  assert.deepEqual(told, ["approval_requested", "approval_given", "approval_approved"]);
});

test("where the log takes nothing any more, whoever asked hears that, and a card that runs out harms nobody", async () => {
  const { desk, passMs, log } = stand();
  const [one, other] = [question(), question({ callerKey: "caller-2", callId: null })].map((each) => desk.ask(each));
  log.refuses = new Denied("gateway_stopped", "broken");
  await assert.rejects(desk.decide(say(desk.find(one?.approvalId ?? ""))), denies("gateway_stopped"));
  await passMs(9_999_999);
  for (const ask of [one, other]) await assert.rejects(async () => ask?.answer, denies("gateway_stopped"));
});

test("a passkey's answer stands in clear with its owner's key, for whoever has no key to the log, and only then", async () => {
  const [ada, bob] = people;
  const authenticator = new TestAuthenticator();
  const owner = { name: "ada", keyId: "key-ada", privateKey: (ada ?? bob)?.privateKey as KeyObject };
  const { desk, shownHands, recorded } = stand([authenticator.enrol(owner, VAULT)]);
  const demand = () => ({ passkey: true, approvers: 1 }) as const;
  const { approvalId } = desk.ask(question({ demand }));
  const bare = say(desk.find(approvalId));
  await assert.rejects(desk.decide(bare), denies("passkey_needed"));
  assert.deepEqual(shownHands, []);
  const assertion = authenticator.answer(challengeFor(statementBytes(bare.statement)), { counter: 3 });
  await desk.decide({ ...bare, assertion });
  const [hand = "{}"] = shownHands;
  assert.equal(JSON.parse(hand).vault_id, VAULT);
  const { events, rows } = recorded.at(-1) ?? { events: [], rows: [] };
  assert.deepEqual(
    events.map((one) => one["what"] ?? one.event_type),
    ["decision", "assertion", "approval_approved"],
  );
  assert.equal(events.at(-1)?.["assertion_digest"], events[1]?.["digest"]);
  assert.equal(rows.length, 1, "its counter is kept with the decision");
  const no = desk.ask(question({ demand, approvalId: "apr_named" as ApprovalId }));
  await desk.decide(say(desk.find(no.approvalId), { decision: "deny" }));
  assert.equal(shownHands.length, 1, "a no needs no passkey");
});

test("nothing is looked up for the answer of a passkey that is not the operator's own", async () => {
  const [, bob] = people;
  const authenticator = new TestAuthenticator();
  const owner = { name: "bob", keyId: "key-bob", privateKey: bob?.privateKey as KeyObject };
  const { desk } = stand([authenticator.enrol(owner, VAULT)]);
  const accept = () => assert.fail("it was looked up");
  const { approvalId } = desk.ask(question({ accept }));
  const bare = say(desk.find(approvalId));
  const assertion = authenticator.answer(challengeFor(statementBytes(bare.statement)), { counter: 3 });
  await assert.rejects(desk.decide({ ...bare, assertion }), denies("passkey_refused"));
});
