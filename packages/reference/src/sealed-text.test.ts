import assert from "node:assert/strict";
import { createSecretKey, randomBytes } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { openText, sealText } from "./sealed-text.ts";

const core = { macKey: createSecretKey(randomBytes(32)) };

test("what was sealed opens for its purpose alone, and with its key alone", () => {
  const sealed = sealText(core, "cursor", { id: "a", key: 7 });
  assert.deepEqual(openText(core, "cursor", sealed), { id: "a", key: 7 });
  assert.equal(openText(core, "plan", sealed), undefined);
  assert.equal(openText({ macKey: createSecretKey(randomBytes(32)) }, "cursor", sealed), undefined);
});

test("no other text opens", () => {
  const sealed = sealText(core, "cursor", { id: "a" });
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, other) => {
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      if (changed !== sealed) assert.equal(openText(core, "cursor", changed), undefined);
    }),
  );
  fc.assert(fc.property(fc.string(), (text) => assert.equal(openText(core, "cursor", text), undefined)));
  for (const text of ["", ".", `.${sealed}`, `${sealed}.`, sealed.slice(0, -1), `${sealed}=`]) {
    assert.equal(openText(core, "cursor", text), undefined, text);
  }
});
