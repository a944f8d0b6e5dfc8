import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { base64Bytes, base64UrlBytes, bytesOfBase64Url } from "./base64.ts";

test("bytes become the text that Node makes of them, and the text those bytes again", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (given) => {
      const bytes = Buffer.from(given);
      assert.equal(base64Bytes(Buffer.from("Basic "), bytes).toString(), `Basic ${bytes.toString("base64")}`);
      const text = base64UrlBytes(bytes);
      assert.equal(text.toString(), bytes.toString("base64url"));
      assert.deepEqual(bytesOfBase64Url(text), bytes);
    }),
  );
});
