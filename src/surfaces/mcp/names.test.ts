import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { actionNameOf, toolNameOf } from "./names.ts";
import { ownTools } from "./tools.ts";

const pack = fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/);
const segment = fc.stringMatching(/^[a-z][a-z0-9_]{0,63}$/);
const action = fc
  .tuple(pack, fc.array(segment, { minLength: 1, maxLength: 4 }))
  .map(([first, rest]) => [first, ...rest].join("."));

test("the name of every action can be read back from its tool", () => {
  assert.equal(toolNameOf("acme.membership.plan"), "acme__membership-plan");
  fc.assert(
    fc.property(action, (name) => {
      assert.match(toolNameOf(name), /^[A-Za-z0-9_-]+$/);
      assert.equal(actionNameOf(toolNameOf(name)), name);
    }),
  );
});

test("two actions never share a tool, and none takes the name of a tool of ours", () => {
  fc.assert(
    fc.property(action, action, (one, other) => {
      assert.equal(toolNameOf(one) === toolNameOf(other), one === other);
      assert.ok(!ownTools.some(({ name }) => name === toolNameOf(one)));
    }),
  );
  assert.equal(toolNameOf("gw.budget"), "gw__budget");
  for (const { name } of ownTools) assert.equal(actionNameOf(name), null);
});

test("what no action can be called is no action", () => {
  for (const name of [
    "",
    "acme",
    "acme.thing",
    "acme__",
    "__x",
    "Acme__x",
    "acme__x y",
    "acme__\u0440",
    "a".repeat(400),
  ]) {
    assert.equal(actionNameOf(name), null, name);
  }
  fc.assert(
    fc.property(fc.string(), (name) => {
      const found = actionNameOf(name);
      assert.ok(found === null || toolNameOf(found) === name);
    }),
  );
});
