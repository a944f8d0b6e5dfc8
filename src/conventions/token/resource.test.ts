import assert from "node:assert/strict";
import { test } from "node:test";
import { fillResource, namesIn } from "./resource.ts";

test("a resource is filled with what the call is about, and no input widens it", () => {
  const text = "arn:aws:s3:::{bucket}/{key}*";
  assert.deepEqual(namesIn(text), ["bucket", "key"]);
  assert.equal(fillResource(text, { bucket: "logs", key: 7 }), "arn:aws:s3:::logs/7*");
  const itself = (character: string): string => `$\{${character}}`;
  const wild = ["arn:aws:s3:::", itself("*"), "/a", itself("?"), itself("$"), "*"].join("");
  assert.equal(fillResource(text, { bucket: "*", key: "a?$" }), wild);
  assert.equal(fillResource(text, { bucket: "b" }), "arn:aws:s3:::b/*");
  assert.deepEqual(namesIn("{ bucket }{1a}{}"), [], "a brace that opens no name is text");
  assert.equal(fillResource("{x", { x: "y" }), "{x");
});
