import assert from "node:assert/strict";
import { test } from "node:test";
import { changesMeaning, readHead } from "./head.ts";
import { placeholderOf } from "./placeholder.ts";

const PLACEHOLDER = placeholderOf("run_1");
const denied = (code: string) => (error: unknown) => (error as { readonly code: string }).code === code;

test("a field that says one thing twice is one field, and one that says two things is no request", () => {
  for (const name of ["content-type", "x-own"]) {
    const twice = (value: string) => [[name, "a/b"] as const, [name, value] as const];
    assert.throws(() => readHead(twice("a/c"), PLACEHOLDER, null), denied("framing_invalid"));
    const { contentType, own } = readHead(twice("a/b"), PLACEHOLDER, null);
    assert.equal(name === "x-own" ? own.get(name) : contentType, "a/b");
  }
  const several = readHead(
    [
      ["accept", "a/b"],
      ["accept", "a/c"],
    ],
    PLACEHOLDER,
    null,
  );
  assert.equal(several.accept, "a/b, a/c");
  assert.equal(readHead([], PLACEHOLDER, null).accept, null);
});

test("how a request travels and who sends it is dropped, by its name or by what that begins with", () => {
  const names = ["host", "user-agent", "traceparent", "sec-fetch-mode", "x-b3-traceid", "x-stainless-lang"];
  const { own, dropped } = readHead(
    [...names, "own-sec-"].map((name) => [name, "1"]),
    PLACEHOLDER,
    null,
  );
  assert.deepEqual(dropped, names);
  assert.deepEqual([...own.keys()], ["own-sec-"]);
});

test("a provider's own field for a token takes the placeholder and nothing else, and is no such field elsewhere", () => {
  const line = (value: string) => [["x-acme-key", value]] as const;
  assert.throws(() => readHead(line("s3cret"), PLACEHOLDER, "x-acme-key"), denied("credential_foreign"));
  assert.deepEqual(readHead(line(PLACEHOLDER), PLACEHOLDER, "x-acme-key").dropped, ["x-acme-key"]);
  assert.equal(readHead(line("s3cret"), PLACEHOLDER, null).own.get("x-acme-key"), "s3cret");
});

test("what would make it another request is known by name", () => {
  for (const name of ["range", "content-encoding", "x-http-method-override", "idempotency-key", "content-digest"])
    assert.ok(changesMeaning(name), name);
  assert.equal(changesMeaning("x-whatever"), false);
});
