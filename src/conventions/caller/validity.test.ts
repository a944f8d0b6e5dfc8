import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import type { CallerCheck } from "./port.ts";
import { endingOf, requireSame, sameCaller } from "./validity.ts";

const cases: readonly {
  readonly check: CallerCheck;
  readonly code: string | null;
  readonly ending: string | null;
}[] = [
  { check: { kind: "same" }, code: null, ending: null },
  { check: { kind: "gone" }, code: "caller_gone", ending: "process_exited" },
  { check: { kind: "replaced", what: "exec" }, code: "caller_replaced", ending: "image_replaced" },
  { check: { kind: "traced", tracer: 7 }, code: "caller_traced", ending: null },
];

test("only the same live process goes on; each other finding has its own code", () => {
  for (const { check, code } of cases) {
    if (code === null) requireSame(check);
    else
      assert.throws(
        () => requireSame(check),
        (error) => error instanceof Denied && error.code === code,
      );
  }
});

test("an exit or an exec ends the session; a tracer refuses the call and leaves it", () => {
  for (const { check, ending } of cases) assert.equal(endingOf(check), ending);
});

test("an approval serves the one live image and never another that looks alike", () => {
  assert.equal(sameCaller({ key: "1.2.3.1" }, { key: "1.2.3.1" }), true);
  assert.equal(sameCaller({ key: "1.2.3.1" }, { key: "1.2.3.2" }), false);
});
