import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../kernel/testing/any-text.ts";
import type { CardTicket } from "./card.ts";
import { neededLines, ticketLines } from "./render-ticket.ts";

const ticket: CardTicket = {
  system: "jira",
  reference: "OPS-17",
  observed_state: "in progress",
  issued_by: "ada",
  issued_by_kind: "operator",
  issued_at: "2030-01-01T00:00:00.000Z",
  expires_at: "2030-01-01T00:30:00.000Z",
  scope_digest: `sha256:${"a".repeat(64)}`,
  allowed_operations: ["acme.role.apply", "acme.role.drop"],
  allowed_targets: ["https://api.acme.example/roles?project_id=p1"],
  emergency: null,
  batch: null,
};

test("the card names the ticket, who signed it, and everything that it covers", () => {
  const lines = ticketLines(ticket).join("\n");
  for (const part of [
    "OPS-17 in jira",
    "operator ada",
    "00:30:00",
    ...ticket.allowed_operations,
    ...ticket.allowed_targets,
  ])
    assert.ok(lines.includes(part), part);
  assert.doesNotMatch(lines, /EMERGENCY/);
  assert.match(ticketLines({ ...ticket, issued_by_kind: "issuer" }).join("\n"), /configured issuer ada/);
});

test("an emergency is said first, and whether a normal ticket was opened", () => {
  const emergency = { reason: "down", normal_ticket_opened_at: null };
  const [first, second] = ticketLines({ ...ticket, emergency });
  assert.match(first ?? "", /EMERGENCY +"down", declared by ada/);
  assert.match(second ?? "", /NOT OPENED/);
  const opened = { ...emergency, normal_ticket_opened_at: "2029-12-31T23:00:00Z" };
  assert.match(ticketLines({ ...ticket, emergency: opened })[1] ?? "", /opened at 2029-12-31T23:00:00Z/);
});

test("a batch is shown with its manifest digest", () => {
  const batch = { change_execution_id: "chg-9", manifest_digest: `sha256:${"b".repeat(64)}` };
  assert.ok(ticketLines({ ...ticket, batch }).some((line) => line.includes("chg-9") && line.includes("bbbb")));
});

test("no text of an issuer can act on the screen or start a line", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      const hostile = { ...ticket, system: text, reference: text, observed_state: text, issued_by: text };
      const emergency = { reason: text, normal_ticket_opened_at: text };
      for (const line of ticketLines({ ...hostile, allowed_targets: [text], allowed_operations: [text], emergency })) {
        assert.match(line, /^ {2}[A-Za-z ]/);
        assert.doesNotMatch(line, /[\p{Cc}\p{Cf}]/u);
      }
    }),
  );
});

test("a missing ticket says that one is needed, and what whoever approves would sign for", () => {
  const lines = neededLines({ operation: "acme.role.apply", target: "https://api.acme.example/roles?role=viewer" });
  assert.match(lines[0] ?? "", /NEEDED/);
  assert.ok(lines.some((line) => line.endsWith("https://api.acme.example/roles?role=viewer")));
});

test("nothing in a missing ticket can pass for another line of the card", () => {
  fc.assert(
    fc.property(anyText(), (hostile) => {
      for (const line of neededLines({ operation: hostile, target: hostile }))
        assert.match(line, /^ {2}[^\n\r\p{Cc}]*$/u);
    }),
  );
});
