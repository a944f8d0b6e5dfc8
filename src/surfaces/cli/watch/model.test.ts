import assert from "node:assert/strict";
import { test } from "node:test";
import { digestCard } from "../../../conventions/approval/card.ts";
import { call } from "../../../conventions/approval/testing/card.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { isReadToEnd } from "./reading.ts";
import { selectedItem } from "./state.ts";
import { answerPin, sitConnected, sitDown, type Table, typeSecret, viewOf } from "./testing/table.ts";

const longArguments = { call: { ...call, arguments: { name: "x".repeat(20_000) } } };

function withCard(table: Table, id = "apr_1"): Table {
  table.tell({ kind: "approval", view: viewOf(id) });
  table.wait(defaults.cardSteadyMs);
  return table;
}

function promptOf(table: Table): string | undefined {
  return table.state.prompt?.kind;
}

function latest(table: Table): string {
  return table.state.notices.at(-1)?.text ?? "";
}

test("approve unlocks only after the end of the card has been paged to", () => {
  const table = sitConnected({ rows: 18 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, longArguments) });
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.equal(promptOf(table), undefined);
  table.type("enter", "enter", "a");
  assert.equal(promptOf(table), undefined);
  table.readOn();
  table.type("a");
  assert.equal(promptOf(table), "secret");
});

test("a card that fits one page is read when it has been shown", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("a");
  assert.equal(promptOf(table), "secret");
});

test("a card that just appeared takes no key for 700 ms", () => {
  const table = sitConnected({ rows: 80 });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  for (const key of ["a", "d", "e", "n", "s", "q", "enter"]) {
    table.tell({ kind: "key", key: key === "enter" ? { kind: "enter" } : { kind: "text", point: key } });
  }
  assert.equal(promptOf(table), undefined);
  assert.equal(table.state.screen.kind, "queue");
  assert.equal(table.take("quit"), undefined);
  table.nowMs += defaults.cardSteadyMs - 1;
  table.tell({ kind: "key", key: { kind: "text", point: "d" } });
  assert.equal(promptOf(table), undefined);
  table.nowMs += 1;
  table.tell({ kind: "key", key: { kind: "text", point: "d" } });
  assert.equal(promptOf(table), "reason");
});

test("a card that takes the place of one that left takes no key for 700 ms", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.tell({ kind: "approval", view: viewOf("apr_2") });
  table.tell({ kind: "approval", view: viewOf("apr_1", { state: "approved", decided_by: "bob" }) });
  assert.equal(table.state.selected, "apr_2");
  table.tell({ kind: "key", key: { kind: "text", point: "d" } });
  assert.equal(promptOf(table), undefined);
});

test("another card in the queue neither moves the choice nor freezes the keys", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.tell({ kind: "approval", view: viewOf("apr_2") });
  assert.equal(table.state.selected, "apr_1");
  table.tell({ kind: "key", key: { kind: "text", point: "d" } });
  assert.equal(promptOf(table), "reason");
});

test("a decision key right after the person's own move is dropped too", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.tell({ kind: "approval", view: viewOf("apr_2") });
  table.type("j", "d");
  assert.equal(table.state.selected, "apr_2");
  assert.equal(promptOf(table), undefined);
  table.wait(defaults.cardSteadyMs);
  table.type("d");
  assert.equal(promptOf(table), "reason");
});

test("keys typed before there was a screen, or while the program did not run, are dropped", () => {
  const fresh = sitDown();
  fresh.state = { ...fresh.state, frozenMs: fresh.nowMs + defaults.cardSteadyMs };
  fresh.type("q");
  assert.equal(fresh.take("quit"), undefined);
  const table = withCard(sitConnected({ rows: 80 }));
  table.tell({ kind: "stalled" });
  table.type("a", "d", "q");
  assert.equal(promptOf(table), undefined);
  assert.equal(table.take("quit"), undefined);
});

test("one burst of keys cannot run through the pages", () => {
  const table = sitConnected({ rows: 18 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, longArguments) });
  table.wait(defaults.cardSteadyMs);
  for (let index = 0; index < 1_000; index++) table.tell({ kind: "key", key: { kind: "enter" } });
  const item = selectedItem(table.state);
  assert.ok(item !== undefined && !isReadToEnd(item));
});

test("a card whose text changed must be read again, and what was being typed goes nowhere", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("n", "down", "down", "1", "enter");
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.equal(promptOf(table), "secret");
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { if_unanswered: "something else" }) });
  assert.equal(promptOf(table), "told");
  assert.ok(table.take("clearSecret"));
  assert.equal(selectedItem(table.state)?.narrow, null);
  table.type("a", "y", "d");
  assert.equal(promptOf(table), "told");
  table.wait(defaults.cardSteadyMs);
  table.type("enter");
  assert.equal(promptOf(table), undefined);
  assert.equal(table.take("decide"), undefined);
});

test("a PIN is asked for each approval in guard-rail mode, and it signs exactly the card that was shown", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  for (const id of ["apr_1", "apr_2"]) {
    table.type("a");
    assert.ok(table.state.prompt?.kind === "secret" && table.state.prompt.which === "pin");
    assert.equal(table.take("decide"), undefined);
    typeSecret(table, 4);
    answerPin(table, true);
    const signed = table.take("decide");
    assert.ok(signed?.decision === "approve" && signed.approval.approval_id === id);
    assert.equal(signed.approval.card_digest, digestCard(signed.approval.card));
    table.tell({ kind: "decided", view: viewOf(id, { state: "approved", decided_by: "ada" }) });
    withCard(table, "apr_2");
  }
});

test("a grant that not every gateway of a hub has taken yet is told with who has not", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  const view = viewOf("apr_1", { state: "approved", decided_by: "ada" });
  table.tell({ kind: "decided", view, behind: ["web1", "web\u202e2"] });
  const told = table.state.notices.find(({ weight }) => weight === "warning");
  assert.match(told?.text ?? "", /web1, web\\u\{202e\}2$/);
});

test("five wrong PINs fall back to the passphrase, also for a right PIN and for the next card", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("a");
  for (let wrong = 0; wrong < defaults.pinWrong; wrong++) {
    assert.ok(table.state.prompt?.kind === "secret" && table.state.prompt.which === "pin");
    typeSecret(table, 4);
    answerPin(table, false);
  }
  assert.ok(table.state.prompt?.kind === "secret" && table.state.prompt.which === "passphrase");
  table.type("escape");
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.ok(table.state.prompt?.kind === "secret" && table.state.prompt.which === "passphrase");
  typeSecret(table, 20);
  const asked = table.take("checkSecret");
  assert.equal(asked?.which, "passphrase");
  table.tell({
    kind: "secretChecked",
    attempt: asked?.attempt ?? 0,
    answer: { kind: "passphrase", right: true, why: null },
  });
  assert.ok(table.take("decide"));
  assert.equal(table.state.pinGuard.wrong, 0);
});

test("a wrong PIN counts even when its card has left meanwhile, and a right one then approves nothing", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("a");
  typeSecret(table, 4);
  table.tell({ kind: "approval", view: viewOf("apr_1", { state: "expired" }) });
  assert.equal(promptOf(table), "told");
  answerPin(table, false);
  assert.equal(table.state.pinGuard.wrong, 1);
  const other = withCard(sitConnected({ rows: 80 }));
  other.type("a");
  typeSecret(other, 4);
  other.tell({ kind: "approval", view: viewOf("apr_1", { state: "denied", decided_by: "bob" }) });
  withCard(other, "apr_2");
  answerPin(other, true);
  assert.equal(other.take("decide"), undefined);
});

test("a guess cannot be taken back while it is checked", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("a");
  typeSecret(table, 4);
  table.type("escape", "enter");
  assert.equal(table.effects.filter(({ kind }) => kind === "checkSecret").length, 1);
  assert.equal(promptOf(table), "secret");
});

test("without a PIN the passphrase is asked, and the way to set one is said", () => {
  const table = withCard(sitConnected({ rows: 80, hasPin: false }));
  table.type("a");
  assert.ok(table.state.prompt?.kind === "secret" && table.state.prompt.which === "passphrase");
  assert.match(table.state.prompt.note ?? "", /gw operator pin/);
});

test("denying never asks a secret, carries its reason, and needs no reading", () => {
  const table = sitConnected({ rows: 18 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, longArguments) });
  table.wait(defaults.cardSteadyMs);
  table.type("d", "n", "o", "t", "x", "backspace", " ", "n", "o", "w", "enter");
  const signed = table.take("decide");
  assert.ok(signed?.decision === "deny" && signed.reason === "not now" && signed.narrow === null);
});

test("in dedicated mode a plain question stands before the signature, and only y signs", () => {
  const table = sitConnected({ rows: 80, dedicated: true });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { mode: "dedicated" }) });
  table.wait(defaults.cardSteadyMs);
  table.type("a", "enter", "n");
  assert.equal(promptOf(table), undefined);
  table.wait(defaults.cardSteadyMs);
  table.type("a", "y");
  assert.ok(table.take("decide"));
});

test("a card that claims dedicated mode under a guard-rail gateway still asks the PIN", () => {
  const table = sitConnected({ rows: 80 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { mode: "dedicated" }) });
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.equal(promptOf(table), "secret");
});

test("a card whose yes needs a passkey asks for no PIN, and is denied like any other", () => {
  const table = sitConnected({ rows: 100, columns: 120 });
  const decide = { passkey: true, approvers: 1, where: ["http://gw.localhost:7717"] } as const;
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { decide }) });
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.equal(table.state.prompt, null);
  table.type("d", "enter");
  assert.equal(table.take("decide")?.decision, "deny");
});

test("a digest that is not the one of the card on screen cannot be approved", () => {
  const table = sitConnected({ rows: 80 });
  table.tell({ kind: "approval", view: viewOf("apr_1", { card_digest: "sha256:ff" }) });
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.equal(promptOf(table), undefined);
  assert.match(latest(table), /digest/);
});

test("a decision made elsewhere is shown at once and the card leaves the queue", () => {
  const table = withCard(sitConnected());
  table.tell({ kind: "approval", view: viewOf("apr_1", { state: "denied", decided_by: "bob", reason: "no" }) });
  assert.equal(table.state.queue.length, 0);
  assert.match(latest(table), /^denied by bob \(no\)/);
});

test("late news of what has ended changes nothing", () => {
  const table = withCard(sitConnected());
  table.tell({ kind: "approval", view: viewOf("apr_1", { state: "approved", decided_by: "bob" }) });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  table.tell({ kind: "list", views: [viewOf("apr_1")], askedMs: table.nowMs });
  assert.equal(table.state.queue.length, 0);
});

test("what the list lacks has ended, unless it came in after the list was asked for", () => {
  const table = withCard(sitConnected());
  const askedMs = table.nowMs;
  table.wait(5);
  table.tell({ kind: "approval", view: viewOf("apr_2") });
  table.tell({ kind: "list", views: [], askedMs });
  assert.deepEqual(
    table.state.queue.map(({ view }) => view.approval_id),
    ["apr_2"],
  );
});

test("of what we decide ourselves the answer says how it ended, also where the list lacks it by then", () => {
  const table = withCard(sitConnected());
  table.wait(defaults.cardSteadyMs);
  table.type("d", ..."no", "enter");
  assert.ok(table.take("decide"));
  const askedMs = table.nowMs + 1;
  table.tell({ kind: "list", views: [], askedMs });
  assert.equal(table.state.queue.length, 1);
  table.tell({ kind: "decided", view: viewOf("apr_1", { state: "denied", decided_by: "ada", reason: "no" }) });
  assert.equal(table.state.queue.length, 0);
  assert.match(latest(table), /^denied by ada \(no\)/);

  withCard(table, "apr_2");
  table.wait(defaults.cardSteadyMs);
  table.type("d", ..."no", "enter");
  assert.ok(table.take("decide"));
  table.tell({ kind: "refused", code: "approval_not_pending", message: "over" });
  table.tell({ kind: "list", views: [], askedMs: table.nowMs + 1 });
  assert.equal(table.state.queue.length, 0, "nobody decides it any more");
});

test("a question that waits in line is not shown", () => {
  const table = sitConnected();
  table.tell({ kind: "approval", view: { ...viewOf("apr_1"), card: null as never } });
  assert.equal(table.state.queue.length, 0);
});

test("a lost connection is said, keeps the cards, and lets nothing be decided until it is back", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.tell({ kind: "lost", why: "gone", retryInMs: 500 });
  table.tell({ kind: "lost", why: "still gone", retryInMs: 1_000 });
  assert.equal(table.state.queue.length, 1);
  assert.equal(table.state.notices.filter(({ text }) => text.startsWith("connection lost")).length, 1);
  table.type("a", "d", "e");
  assert.equal(promptOf(table), undefined);
  assert.equal(table.take("extend"), undefined);
  table.tell({ kind: "live", guardRail: true, locked: false });
  assert.match(latest(table), /connected again/);
  table.type("a");
  assert.equal(promptOf(table), "secret");
  typeSecret(table, 4);
  table.tell({ kind: "lost", why: "gone", retryInMs: 500 });
  answerPin(table, true);
  assert.equal(table.take("decide"), undefined);
});

test("no answer to a decision is said to be unknown, and a refusal has its code", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("d", "enter");
  assert.ok(table.take("decide"));
  table.type("d", "e");
  assert.equal(table.take("extend"), undefined);
  table.tell({ kind: "silent", message: "went away" });
  assert.match(latest(table), /NOT KNOWN/);
  assert.equal(table.state.busy, null);
  table.tell({ kind: "refused", code: "approval_not_pending", message: "too late" });
  assert.match(latest(table), /approval_not_pending/);
});

test("a card that ran out of time cannot be decided, and e gives it more", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("e");
  assert.equal(table.take("extend")?.seconds, defaults.watchExtendSeconds);
  table.tell({ kind: "extended", view: viewOf("apr_1", { expires_in_ms: 600_000 }) });
  assert.equal(selectedItem(table.state)?.expiresMs, table.nowMs + 600_000);
  table.wait(600_000);
  table.type("a", "d");
  assert.equal(promptOf(table), undefined);
});

test("what a person takes away is in the signed statement", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("n", " ", "down", " ", "down", "1", "2", "enter");
  assert.match(latest(table), /needs that action|^$/);
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  typeSecret(table, 4);
  answerPin(table, true);
  assert.deepEqual(table.take("decide")?.narrow, {
    actions: ["acme.a"],
    request_bytes: null,
    budget: { attempts: 12, side_effects: 5, duration_seconds: 600, spend_cents: 0 },
  });
});

test("what the arguments have to be is held against the card before the PIN is asked, and goes with the yes", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("n", "w", ..."id=1", "enter", "enter");
  const checked = table.take("checkWhere");
  assert.deepEqual(checked?.where, [{ action: "acme.a", text: "id=1" }]);
  table.tell({ kind: "whereChecked", approvalId: "apr_1", problem: "the call on this card is not one where id=1" });
  assert.match(latest(table), /not one where id=1/);
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  assert.equal(promptOf(table), undefined, "nothing is asked for what would be refused");
  table.type("n", "backspace", "w", ..."id in 2,3", "enter", "w", ..."not kept", "escape", "enter");
  table.tell({ kind: "whereChecked", approvalId: "apr_1", problem: null });
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  typeSecret(table, 4);
  answerPin(table, true);
  const signed = table.take("decide");
  assert.deepEqual(signed?.where, [{ action: "acme.a", text: "id in 2,3" }]);
});

test("a card for one call cannot be narrowed", () => {
  const table = sitConnected({ rows: 80 });
  table.tell({ kind: "approval", view: viewOf("apr_1", { mode: "each_use" }, { asks: "call", scope: null }) });
  table.wait(defaults.cardSteadyMs);
  table.type("n");
  assert.equal(table.state.screen.kind, "queue");
  assert.match(latest(table), /nothing to narrow/);
});

test("pasted text is dropped outside prompts and is only text inside one", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type({ kind: "paste", text: "a\rd\ry" });
  assert.equal(promptOf(table), undefined);
  table.type("d", { kind: "paste", text: "because" }, "enter");
  assert.equal(table.take("decide")?.reason, "because");
});

test("a window that is too small takes no key but the one that quits, and shows nothing as read", () => {
  const table = sitConnected({ columns: 40, rows: 10 });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  table.wait(defaults.cardSteadyMs);
  table.type("enter", "a", "d");
  assert.equal(promptOf(table), undefined);
  assert.equal(selectedItem(table.state)?.seen, 0);
  table.type("q");
  assert.ok(table.take("quit"));
});

test("a window that changes keeps what was read, and asks again for a line that was seen in part", () => {
  const table = sitConnected({ rows: 18 });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, longArguments) });
  table.wait(defaults.cardSteadyMs);
  for (let page = 0; page < 8; page++) table.type("enter");
  const before = selectedItem(table.state);
  const line = before?.rows[before.seen]?.line ?? -1;
  table.tell({ kind: "resized", size: { columns: 70, rows: 18 } });
  const after = selectedItem(table.state);
  assert.ok(after !== undefined && !isReadToEnd(after));
  assert.ok((after.rows[after.top]?.line ?? 0) <= line);
  table.readOn();
  table.tell({ kind: "resized", size: { columns: 90, rows: 20 } });
  const read = selectedItem(table.state);
  assert.ok(read !== undefined && isReadToEnd(read));
});

test("sessions are listed, and r revokes the chosen one without a secret", () => {
  const table = sitConnected();
  table.type("s");
  assert.ok(table.take("loadSessions"));
  table.type("r");
  assert.equal(promptOf(table), undefined);
  const sessions = [
    { id: "ses_1", live: true, text: "one" },
    { id: "ses_2", live: false, text: "two" },
  ];
  table.tell({ kind: "sessions", sessions });
  table.type("j", "r");
  assert.equal(promptOf(table), undefined);
  table.type("k", "r", "o", "k", "enter");
  const revoked = table.take("revoke");
  assert.ok(revoked?.sessionId === "ses_1" && revoked.reason === "ok");
  table.tell({ kind: "revoked", sessionId: "ses_1" });
  assert.ok(table.take("loadSessions"));
});

test("a session that is gone leaves the cursor on none, so that no key hits another", () => {
  const table = sitConnected();
  table.type("s");
  table.tell({ kind: "sessions", sessions: [{ id: "ses_1", live: true, text: "one" }] });
  table.tell({ kind: "sessions", sessions: [{ id: "ses_2", live: true, text: "two" }] });
  table.type("r");
  assert.equal(promptOf(table), undefined);
});

test("Ctrl-C quits from everywhere, also while keys do not count", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.tell({ kind: "stalled" });
  table.tell({ kind: "key", key: { kind: "interrupt" } });
  assert.ok(table.take("quit"));
  table.wait(defaults.cardSteadyMs);
  table.type("d", "interrupt");
  assert.ok(table.take("quit"));
});

test("help, redraw and the way back", () => {
  const table = withCard(sitConnected());
  table.type("?");
  assert.equal(table.state.screen.kind, "help");
  table.type("x");
  assert.equal(table.state.screen.kind, "queue");
  table.type("redraw", "s", "escape", "s", "?", "x");
  assert.ok(table.take("redraw"));
  table.type("q");
  assert.ok(table.take("quit"));
});

test("a gateway that is locked is said once", () => {
  const table = sitConnected();
  table.tell({ kind: "live", guardRail: true, locked: true });
  table.tell({ kind: "live", guardRail: true, locked: true });
  assert.equal(table.state.notices.filter(({ text }) => text.includes("LOCKED")).length, 1);
});

test("what a hub had no room to show is said once, and again when it is another", () => {
  const table = sitConnected();
  const tell = (...unread: string[]): void => table.tell({ kind: "live", guardRail: true, locked: false, unread });
  tell("web1 shows 1 more");
  tell("web1 shows 1 more");
  tell("web1 shows 2 more");
  const told = table.state.notices.filter(({ weight }) => weight === "warning").map(({ text }) => text);
  assert.deepEqual(told, ["web1 shows 1 more", "web1 shows 2 more"]);
});

test("an answer to another attempt, or for another card than the prompt was opened for, approves nothing", () => {
  const table = withCard(sitConnected({ rows: 80 }));
  table.type("a");
  typeSecret(table, 4);
  const asked = table.take("checkSecret");
  const right = { kind: "pin", right: true } as const;
  table.tell({ kind: "secretChecked", attempt: (asked?.attempt ?? 0) - 1, answer: right });
  assert.equal(table.take("decide"), undefined);
  assert.ok(table.state.prompt?.kind === "secret");
  table.state = {
    ...table.state,
    prompt: { ...table.state.prompt, about: { kind: "approve", approvalId: "apr_1", digest: "sha256:another" } },
  };
  table.tell({ kind: "secretChecked", attempt: asked?.attempt ?? 0, answer: right });
  assert.equal(table.take("decide"), undefined);
});
