import assert from "node:assert/strict";
import { test } from "node:test";
import { defaults } from "../kernel/defaults.ts";
import { Denied } from "../kernel/failure.ts";
import { createOwnSecret } from "./own-secret.ts";

const codeOf = (work: Promise<void>): Promise<string> =>
  work.then(
    () => "let in",
    (error: unknown) => (error instanceof Denied ? error.code : String(error)),
  );

test("a burst of PINs gets no more guesses than one after another: the right one after them is not taken", async () => {
  const secret = createOwnSecret({
    guardRail: () => true,
    hasPin: true,
    check: async (which, typed) => {
      const right = typed.use(String) === (which === "pin" ? "4938" : "a passphrase");
      return which === "pin" ? { kind: "pin", right } : { kind: "passphrase", right, why: null };
    },
  });
  assert.equal(await codeOf(secret.require({ secret: "4938" })), "let in");
  const wrong = Array.from({ length: defaults.pinWrong }, (_, at) => secret.require({ secret: `000${at}` }));
  const codes = await Promise.all([...wrong, secret.require({ secret: "4938" })].map(codeOf));
  assert.deepEqual(codes.slice(-2), ["console_secret_needed", "console_secret_needed"]);
  assert.equal(await codeOf(secret.require({ secret: "4938" })), "passphrase_wrong");
  assert.equal(await codeOf(secret.require({ secret: "a passphrase" })), "let in");
  assert.equal(await codeOf(secret.require({ secret: "4938" })), "let in");
});
