import assert from "node:assert/strict";
import { test } from "node:test";
import { sayChanged } from "./words.ts";

test("plan_stale says what changed in words, one reason each", () => {
  const names = ["expires_at", "request_digest", "expected_revision", "effects", "plan", "projects/p1"];
  const said = sayChanged(names);
  assert.equal(new Set(said).size, names.length);
  for (const [at, name] of names.slice(0, 3).entries()) assert.ok(!said[at]?.includes(name), name);
  assert.equal(said.at(-1), "projects/p1 has changed since the preview");
  assert.equal(sayChanged([]).length, 1);
});

test("a provider's name for a resource is only a name", () => {
  assert.equal(sayChanged(["\u001b[2Jx"])[0], "\\u{1b}[2Jx has changed since the preview");
});
