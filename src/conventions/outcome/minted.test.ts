import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../../kernel/json.ts";
import { takeMinted } from "./minted.ts";

const said = (pointer: string): string => `kept (${pointer})`;

test("a member that holds a new secret is taken out, and a note stands in its place", () => {
  const body = { id: 7, token: { secret: "s3cr3t", scope: "read" }, keys: [{ value: "k-1" }] };
  const { body: rest, minted } = takeMinted(body, ["/token/secret", "/keys/0/value", "/absent"], said);
  assert.deepEqual(rest, {
    id: 7,
    token: { secret: "kept (/token/secret)", scope: "read" },
    keys: [{ value: "kept (/keys/0/value)" }],
  });
  assert.deepEqual(minted, [
    { pointer: "/token/secret", secret: "s3cr3t", texts: ["s3cr3t"] },
    { pointer: "/keys/0/value", secret: "k-1", texts: ["k-1"] },
  ]);
  assert.equal(body.token.secret, "s3cr3t", "what was given is not changed");
});

test("names with slashes and tildes, whole objects and inherited names are what the pointer says and no more", () => {
  assert.equal(takeMinted({ "a/b~c": "x" }, ["/a~1b~0c"], said).minted[0]?.secret, "x");
  assert.equal(takeMinted({ key: { d: "1" } }, ["/key"], said).minted[0]?.secret, '{"d":"1"}');
  for (const pointer of ["/toString", "/__proto__/x", "/list/01", "/list/9", "/list/-"]) {
    assert.deepEqual(takeMinted({ list: ["a"] }, [pointer], said).minted, [], pointer);
  }
});

test("of an object or a list each text is named, at any depth, once", () => {
  const key = { id: 7, parts: ["first-half", { d: "second-half" }], again: "first-half" };
  assert.deepEqual(takeMinted({ key }, ["/key"], said).minted[0]?.texts, [
    JSON.stringify(key),
    "first-half",
    "second-half",
  ]);
  assert.deepEqual(takeMinted({ key: 4111 }, ["/key"], said).minted[0]?.texts, ["4111"]);
});

test("whatever the answer is, what was taken out is nowhere in the rest", () => {
  const secret = "a-secret-that-nothing-else-says";
  fc.assert(
    fc.property(fc.jsonValue(), fc.array(fc.string(), { minLength: 1, maxLength: 4 }), (around, path) => {
      const placed = path.reduceRight<JsonValue>(
        (inner, name) => ({ [name]: inner, around: around as JsonValue }),
        secret,
      );
      const pointer = path.map((name) => `/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
      const { body, minted } = takeMinted(placed, [pointer], said);
      if (minted.length === 1) assert.ok(!JSON.stringify(body).includes(secret));
      else assert.ok(path.includes("around") || path.includes("__proto__"));
    }),
  );
});
