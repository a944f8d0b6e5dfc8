import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../../kernel/json.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import type { Card, CardCall } from "./card.ts";
import { renderCard, renderEssential, renderEvidence } from "./render.ts";
import { call as asked, cardOf } from "./testing/card.ts";

const call: CardCall = { ...asked, arguments: {} };
const card = cardOf("apr_1", { call });

function withArguments(input: JsonObject): Card {
  return { ...card, call: { ...call, arguments: input } };
}

/** The lines of the arguments, without their label. */
function argumentsOf(input: JsonObject): readonly string[] {
  const lines = renderCard(withArguments(input));
  const from = lines.findIndex((line) => line.startsWith("  arguments "));
  const to = lines.findIndex((line, index) => index > from && !line.startsWith(" ".repeat(14)));
  return lines.slice(from, to).map((line) => line.slice(14));
}

test("the card answers its questions in order: who vouches, what is asked, the call, its cost, the budget, and what if nobody answers", () => {
  const lines = renderEssential(card);
  assert.equal(lines[0], card.authority);
  const labels = lines.slice(1).map((line) => line.slice(2, 13).trim());
  assert.deepEqual(labels, [
    "asks for",
    "call",
    "request",
    "arguments",
    "because",
    "can cost",
    "2 actions",
    "hosts",
    "credentials",
    "agent says",
    "budget",
    "no answer",
  ]);
  assert.deepEqual(renderCard(card), [...lines, "", ...renderEvidence(card)]);
});

test("hashes, processes and parents are evidence, and what decides is not", () => {
  const [first, folded] = [renderEssential(card).join("\n"), renderEvidence(card).join("\n")];
  for (const fact of ["sha256:00", "sha256:11", "pid 7", "POST /v1/a", "call_1", "Guard-rail mode"]) {
    assert.ok(!first.includes(fact), fact);
    assert.ok(folded.includes(fact), fact);
  }
});

test("the worst that is odd about the caller stands right below who vouches for it", () => {
  assert.doesNotMatch(renderEssential(card).join("\n"), /BUT/);
  const odd = { ...card.context, unowned_mappings: ["/tmp/a.so", "/tmp/b.so"], interpreter_unsure: true };
  const [, second] = renderEssential({ ...card, context: odd });
  assert.match(second ?? "", /^ {2}BUT +it has loaded 2 files that no package owns.*\(and 1 more/);
});

test("a card in a session that stands says who approved it and what is left, and a wrapper's card which command it will start", () => {
  const session = { session_id: "ses_1", approved_by: "ada", approved_at: "2026-01-01T00:00:01.000Z" };
  const used = { attempts: 3, side_effects: 1, spend_cents: 0 };
  const further = renderEssential({ ...card, asks: "call", scope: null, session, run: { ...card.run, used } });
  assert.ok(further.some((line) => /^ {2}session +the same caller, approved by ada/.test(line)));
  assert.ok(further.some((line) => /37 of 40 attempts, 4 of 5 side effects/.test(line)));
  const command_claimed = ["npm", "run", "a b", 'x"\u001b'];
  const wrapped = renderEssential({ ...card, asks: "session", call: null, run: { ...card.run, command_claimed } });
  assert.ok(
    wrapped.some((line) => line.endsWith('npm run "a b" "x\\"\\u{1b}"')),
    wrapped.join("\n"),
  );
});

test("where it cannot be told whether the image runs scripts, the card says so in a line", () => {
  const about = (context: object): readonly string[] =>
    renderCard({ ...card, context: { ...card.context, ...context } }).filter((line) => /interpreter/.test(line));
  assert.deepEqual(about({}), []);
  assert.equal(about({ interpreter_unsure: true }).length, 1);
  assert.match(about({ interpreter_unsure: true })[0] ?? "", /cannot be told/);
  assert.doesNotMatch(about({ interpreter_unsure: true, interpreter: { name: "node" } })[0] ?? "", /cannot be told/);
});

test("parents and loaded files stand one a line, an interpreter as a sentence, nothing as raw JSON", () => {
  const lines = renderCard({
    ...card,
    context: {
      ...card.context,
      interpreter: { name: "node", script: "/srv/agent.js" },
      unowned_mappings: ["/tmp/one.so", "/tmp/two.so"],
      ancestors: [
        { pid: 6, start_time: "54", path: "/bin/bash" },
        { pid: 1, start_time: "1", path: null },
      ],
      namespaces: "other",
      binding: "connection",
    },
  });
  assert.ok(lines.some((line) => line.includes('node runs the script "/srv/agent.js"')));
  for (const text of ['"/tmp/one.so"', '"/tmp/two.so"', 'pid 6 "/bin/bash"', "pid 1 (file not readable)"]) {
    assert.equal(lines.filter((line) => line.trim() === text).length, 1, text);
  }
  assert.ok(lines.some((line) => line.includes("container")));
  assert.ok(!lines.some((line) => /[{}[\]]/.test(line)));
});

test("a nested argument is one line a value with its whole path", () => {
  assert.deepEqual(
    argumentsOf({ items: [{ id: 5, tags: [] }, { id: "5" }], deep: { none: null, on: true, left: {} } }).map((line) =>
      line.trim(),
    ),
    [
      "items[0].id = 5",
      "items[0].tags = [] (an empty list)",
      'items[1].id = "5"',
      "deep.none = null",
      "deep.on = true",
      "deep.left = {} (an empty object)",
    ],
  );
});

test("a name cannot pass for a path, and a value cannot end its quotes", () => {
  assert.notDeepEqual(argumentsOf({ "a.b": 1 }), argumentsOf({ a: { b: 1 } }));
  assert.notDeepEqual(argumentsOf({ 'a = "x" b': 1 }), argumentsOf({ a: 'x" b = 1' }));
  assert.ok(argumentsOf({ a: 'x" (approved by ada' })[0]?.includes('"x\\" (approved by ada"'));
});

test("what a call can cost and what the run may spend are one sentence that is true of both", () => {
  const costing = (maximum_cents: number | null, spend_cents = 0) =>
    renderCard({
      ...card,
      call: { ...call, maximum_cents },
      run: { ...card.run, budget: { ...card.run.budget, spend_cents } },
    }).join("\n");
  assert.match(costing(null), /can cost +ANY AMOUNT/);
  assert.doesNotMatch(costing(null), /no money(,|$)/m);
  assert.match(costing(0), /can cost +nothing$/m);
  assert.match(costing(5), /MORE than the 0 .* would be refused/);
  assert.match(costing(5, 9), /at most 5 cents, of the 9/);
});

test("a card for one call shows no scope, and one for a session shows no call", () => {
  const one = renderCard({ ...card, asks: "call", scope: null });
  assert.ok(!one.some((line) => line.trim().startsWith("hosts")));
  const session = renderCard({ ...card, asks: "session", call: null });
  assert.ok(!session.some((line) => line.startsWith("  call ")));
  assert.match(renderCard({ ...card, asks: "redirect", scope: null }).join("\n"), /one redirect/);
});

test("evidence of an unexpected shape is shown, not trusted", () => {
  const lines = renderCard({
    ...card,
    caller: { process: "pid 1, user id 0", path_observed: 5, cdhash: null, validity: "valid\u001b[2J" },
    context: { ancestors: ["x", null], namespaces: "unreadable", binding: "what ever", interpreter: { name: "py" } },
  });
  assert.match(lines.join("\n"), /process +not known/);
  assert.match(lines.join("\n"), /not known \("valid\\u\{1b\}\[2J"\)/);
  assert.match(lines.join("\n"), /pid not known/);
});

test("an authority line that holds what it must not is escaped, and still the first", () => {
  assert.equal(renderCard({ ...card, authority: "x\u001b[2J" })[0], "x\\u{1b}[2J");
  assert.equal(renderCard({ ...card, authority: "\\u{430}pi" })[0], "\\u{430}pi");
});

test("whatever the arguments are, every value is whole, visible, indented and told apart from others", () => {
  const json = fc.jsonValue({ stringUnit: "binary", maxDepth: 3 });
  const input = fc.dictionary(anyText({ maxLength: 8 }), json, { maxKeys: 4 });
  fc.assert(
    fc.property(input, (value) => {
      const lines = renderCard(withArguments(value as JsonObject));
      for (const line of lines) assert.match(line, /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u);
      for (const line of lines.slice(1, lines.indexOf("Who is calling") - 1)) assert.match(line, /^ {2}/);
      assert.equal(argumentsOf(value as JsonObject).length, Math.max(1, countLeaves(value)));
    }),
    { numRuns: 60 },
  );
  fc.assert(
    fc.property(input, input, (one, other) => {
      const same = JSON.stringify(sorted(one as JsonObject)) === JSON.stringify(sorted(other as JsonObject));
      const shown = [one, other].map((value) => [...renderCard(withArguments(value as JsonObject))].sort().join("\n"));
      if (!same) assert.notEqual(shown[0], shown[1]);
    }),
    { numRuns: 60 },
  );
});

function countLeaves(value: unknown): number {
  const parts = typeof value === "object" && value !== null ? Object.values(value) : [];
  return parts.reduce((sum: number, one) => sum + Math.max(1, countLeaves(one)), 0);
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? 0 : value;
  return Object.entries(value)
    .map(([name, one]) => [name, sorted(one)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));
}
