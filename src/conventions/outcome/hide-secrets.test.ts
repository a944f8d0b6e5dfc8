import assert from "node:assert/strict";
import { test } from "node:test";
import { hideSecrets } from "./hide-secrets.ts";

const answer = (headers: Record<string, string>, body: unknown) => ({
  headers,
  body: Buffer.from(JSON.stringify(body)),
});

test("of two secrets, one of which holds the other, nothing stays", () => {
  const token = "cap-0123456789.c2lnbmF0dXJl";
  const { headers, body, withheld } = hideSecrets(
    answer({ location: `/undo?t=${token}` }, { a: token, b: "cap-0123456789", c: "cap" }),
    ["cap-0123456789", token],
  );
  assert.equal(withheld, false);
  assert.deepEqual(headers, { location: "/undo?t=[credential]" });
  assert.deepEqual(JSON.parse(body.toString()), { a: "[credential]", b: "[credential]", c: "cap" });
});

test("of two secrets that overlap nothing stays, in whatever order they are given", () => {
  const texts = ["tok-abcdef012345", "012345-ghijklmnop"];
  for (const order of [texts, texts.toReversed()]) {
    const { headers, body } = hideSecrets(
      answer({ location: "/?t=tok-abcdef012345-ghijklmnop" }, { a: "x tok-abcdef012345-ghijklmnop y" }),
      order,
    );
    assert.deepEqual(headers, { location: "/?t=[credential]" });
    assert.deepEqual(JSON.parse(body.toString()), { a: "x [credential] y" });
  }
});

test("what cannot be taken out of JSON, or stands there too often, is withheld with the rest", () => {
  const number = hideSecrets({ headers: { a: "4111222233334444" }, body: Buffer.from('{"n":4111222233334444}') }, [
    "4111222233334444",
  ]);
  assert.deepEqual([number.withheld, number.body.byteLength, number.headers], [true, 0, { a: "[credential]" }]);
  const often = hideSecrets(
    answer(
      { b: "clean" },
      Array.from({ length: 10_001 }, () => "cap-0123456789"),
    ),
    ["cap-0123456789"],
  );
  assert.deepEqual([often.withheld, often.body.byteLength, often.headers], [true, 0, { b: "clean" }]);
});

test("where one is withheld, the fields are searched for the others all the same", () => {
  const many = Array.from({ length: 10_001 }, () => "cap-0123456789.abc");
  const fields = { b: "tok-012345", c: "clean" };
  const { withheld, headers } = hideSecrets(answer(fields, many), ["tok-012345", "cap-0123456789.abc"]);
  assert.deepEqual([withheld, headers], [true, { c: "clean" }]);
});
