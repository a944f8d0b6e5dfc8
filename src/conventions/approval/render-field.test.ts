import assert from "node:assert/strict";
import { test } from "node:test";
import type { Card, CardAsks, CardCall } from "./card.ts";
import { diffValues } from "./diff-values.ts";
import { renderEssential, renderEvidence } from "./render.ts";
import { planLines } from "./render-plan.ts";
import { call, cardOf } from "./testing/card.ts";

const card = cardOf("apr_1");
const { budget } = card.run;

/** What stands behind a label of the card, a value a line; nothing where the card has no such label. */
function behind(label: string, change: Partial<Card> = {}): readonly string[] {
  const found: string[] = [];
  let [open, column] = [false, 0];
  for (const line of [
    ...renderEssential({ ...card, ...change }).slice(1),
    "",
    ...renderEvidence({ ...card, ...change }),
  ]) {
    if (line.startsWith(`  ${label} `) && line.slice(2 + label.length).trim() !== "") {
      [open, column] = [true, label.length + 2 + line.slice(2 + label.length).search(/\S/)];
      found.push(line.slice(column));
    } else if (open && line.startsWith(" ".repeat(column))) found.push(line.slice(column));
    else open = false;
  }
  return found;
}

const withCall = (change: Partial<CardCall>): Partial<Card> => ({ call: { ...call, ...change } });
const withRun = (change: Partial<Card["run"]>): Partial<Card> => ({ run: { ...card.run, ...change } });
const context = (change: object): Partial<Card> => ({ context: { ...card.context, ...change } });

test("a card says in words what a yes would be to, and each kind of question in its own", () => {
  const one = { ...card.scope, actions: [call.action] } as Card["scope"];
  const other = { ...card.scope, actions: ["acme.b"] } as Card["scope"];
  const said: readonly (readonly [CardAsks, Partial<Card>, RegExp])[] = [
    ["session", { call: null }, /^a session: the actions below, again and again/],
    ["call", { scope: null }, /^one call, exactly as it stands below$/],
    ["session_and_call", {}, /^this call, then a session: the actions below again and again$/],
    ["session_and_call", { scope: one }, /^this call, then its action again with any arguments$/],
    ["session_and_call", { scope: other }, /^this call, then a session/],
    ["redirect", { scope: null }, /^one redirect: the call goes on to the address below$/],
    ["access", { scope: one }, /^this call, then its action again with any arguments, in the session$/],
    ["access", {}, /^more for a session that stands: every action below too, without another question/],
    ["custody", { scope: null }, /^one read about work that an ended session left behind/],
  ];
  for (const [asks, change, words] of said) {
    const [text = ""] = behind("asks for", { asks, ...change });
    assert.match(text, words, asks);
  }
});

test("what is granted is listed wherever it is more than the action of the call", () => {
  const scope = { ...card.scope, where: ["acme.a: name is x"], ssh_destinations: ["gw@app-1:22"] } as Card["scope"];
  assert.deepEqual(behind("2 actions"), ["acme.a, acme.b"]);
  assert.deepEqual(behind("SSH to", { scope }), ["gw@app-1:22"]);
  assert.deepEqual(behind("only where", { scope }), ["acme.a: name is x"]);
  const one = { ...scope, actions: ["acme.b"], hosts: [], credentials: [] } as Card["scope"];
  assert.deepEqual(behind("action", { scope: one }), ["acme.b"]);
  assert.deepEqual(behind("hosts", { scope: one }), []);
  assert.deepEqual(behind("credentials", { scope: one }), ["none", "none"], "before the yes and in the evidence");
  assert.deepEqual(behind("credentials"), ["acme", "acme"]);
  const own = { ...scope, actions: [call.action] } as Card["scope"];
  assert.deepEqual(behind("SSH to", { scope: own }), [], "a session for the action of the call alone needs no list");
  assert.deepEqual(behind("methods"), ["POST"]);
  assert.deepEqual(behind("methods", { scope: { ...scope, methods: [] } as Card["scope"] }), []);
  assert.deepEqual(behind("methods", { scope: { ...scope, methods: ["GET", "PUT"] } as Card["scope"] }), ["GET, PUT"]);
  assert.deepEqual(behind("paths"), ["POST /v1/a"]);
  assert.deepEqual(behind("request size"), ["at most 1000 bytes each"]);
});

test("a demand of policy stands on the card with the place where it is met", () => {
  const needs = (decide: Card["decide"]) => behind("a yes needs", decide === undefined ? {} : { decide });
  assert.deepEqual(needs(undefined), []);
  assert.deepEqual(needs({ passkey: true, approvers: 1, where: ["http://a", "http://b"] }), [
    "a passkey, at http://a or http://b (gw console); a terminal can only say no",
  ]);
  assert.deepEqual(needs({ passkey: true, approvers: 2, where: [] }), [
    "a passkey, NONE IS ENROLLED YET (gw console); a terminal can only say no",
    "two operators: it is carried out when the second has approved it too",
  ]);
  assert.equal(needs({ passkey: false, approvers: 2, where: [] }).length, 1);
});

test("a call is told with its credential, its channel, and arguments under the name that goes out", () => {
  assert.deepEqual(behind("call", withCall({ credential: null })), ["acme.a, effect: write, no credential", "call_1"]);
  assert.deepEqual(behind("call"), ["acme.a, effect: write, credential: acme", "call_1"]);
  assert.equal(behind("request")[0], "POST https://api.acme.example/v1/a");
  assert.deepEqual(behind("SSH to", withCall({ channel: "ssh", method: "ssh", target: "gw@app-1" })), ["ssh gw@app-1"]);
  assert.deepEqual(behind("arguments", withCall({ arguments: {} })), ["none"]);
  const sent = withCall({ arguments: { a: 1, b: [1, 2] }, sent_as: { a: "A-Header", b: "bs" } });
  assert.deepEqual(behind("arguments", sent), [
    'a = 1, goes out as "A-Header"',
    "b[0] = 1",
    "b[1] = 2",
    'b goes out as "bs"',
  ]);
});

test("a budget is told as it is granted, as what is left, and until when", () => {
  const told = (change: Partial<Card>) => behind("budget", change)[0];
  assert.equal(told({}), "40 attempts, 5 side effects, 10 min (to 00:10 UTC), no money");
  assert.match(told({ asks: "call" }) ?? "", /no money, in the whole run, granted before$/);
  assert.match(told({ asks: "redirect" }) ?? "", /granted before$/);
  assert.match(told({ asks: "access" }) ?? "", /granted before$/);
  assert.match(told({ asks: "custody" }) ?? "", /no money, of the operation$/);
  assert.match(told({ asks: "session" }) ?? "", /no money$/);
  const spends = { budget: { ...budget, spend_cents: 9 } };
  assert.match(told(withRun(spends)) ?? "", /, 9 cents$/);
  const used = { attempts: 41, side_effects: 5, spend_cents: 3 };
  assert.equal(
    told(withRun({ ...spends, used })),
    "left: 0 of 40 attempts, 0 of 5 side effects, 10 min (to 00:10 UTC), 6 of 9 cents",
  );
  assert.match(told(withCall({ maximum_cents: null })) ?? "", /no money for calls that name a price$/);
  for (const [seconds, words] of [
    [119, "119 s"],
    [120, "2 min"],
    [7_199, "119 min"],
    [7_200, "2 h 0 min"],
    [9_059, "2 h 30 min"],
  ] as const)
    assert.ok(told(withRun({ budget: { ...budget, duration_seconds: seconds } }))?.includes(`${words} (to`), words);
  assert.match(told(withRun({ deadline_at: "soon" })) ?? "", /\(to soon\)/);
  assert.equal(behind("can cost", withCall({ maximum_cents: 9 }))[0]?.startsWith("9 cents, MORE"), true);
  const enough = { ...withCall({ maximum_cents: 9 }), ...withRun(spends) };
  assert.match(behind("can cost", enough)[0] ?? "", /^at most 9 cents, of the 9/);
});

test("what is odd about a caller is counted, and named where there is one thing", () => {
  const but = (change: object) => behind("BUT", context(change));
  assert.deepEqual(but({ unowned_mappings: ["/tmp/a.so"] }), [
    "it has loaded 1 file that no package owns, or that changed since",
  ]);
  assert.deepEqual(but({ interpreter_unsure: true }), ["whether it runs scripts cannot be told"]);
  assert.deepEqual(but({ interpreter_unsure: true, interpreter: { name: "node" } }), []);
  assert.deepEqual(behind("loaded code", context({ unowned_mappings: ["/tmp/a.so"] })), [
    "1 file that no package owns, or that changed since:",
    '"/tmp/a.so"',
  ]);
  assert.deepEqual(behind("started by"), []);
  assert.deepEqual(behind("container"), []);
  assert.match(behind("container", context({ namespaces: "other" }))[0] ?? "", /^yes/);
  assert.match(behind("container", context({ namespaces: "unreadable" }))[0] ?? "", /^cannot be told \(unreadable\)/);
  assert.match(behind("bound to")[0] ?? "", /^this process/);
  assert.match(behind("bound to", context({ binding: "connection" }))[0] ?? "", /^this connection only/);
  assert.deepEqual(behind("bound to", context({ binding: undefined })), []);
  assert.match(
    behind("interpreter", context({ interpreter: { name: "node" } }))[0] ?? "",
    /^node runs a program that its/,
  );
});

test("what the system says of the image is told in words, and what it does not say as not known", () => {
  const caller = (change: object): Partial<Card> => ({ caller: { ...card.caller, ...change } });
  for (const [validity, words] of [
    ["valid", /^valid:/],
    ["package_record", /^package record:/],
    ["unsigned", /^unsigned: nothing vouches/],
    ["invalid", /^INVALID:/],
    [undefined, /^not known \(not known\)/],
  ] as const)
    assert.match(behind("image check", caller({ validity }))[0] ?? "", words, String(validity));
  const own = context({ authority: { kind: "own_runtime" } });
  assert.match(behind("image check", own)[0] ?? "", /byte for byte the Node that this gateway runs on/);
  const process = { pid: 7, uid: 1000, start_time: "55", pidfd_inode: "99" };
  assert.deepEqual(behind("process", caller({ process })), ["pid 7, user id 1000, start time 55, kernel number 99"]);
  assert.deepEqual(behind("process"), ["pid 7, user id 1000"]);
  assert.deepEqual(behind("signing name", caller({ signing_identifier: "com.acme" })), ['"com.acme"']);
  assert.deepEqual(behind("signing name", caller({ signing_identifier: 7 })), []);
  assert.deepEqual(behind("caller", { asks: "custody" }), [
    "none: the program that started the work has no session any more",
  ]);
});

test("the evidence names card, run and session, and the mode that the gateway is in", () => {
  const session = { session_id: "ses_1", approved_by: "ada", approved_at: "2026-01-01T00:00:01.000Z" };
  assert.deepEqual(behind("session"), []);
  assert.deepEqual(behind("session", { session }), [
    "the same caller, approved by ada at 2026-01-01T00:00:01.000Z",
    "ses_1",
  ]);
  assert.deepEqual(behind("request digest", { call: null }), []);
  assert.match(renderEvidence(card).at(-1) ?? "", /does not stop malware of the same user/);
  assert.match(renderEvidence({ ...card, mode: "dedicated" }).at(-1) ?? "", /^Dedicated mode/);
  assert.equal(renderEssential({ ...card, authority: " leads with a blank" })[0]?.startsWith(" "), false);
});

test("groups of a card are there where what they tell of is", () => {
  const ticket_needed = { operation: "acme.a", target: "https://api.acme.example/v1/a" };
  const headings = (change: Partial<Card>) =>
    renderEssential({ ...card, ...change }).filter((line, index) => index > 0 && !line.startsWith(" "));
  assert.deepEqual(headings({}), []);
  assert.deepEqual(headings({ ticket_needed }), ["The ticket that is missing"]);
  assert.deepEqual(headings({ plan: plan([]) }), ["What the plan changes"]);
});

function plan(effects: NonNullable<Card["plan"]>["effects"]): NonNullable<Card["plan"]> {
  return {
    ...{ plan_id: "plan_1", preview_action: "acme.plan", arguments: {}, request_digest: "sha256:1" },
    ...{ previewed_at: "2030-01-01T00:00:00.000Z", expires_at: "2030-01-01T00:10:00.000Z" },
    ...{ validation: [], read_revisions: [], effects, assumptions: [] },
  };
}

const effect = { resource: "projects/p1", revision: null, previous: null, proposed: null, cause: "request" };
const linesOf = (change: object) =>
  planLines(plan([{ relation: "direct", total: 1, sample: [{ ...effect, ...change }], next_cursor: null }]));

test("a resource that was not there and will not be is touched, and no more", () => {
  assert.ok(linesOf({}).includes('    touch projects/p1, because of "request"'));
  assert.ok(linesOf({ proposed: {} }).some((line) => line.startsWith("    CREATE")));
});

test("where two texts part is pointed at where that saves a search, and not where it is one", () => {
  const hint = (previous: string, proposed: string) =>
    linesOf({ previous: { n: previous }, proposed: { n: proposed } })
      .find((line) => line.includes("that is:"))
      ?.trim();
  const same = "x".repeat(58);
  assert.equal(hint(`${same}a`, `${same}b`), undefined, "59 characters are read at once");
  assert.equal(hint(`${same}xa`, `${same}xb`), 'that is: "a" becomes "b", after 59 characters');
  assert.equal(hint(`a${same}x`, `b${same}x`), 'that is: "a" becomes "b", after 0 characters');
  assert.equal(hint(`${same}${same}`, `${same}a${same}`), `that is: "" becomes "a", after 58 characters`);
  assert.match(hint("a".repeat(60), "b".repeat(60)) ?? "", /after 0 characters$/);
  assert.equal(hint("a".repeat(61), "b".repeat(61)), undefined, "all of it changed");
});

test("a few values that stay are all shown, and one more is counted as one", () => {
  const same = (length: number) => Object.fromEntries(Array.from({ length }, (_, at) => [`m${at}`, at]));
  const lines = (length: number) => linesOf({ previous: same(length), proposed: same(length) });
  assert.ok(!lines(5).some((line) => line.includes("more value")));
  assert.ok(lines(6).includes("        (and 1 more value that stays as it is)"));
  assert.ok(lines(7).includes("        (and 2 more values that stay as they are)"));
});

test("lists as long as can be compared are compared", () => {
  const numbers = Array.from({ length: 500 }, (_, at) => at);
  assert.deepEqual(
    diffValues(numbers, [...numbers.slice(1), 500]).filter(({ sign }) => sign !== " "),
    [
      { sign: "-", path: "[]", value: 0 },
      { sign: "+", path: "[]", value: 500 },
    ],
  );
});
