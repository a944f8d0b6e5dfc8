import assert from "node:assert/strict";
import { test } from "node:test";
import { digestJson } from "../../../kernel/canonical-json.ts";
import type { JsonObject } from "../../../kernel/json.ts";
import { readCard } from "./read-card.ts";

const log = { frame: 1, link: "00".repeat(32) };
const cardWith = (more: JsonObject): JsonObject => ({
  format: "gw.card/v1",
  approval_id: "apr_1",
  asks: "session",
  created_at: "2030-01-01T00:00:00.000Z",
  expires_at: "2030-01-01T00:10:00.000Z",
  authority: "nobody vouches for it",
  mode: "guard-rail",
  caller: {},
  context: {},
  run: {
    run_id: "run_1",
    purpose_claimed: "p",
    budget: { attempts: 1, side_effects: 0, duration_seconds: 60, spend_cents: 0 },
    deadline_at: "2030-01-01T01:00:00.000Z",
  },
  scope: null,
  call: null,
  notes: [],
  if_unanswered: "nothing is sent",
  ...more,
});
const content = (card: JsonObject, more: JsonObject = {}): JsonObject => ({
  approval: {
    ...{ approval_id: "apr_1", state: "pending", run_id: "run_1", call_id: null, mode: "session", action: null },
    ...{ created_at: null, expires_at: null, expires_in_ms: 1, decided_by: null, reason: null, given: [] },
    card_digest: digestJson(card),
    ...more,
    card,
  },
  log,
});

test("what a gateway sealed is a question only as far as it can be shown whole", () => {
  const broken: readonly JsonObject[] = [
    {},
    { approval: {}, log },
    content({}),
    content(cardWith({ notes: "none" })),
    content(cardWith({ asks: "everything" })),
    content(cardWith({ scope: { actions: 7 } })),
    content(cardWith({ plan: { effects: null } })),
    content(cardWith({ also: "a member that nobody would be shown" })),
    content(cardWith({ approval_id: "apr_2" })),
    content(cardWith({}), { card_digest: "sha256:00" }),
    content(cardWith({}), { state: "\u001b[2J" }),
    { ...content(cardWith({})), log: { frame: 1, link: "x" } },
  ];
  assert.ok(readCard(content(cardWith({})), "apr_1") !== undefined, "and this one can");
  for (const one of broken) assert.equal(readCard(one, "apr_1"), undefined, JSON.stringify(one).slice(0, 120));
});
