import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "../../../src/kernel/failure.ts";
import { defineRoute } from "./route.ts";

test("an upload has at least one file among its parts", () => {
  const file = { kind: "file", maxBytes: 10 } as const;
  const field = { kind: "json", schema: { type: "string" } } as const;
  const upload = (parts: object) =>
    defineRoute({ method: "POST", path: "/x", body: { kind: "multipart", parts } } as never);
  upload({ file, field });
  assert.throws(() => upload({ field }), Fault);
  assert.throws(() => upload({}), Fault);
});
