import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonObject } from "../../kernel/json.ts";
import { showsExpected } from "./confirm.ts";

const keys = { project_id: "p1", subject_id: "u1" };

test("a read confirms when every value that was set is shown", () => {
  assert.equal(showsExpected({ role: "editor" }, keys, { ...keys, role: "editor", revision: "r8" }), true);
  assert.equal(showsExpected({ range: { a: 1, b: [2] } }, {}, { range: { b: [2], a: 1 } }), true);
});

test("a read that only finds the resource proves nothing of what was done to it", () => {
  assert.equal(showsExpected({ role: "editor" }, keys, { ...keys }), false);
  assert.equal(showsExpected({}, keys, { ...keys }), false);
});

test("another value, another resource and anything that is no object do not confirm", () => {
  assert.equal(showsExpected({ role: "editor" }, keys, { ...keys, role: "viewer" }), false);
  assert.equal(showsExpected({ role: "editor" }, keys, { project_id: "p2", role: "editor" }), false);
  assert.equal(showsExpected({ role: "editor", name: "x" }, keys, { role: "editor", name: "y" }), false);
  for (const shown of [null, "editor", ["editor"], 7])
    assert.equal(showsExpected({ role: "editor" }, {}, shown), false);
});

test("one differing value is always enough to leave it unconfirmed", () => {
  const values = fc.dictionary(fc.stringMatching(/^[a-z]{1,6}$/), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 });
  fc.assert(
    fc.property(values, fc.nat(), (set, pick) => {
      // JSON has no negative zero: what was set is what JSON carries.
      const wanted = JSON.parse(JSON.stringify(set)) as JsonObject;
      assert.equal(showsExpected(wanted, {}, { ...wanted }), true);
      const names = Object.keys(wanted);
      const name = names[pick % names.length] ?? "";
      assert.equal(showsExpected(wanted, {}, { ...wanted, [name]: { other: [wanted[name] ?? null] } }), false);
    }),
  );
});

test("the receipt may tell under which name the provider keeps a value", () => {
  const release = "sha256:0123456789";
  const receipt = { release_id: release, deployment_id: "dep-1" };
  assert.equal(showsExpected({ release }, {}, { release_id: release, generation: 5 }, receipt), true);
  assert.equal(showsExpected({ release }, {}, { release_id: "sha256:other00000", generation: 5 }, receipt), false);
  assert.equal(
    showsExpected({ release }, {}, { release_id: release }),
    false,
    "without a receipt nothing ties the names",
  );
  assert.equal(
    showsExpected({ flag: "on" }, {}, { state: "on" }, { state: "on" }),
    false,
    "a common word tells nothing",
  );
  for (const [word, tells] of [
    ["1234567", false],
    ["12345678", true],
  ] as const)
    assert.equal(showsExpected({ flag: word }, {}, { state: word }, { state: word }), tells, word);
  assert.equal(showsExpected({ release }, {}, { release_id: release }, { release_id: "sha256:other00000" }), false);
});
