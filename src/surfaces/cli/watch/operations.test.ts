import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { OperationSummary } from "../../../conventions/operation/summary.ts";
import { operationOf } from "../../../conventions/operation/testing/summary.ts";
import { defaults } from "../../../kernel/defaults.ts";
import { anyText } from "../../../kernel/testing/any-text.ts";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { areasOf } from "./reading.ts";
import type { OperationsScreen } from "./state.ts";
import { boardOf, detailOf, stuckOf } from "./testing/board.ts";
import { answerPin, sitConnected, type Table, typeSecret, viewOf } from "./testing/table.ts";
import { viewWatch } from "./view.ts";

function post(table: Table, ...operations: readonly OperationSummary[]): void {
  table.tell({ kind: "operations", board: boardOf(...operations) });
}

function textOf(table: Table): readonly string[] {
  return viewWatch(table.state).map(({ text }) => text);
}

/** A person in front of the open list, and the first key counts. */
function sitBefore(...operations: readonly OperationSummary[]): Table {
  const table = sitConnected({ rows: 24, columns: 80 });
  post(table, ...operations);
  table.wait(defaults.cardSteadyMs);
  table.type("o");
  table.wait(defaults.cardSteadyMs);
  return table;
}

function screenOf(table: Table): OperationsScreen {
  const { screen } = table.state;
  assert.ok(screen.kind === "operations");
  return screen;
}

/** The name behind the mark on screen: what a person would say they are about to act on. */
function marked(table: Table): string | undefined {
  return textOf(table)
    .find((row) => row.startsWith("> "))
    ?.match(/job-op_[0-9]+/)?.[0]
    ?.slice(4);
}

function promptOf(table: Table): string | undefined {
  return table.state.prompt?.kind;
}

const named = (id: string, change: Partial<OperationSummary> = {}): OperationSummary =>
  operationOf(id, { remote_job_id: `job-${id}`, ...change });

test("open operations stand below the queue with progress, next look and what is left of their time", () => {
  const table = sitConnected({ rows: 30, columns: 80 });
  assert.ok(textOf(table).some((row) => row.includes("No operation is open")));
  post(table, operationOf("op_1"));
  const at = areasOf(table.state.size).list + 1;
  assert.match(textOf(table)[at] ?? "", /1 operation is open/);
  assert.match(textOf(table)[at + 1] ?? "", /at 40\/100 +look 4 s +due 2:00 +running at the provider: acme\.report/);
  table.wait(3_000);
  assert.match(textOf(table)[at + 1] ?? "", /look 1 s +due 1:57/);
  table.wait(120_000);
  assert.match(textOf(table)[at + 1] ?? "", /look now +OVERDUE/);
});

test("a full progress is never called a success", () => {
  const table = sitBefore(operationOf("op_1", { progress: { completed: 100, total: 100 } }));
  const text = textOf(table).join("\n");
  assert.match(text, /running at the provider, progress 100 of 100/);
  assert.doesNotMatch(text, /succeeded|success|done/);
});

test("what needs a person comes first, rings once, and names the command to type", () => {
  const table = sitConnected({ rows: 24, columns: 80 });
  post(table, operationOf("op_1"), stuckOf("op_2"));
  assert.ok(table.take("ring"));
  assert.match(textOf(table)[0] ?? "", /1 NEEDS A PERSON/);
  assert.ok(textOf(table).some((row) => row.includes("! gw operation reconcile op_2")));
  post(table, operationOf("op_1"), stuckOf("op_2"));
  assert.equal(table.take("ring"), undefined);
  table.wait(defaults.cardSteadyMs);
  table.type("o");
  assert.equal(screenOf(table).selected, "op_2");
  assert.ok(textOf(table).some((row) => row.trim() === "type: gw operation reconcile op_2  (to read it once more)"));
});

test("the rows of an open list stand still: news changes them in place, and new ones come at the end", () => {
  const table = sitBefore(named("op_1"), named("op_2"), named("op_3"));
  table.type("j");
  assert.equal(marked(table), "op_2");
  const before = screenOf(table).rows.map(({ summary }) => summary.operation_id);
  post(
    table,
    named("op_0"),
    named("op_3", { problem: { code: "poll_allowance_exhausted", detail: "x" }, next_poll_in_ms: null }),
    named("op_2"),
    named("op_1", { state: "succeeded" }),
  );
  const after = screenOf(table).rows.map(({ summary }) => summary.operation_id);
  assert.deepEqual(after, [...before, "op_0"]);
  assert.equal(marked(table), "op_2");
  assert.match(textOf(table)[1] ?? "", /o sorts them first/);
  table.type("o");
  assert.equal(screenOf(table).rows[0]?.summary.operation_id, "op_3");
});

test("an update in the very moment of a key cannot shift what the key acts on", () => {
  const table = sitBefore(named("op_1"), named("op_2"), named("op_3"));
  table.type("j");
  table.wait(defaults.cardSteadyMs);
  const seen = marked(table);
  // The row above ends and the one below begins to need a person, between the look and the key.
  post(table, named("op_1", { state: "failed" }), named("op_2"), stuckOf("op_3"), named("op_9"));
  table.tell({ kind: "key", key: { kind: "text", point: "c" } });
  assert.ok(table.state.prompt?.kind === "reason" && table.state.prompt.to.kind === "cancel");
  assert.equal(table.state.prompt.to.operationId, seen);
});

test("a row whose own state just changed takes no key that acts for 700 ms", () => {
  const table = sitBefore(named("op_1"));
  post(table, named("op_1", { state: "result_timed_out" }));
  for (const point of ["c", "r"]) table.tell({ kind: "key", key: { kind: "text", point } });
  assert.equal(table.state.prompt, null);
  assert.equal(table.take("reconcileOperation"), undefined);
  table.wait(defaults.cardSteadyMs);
  table.type("r");
  assert.equal(table.take("reconcileOperation")?.operationId, "op_1");
});

test("progress alone does not hold up a key", () => {
  const table = sitBefore(named("op_1"));
  post(table, named("op_1", { progress: { completed: 41, total: 100 } }));
  table.tell({ kind: "key", key: { kind: "text", point: "r" } });
  assert.equal(table.take("reconcileOperation")?.operationId, "op_1");
});

test("a cancel asks for a reason and then for the PIN, and only then is asked of the gateway", () => {
  const table = sitBefore(named("op_1"));
  table.type("c", "enter");
  assert.equal(promptOf(table), "reason", "without a reason nothing goes on");
  table.type("t", "o", "o", " ", "l", "o", "n", "g", "enter");
  assert.equal(promptOf(table), "secret");
  assert.ok(textOf(table).some((row) => row.startsWith("? Ask the provider to stop acme.report.create (op_1)")));
  typeSecret(table, 4);
  answerPin(table, false);
  assert.equal(table.take("cancelOperation"), undefined);
  typeSecret(table, 4);
  answerPin(table, true);
  assert.deepEqual(table.take("cancelOperation"), { kind: "cancelOperation", operationId: "op_1", reason: "too long" });
  assert.ok(textOf(table).some((row) => row.includes("the request to stop op_1: under way")));
  table.tell({ kind: "errandDone", errand: "cancel", detail: detailOf({ state: "cancelling" }) });
  assert.match(table.state.notices.at(-1)?.text ?? "", /cancel of .*: now asked to stop; the provider decides/);
});

test("in dedicated mode a plain y is asked instead, and any other letter goes back", () => {
  const table = sitConnected({ rows: 24, columns: 80, dedicated: true });
  post(table, stuckOf("op_1"));
  table.wait(defaults.cardSteadyMs);
  table.type("o");
  table.wait(defaults.cardSteadyMs);
  table.type("r");
  assert.equal(table.state.prompt?.kind, "confirm");
  table.type("n");
  assert.equal(table.take("reconcileOperation"), undefined);
  table.wait(defaults.cardSteadyMs);
  table.type("r", "y");
  assert.equal(table.take("reconcileOperation")?.operationId, "op_1");
});

test("a read beyond the gateway's own allowance asks the PIN; one within it does not", () => {
  const table = sitBefore(stuckOf("op_1"), named("op_2"));
  table.type("r");
  assert.equal(table.state.prompt?.kind, "secret");
  table.type("escape", "j");
  table.wait(defaults.cardSteadyMs);
  table.type("r");
  assert.equal(table.take("reconcileOperation")?.operationId, "op_2");
});

test("a read that the gateway would refuse asks no PIN and says why", () => {
  const unreadable = { code: "definition_changed", detail: "the pack that started it changed" };
  const table = sitBefore({ ...stuckOf("op_1"), unreadable });
  table.type("r");
  assert.equal(table.state.prompt, null);
  assert.equal(table.take("reconcileOperation"), undefined);
  assert.match(table.state.notices.at(-1)?.text ?? "", /the pack that started it changed \(definition_changed\)/);
});

test("an operation that ends under a question about it takes the question away, and nothing was sent", () => {
  const table = sitBefore(named("op_1"));
  table.type("c", "x");
  post(table, named("op_1", { state: "accepted" }));
  assert.equal(promptOf(table), "reason", "it can still be cancelled");
  post(table, named("op_1", { state: "succeeded" }));
  assert.ok(textOf(table).join(" ").includes("Nothing of yours was sent"));
  table.type("enter");
  assert.equal(promptOf(table), "told", "not before it could be read");
  table.wait(defaults.cardSteadyMs);
  table.type("enter", "c");
  assert.equal(table.take("cancelOperation"), undefined);
});

test("what cannot be cancelled or read says why", () => {
  for (const [operation, key] of [
    [named("op_1", { state: "cancelling" }), "c"],
    [named("op_1", { kind: "write", state: "create_unknown" }), "c"],
    [named("op_1", { state: "failed" }), "r"],
  ] as const) {
    const table = sitBefore(operation);
    table.type(key);
    assert.equal(table.state.prompt, null);
    assert.match(table.state.notices.at(-1)?.text ?? "", /^nothing to (cancel|read)/);
  }
  const table = sitBefore(named("op_1"));
  table.tell({ kind: "live", guardRail: true, locked: true });
  table.type("c");
  assert.match(table.state.notices.at(-1)?.text ?? "", /LOCKED/);
  table.tell({ kind: "lost", why: "x", retryInMs: 5 });
  table.type("r");
  assert.match(table.state.notices.at(-1)?.text ?? "", /not connected/);
});

test("a slow errand holds up no approval, and its failure ends only itself", () => {
  const table = sitBefore(named("op_1"));
  table.type("r");
  assert.ok(table.take("reconcileOperation"));
  table.wait(defaults.cardSteadyMs);
  table.type("r");
  assert.equal(table.take("reconcileOperation"), undefined, "one at a time");
  table.type("escape");
  table.tell({ kind: "approval", view: viewOf("apr_1") });
  table.wait(defaults.cardSteadyMs);
  table.type("d", "enter");
  assert.ok(table.take("decide"));
  table.tell({ kind: "errandFailed", text: "no answer" });
  assert.equal(table.state.busy?.kind, "deny");
  assert.equal(table.state.errand, null);
});

test("the details show history, evidence and remote id, and are asked for again only when something changed", () => {
  const table = sitBefore(named("op_1"));
  table.type("enter");
  assert.equal(table.take("loadOperation")?.operationId, "op_1");
  table.tell({ kind: "operation", detail: detailOf({ remote_job_id: "job-op_1" }) });
  const text = textOf(table).join("\n");
  assert.match(text, /remote id +job-op_1/);
  assert.match(text, /progress +40 of 100, as the provider counts; that is no result/);
  table.type("enter");
  assert.match(textOf(table).join("\n"), /create_pending -> accepted: the provider named the/);
  post(table, named("op_1", { next_poll_in_ms: 9_000 }));
  assert.equal(table.take("loadOperation"), undefined, "times run by themselves");
  post(table, named("op_1", { progress: { completed: 50, total: 100 } }));
  assert.equal(table.take("loadOperation")?.operationId, "op_1");
  table.tell({ kind: "operation", detail: detailOf({ operation_id: "op_7", state: "failed" }) });
  assert.doesNotMatch(textOf(table).join("\n"), /op_7/, "another one's answer is not shown here");
  table.type("escape");
  assert.equal(screenOf(table).selected, "op_1");
  table.type("escape");
  assert.equal(table.state.screen.kind, "queue");
});

const summary = fc.record({
  operation_id: fc.constantFrom("op_1", "op_2", "op_3", "op_4", "op_5"),
  state: fc.constantFrom<OperationSummary["state"]>(
    "observing",
    "accepted",
    "create_unknown",
    "cancelling",
    "succeeded",
  ),
  completed: fc.nat(100),
  stuck: fc.boolean(),
  due: fc.integer({ min: -5_000, max: 300_000 }),
});
const board = fc.uniqueArray(summary, { selector: ({ operation_id }) => operation_id, maxLength: 5 }).map((all) =>
  all.map(({ operation_id, state, completed, stuck, due }) =>
    named(operation_id, {
      state,
      progress: { completed, total: 100 },
      result_in_ms: due,
      ...(stuck ? { problem: { code: "poll_allowance_exhausted", detail: "x" }, next_poll_in_ms: null } : {}),
    }),
  ),
);

test("whatever operations do, no card, page, choice or prompt of the queue moves by one row", () => {
  fc.assert(
    fc.property(
      fc.array(board, { maxLength: 6 }),
      fc.constantFrom(18, 24, 40),
      fc.nat(3),
      fc.constantFrom("", "a", "d", "n"),
      (boards, rows, pages, key) => {
        const table = sitConnected({ rows, columns: 80 });
        for (const id of ["apr_1", "apr_2"]) table.tell({ kind: "approval", view: viewOf(id) });
        table.wait(defaults.cardSteadyMs);
        for (let page = 0; page < pages; page++) table.type("enter");
        if (key !== "") table.type(key);
        const { queue, selected, shownMs, frozenMs, prompt, screen } = table.state;
        const { list, strip, card } = areasOf(table.state.size);
        const held = (): readonly string[] => {
          const text = textOf(table);
          return [...text.slice(1, 1 + list), ...text.slice(1 + list + strip, 1 + list + strip + card + 2)];
        };
        const before = screen.kind === "queue" ? held() : [];
        for (const one of boards) {
          post(table, ...one);
          const now = table.state;
          assert.deepEqual([now.queue, now.selected, now.shownMs, now.frozenMs], [queue, selected, shownMs, frozenMs]);
          assert.deepEqual([now.prompt, now.screen], [prompt, screen]);
          assert.deepEqual(screen.kind === "queue" ? held() : [], before);
        }
      },
    ),
    { numRuns: runsOf(150) },
  );
});

const moment = fc.oneof(
  { weight: 4, arbitrary: board.map((operations) => ({ kind: "board" as const, operations })) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom("j", "k", "c", "r", "enter", "escape", "x")
      .map((key) => ({ kind: "key" as const, key })),
  },
  { weight: 3, arbitrary: fc.constantFrom(0, 100, 800).map((ms) => ({ kind: "wait" as const, ms })) },
);

test("over any sequence of keys and news, an errand is about the row that was marked when its key was pressed", () => {
  let errands = 0;
  fc.assert(
    fc.property(fc.array(moment, { maxLength: 40 }), (moments) => {
      const table = sitConnected({ rows: 30, columns: 100, dedicated: true });
      post(table, named("op_1"), named("op_2"), named("op_3"));
      table.wait(defaults.cardSteadyMs);
      table.type("o");
      let asked: string | undefined;
      for (const one of moments) {
        if (one.kind === "wait") table.wait(one.ms);
        if (one.kind === "board") post(table, ...one.operations);
        if (one.kind !== "key") continue;
        const idle = table.state.prompt === null && table.state.screen.kind === "operations";
        if (idle && (one.key === "c" || one.key === "r")) asked = marked(table);
        table.type(one.key);
        if (table.state.prompt?.kind === "confirm") table.type("y");
        for (const effect of table.effects.splice(0)) {
          if (effect.kind !== "cancelOperation" && effect.kind !== "reconcileOperation") continue;
          errands++;
          const screen = table.state.screen;
          const shown = screen.kind === "operation" ? screen.item.summary.operation_id : asked;
          assert.equal(effect.operationId, shown);
          table.tell({ kind: "errandFailed", text: "x" });
        }
        if (table.state.screen.kind === "queue") table.type("o");
      }
    }),
    { numRuns: 200 },
  );
  assert.ok(errands > 0, "the walks must reach an errand, or they prove nothing");
});

test("whatever a provider or a caller calls things, the screen stays ours", () => {
  const hostile = fc.oneof(
    anyText({ maxLength: 80 }),
    fc.constantFrom("\u001b[2J\u001b[1;1Hgw watch", "x\n> op_1 NEEDS A PERSON", "\u202eevorppa", `${" ".repeat(90)}y`),
  );
  fc.assert(
    fc.property(hostile, hostile, hostile, fc.integer({ min: 60, max: 120 }), (one, two, three, columns) => {
      const table = sitConnected({ rows: 24, columns });
      const bad = operationOf(one, {
        action: two,
        started_by: three,
        remote_job_id: one,
        remote_state: two,
        authorized_by: three,
        problem: { code: one, detail: two },
        next_poll_in_ms: null,
        cancel: { actor: two, reason: three, expected_effect: "e", at: "2026-01-01T00:00:00.000Z" },
      });
      const clean = (): void => {
        for (const { text } of viewWatch(table.state)) assert.match(text, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
        assert.match(textOf(table)[0] ?? "", /^gw watch {2}ada/);
      };
      post(table, bad, operationOf("op_2", { ...bad, operation_id: "op_2", problem: null, state: "cancelling" }));
      clean();
      table.wait(defaults.cardSteadyMs);
      table.type("o");
      clean();
      table.type("enter");
      clean();
      table.tell({ kind: "operation", detail: detailOf(bad) });
      clean();
      table.tell({ kind: "errandDone", errand: "reconcile", detail: detailOf(bad) });
      table.tell({ kind: "operationRefused", code: three });
      clean();
    }),
    { numRuns: runsOf(80) },
  );
});
