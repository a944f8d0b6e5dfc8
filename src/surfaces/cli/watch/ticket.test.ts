import assert from "node:assert/strict";
import { test } from "node:test";
import { call } from "../../../conventions/approval/testing/card.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { answerPin, sitConnected, type Table, typeSecret, viewOf } from "./testing/table.ts";
import { viewWatch } from "./view.ts";

const ticket_needed = { operation: "acme.a", target: "https://api.acme.example/v1/a?name=x" };

function withTicketCard(rows = 100, columns = 120): Table {
  const table = sitConnected({ rows, columns });
  table.tell({ kind: "approval", view: viewOf("apr_1", {}, { asks: "call", scope: null, call, ticket_needed }) });
  table.wait(defaults.cardSteadyMs);
  return table;
}

const typed = (table: Table, text: string): void => table.type(...[...text]);

test("a card that needs a ticket asks for its reference before it asks for the PIN", () => {
  const table = withTicketCard();
  table.type("a");
  assert.equal(table.state.prompt?.kind, "reason");
  typed(table, "jira:OPS-17");
  table.type("enter");
  assert.equal(table.state.prompt?.kind, "secret");
  typeSecret(table, 4);
  answerPin(table, true);
  const decided = table.take("decide");
  assert.equal(decided?.decision, "approve");
  assert.deepEqual(decided?.ticket, { ref: "jira:OPS-17", state: null, emergency: null });
});

test("without a reference, or with something that is none, nothing goes on to be signed", () => {
  const table = withTicketCard();
  table.type("a", "enter");
  assert.equal(table.state.prompt?.kind, "reason");
  for (const wrong of ["OPS-17", "jira:", "jira:OPS 17", "jira:OPS-17\u202e"]) {
    typed(table, wrong);
    table.type("enter");
    assert.equal(table.state.prompt?.kind, "reason", wrong);
    const shown = viewWatch(table.state).map(({ text }) => text);
    assert.ok(
      shown.some((line) => line.startsWith("! A ticket is named SYSTEM:REF")),
      "and it is said why",
    );
    table.type("kill");
  }
  table.type("escape");
  assert.equal(table.state.prompt, null);
  assert.equal(table.take("decide"), undefined);
});

test("what it asks for, and how to go on without it, stands whole on a screen of 80 columns", () => {
  const table = withTicketCard(100, 80);
  const foot = (): readonly string[] =>
    viewWatch(table.state)
      .slice(-4)
      .map(({ text }) => text);
  table.type("a");
  assert.ok(foot().some((line) => line.includes("SYSTEM:REF")));
  assert.ok(!foot().some((line) => line.endsWith("..")), foot().join("\n"));
  table.type("enter");
  assert.ok(!foot().some((line) => line.endsWith("..")), foot().join("\n"));
});

test("a card that needs a ticket is denied like any other", () => {
  const table = withTicketCard();
  table.type("d", "n", "o", "enter");
  const decided = table.take("decide");
  assert.deepEqual([decided?.decision, decided?.reason, decided?.ticket], ["deny", "no", undefined]);
});

test("a card that changes while the reference is typed takes it away and signs nothing", () => {
  const table = withTicketCard();
  table.type("a");
  typed(table, "jira:OPS-17");
  const other = { ...ticket_needed, target: "https://api.acme.example/v1/a?name=y" };
  table.tell({
    kind: "approval",
    view: viewOf("apr_1", {}, { asks: "call", scope: null, call, ticket_needed: other }),
  });
  assert.equal(table.state.prompt?.kind, "told");
  table.wait(defaults.cardSteadyMs);
  table.type("enter");
  assert.equal(table.take("decide"), undefined);
});

test("a card without that need asks for no reference", () => {
  const table = sitConnected({ rows: 100 });
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  table.wait(defaults.cardSteadyMs);
  table.type("a");
  typeSecret(table, 4);
  answerPin(table, true);
  assert.equal(table.take("decide")?.ticket, undefined);
});

test("the last question before signing names the ticket", () => {
  const table = withTicketCard();
  table.type("a");
  typed(table, "jira:OPS-17");
  table.type("enter");
  const shown = viewWatch(table.state)
    .map(({ text }) => text)
    .join("\n");
  assert.match(shown, /Approve under ticket jira:OPS-17/);
});
