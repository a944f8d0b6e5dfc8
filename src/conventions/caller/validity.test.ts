import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../kernel/failure.ts";
import type { CallerCheck } from "./port.ts";
import { requireSame } from "./validity.ts";

const cases: readonly {
  readonly check: CallerCheck;
  readonly code: string | null;
}[] = [
  { check: { kind: "same" }, code: null },
  { check: { kind: "gone" }, code: "caller_gone" },
  { check: { kind: "replaced", what: "exec" }, code: "caller_replaced" },
  { check: { kind: "traced", tracer: 7 }, code: "caller_traced" },
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
