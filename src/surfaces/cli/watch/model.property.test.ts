import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { digestCard } from "../../../conventions/approval/card.ts";
import { call } from "../../../conventions/approval/testing/card.ts";
import { defaults } from "../../../kernel/defaults.ts";
import type { WatchKey } from "./keys.ts";
import { widthOf } from "./measure.ts";
import { step, type WatchEvent } from "./model.ts";
import { isReadToEnd } from "./reading.ts";
import { startState, type WatchEffect, type WatchState } from "./state.ts";
import { viewOf } from "./testing/table.ts";
import { viewWatch } from "./view.ts";

/** Everything that can happen, with keys weighted to what decides. */
const key: fc.Arbitrary<WatchKey> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(..."aadenjksy b?r1").map((point) => ({ kind: "text" as const, point })) },
  {
    weight: 8,
    arbitrary: fc.constantFrom("enter", "enter", "escape", "down", "up").map((kind) => ({ kind }) as WatchKey),
  },
  { weight: 1, arbitrary: fc.string({ maxLength: 5 }).map((text) => ({ kind: "paste" as const, text })) },
);
const id = fc.constantFrom("apr_1", "apr_2", "apr_3");
const view = fc
  .tuple(id, fc.constantFrom("pending", "pending", "pending", "approved", "expired"), fc.nat(1), fc.nat(1))
  .map(([approval, state, variant, long]) =>
    viewOf(
      approval,
      { state: state as "pending" },
      {
        if_unanswered: variant === 0 ? "nothing" : "something",
        call: { ...call, arguments: { name: "x".repeat(long * 4_000) } },
      },
    ),
  );
const event: fc.Arbitrary<WatchEvent> = fc.oneof(
  { weight: 12, arbitrary: key.map((one) => ({ kind: "key" as const, key: one })) },
  { weight: 3, arbitrary: view.map((one) => ({ kind: "approval" as const, view: one })) },
  {
    weight: 1,
    arbitrary: fc.array(view, { maxLength: 2 }).map((views) => ({ kind: "list" as const, views, askedMs: 0 })),
  },
  { weight: 4, arbitrary: fc.constant({ kind: "secretTyped", length: 4 } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "lost", why: "x", retryInMs: 5 } as const) },
  { weight: 3, arbitrary: fc.constant({ kind: "live", guardRail: true, locked: false } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "silent", message: "x" } as const) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 10, max: 120 }), fc.integer({ min: 5, max: 60 }))
      .map(([columns, rows]) => ({ kind: "resized" as const, size: { columns, rows } })),
  },
);
type Moment = readonly [event: WatchEvent, laterMs: number, right: boolean];

const press = (one: string): WatchEvent => ({
  kind: "key",
  key: one === "enter" ? { kind: "enter" } : { kind: "text", point: one },
});
/** What a person who means it does, whole, so that the walks get somewhere between the accidents. */
const approving = fc.boolean().map((right): readonly Moment[] => [
  [press("a"), 800, right],
  [{ kind: "secretTyped", length: 4 }, 50, right],
  [press("enter"), 50, right],
]);
const reading = fc
  .nat(12)
  .map((pages): readonly Moment[] => Array.from({ length: pages }, () => [press("enter"), 250, false]));
const accident = fc.tuple(event, fc.constantFrom(0, 50, 250, 800), fc.boolean()).map((one): readonly Moment[] => [one]);
const walk = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: accident },
      { weight: 2, arbitrary: approving },
      { weight: 2, arbitrary: reading },
    ),
    {
      maxLength: 60,
    },
  )
  .map((scripts) => scripts.flat());

const start: Moment = [{ kind: "live", guardRail: true, locked: false }, 900, true];

interface Walker {
  state: WatchState;
  nowMs: number;
  asked: (WatchEffect & { kind: "checkSecret" })[];
}

test("no sequence of keys and news approves a card without its end read and a right secret for exactly that card", () => {
  let approvals = 0;
  fc.assert(
    fc.property(walk, (steps) => {
      const walker: Walker = {
        state: startState("ada", true, { columns: 90, rows: 60 }, 0, defaults.cardSteadyMs),
        nowMs: 0,
        asked: [],
      };
      for (const [happened, laterMs, right] of [start, ...steps]) {
        walker.nowMs += laterMs;
        go(walker, happened, false);
        const question = walker.asked.shift();
        if (question === undefined) continue;
        const answer =
          question.which === "pin"
            ? ({ kind: "pin", right } as const)
            : ({ kind: "passphrase", right, why: null } as const);
        if (go(walker, { kind: "secretChecked", attempt: question.attempt, answer }, right)) approvals++;
      }
    }),
    { numRuns: 300 },
  );
  assert.ok(approvals > 0, "the walks must reach an approval, or they prove nothing");
});

/** One step; true when it approved. */
function go(walker: Walker, happened: WatchEvent, rightSecret: boolean): boolean {
  const before = walker.state;
  const { state, effects } = step(before, happened, walker.nowMs);
  walker.state = state;
  assertScreen(state);
  let approved = false;
  for (const effect of effects) {
    if (effect.kind === "checkSecret") walker.asked.push(effect);
    if (effect.kind !== "decide") continue;
    assert.equal(effect.approval.card_digest, digestCard(effect.approval.card));
    if (effect.decision === "deny") continue;
    approved = true;
    assert.ok(rightSecret);
    const shown = before.queue.find((item) => item.view.approval_id === effect.approval.approval_id);
    assert.ok(shown !== undefined && isReadToEnd(shown));
    assert.equal(shown.digest, effect.approval.card_digest);
    assert.ok(before.prompt?.kind === "secret" && before.prompt.about.kind === "approve");
    assert.equal(before.prompt.about.digest, shown.digest);
  }
  return approved;
}

function assertScreen(state: WatchState): void {
  const lines = viewWatch(state);
  assert.equal(lines.length, state.size.rows);
  for (const { text } of lines) assert.ok(widthOf(text) <= state.size.columns);
  assert.ok(state.selected === null || state.queue.some(({ view: { approval_id } }) => approval_id === state.selected));
  assert.equal(state.selected === null, state.queue.length === 0);
  for (const item of state.queue) assert.ok(item.top <= item.seen || item.seen === 0);
}
