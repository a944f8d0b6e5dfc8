import assert from "node:assert/strict";
import { test } from "node:test";
import { sessionTable } from "../caller/session.ts";
import { withdrawnWords } from "./withdrawn.ts";

test("whatever ends a session is told in words where it takes a question back, and what is not known as it came", () => {
  const endings = sessionTable.filter(({ to }) => to === "ended").map(({ trigger }) => trigger);
  assert.ok(endings.length > 0);
  for (const ending of endings) assert.notEqual(withdrawnWords(ending), ending);
  for (const strange of ["toString", "__proto__", "of a later version"]) assert.equal(withdrawnWords(strange), strange);
});
