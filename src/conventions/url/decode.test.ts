import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { decodePath, decodeSegment } from "./decode.ts";
import { climbs, encodeComponent, encodeFormComponent, hasControl } from "./encode.ts";

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Denied) return error.code;
    throw error;
  }
  return "accepted";
}

describe("percent escapes are decoded once, at a defined boundary", () => {
  test("segments are split before they are decoded, so an escaped slash stays inside its segment", () => {
    assert.deepEqual(decodePath("/projects/a%2Fb/builds"), ["projects", "a/b", "builds"]);
  });

  test("a doubly encoded slash is the text %2F and is not decoded again", () => {
    assert.deepEqual(decodePath("/projects/a%252Fb"), ["projects", "a%2Fb"]);
  });

  test("a plus is a plus in a path", () => assert.deepEqual(decodePath("/a+b"), ["a+b"]));

  test("what stands right beside the control characters is text", () =>
    assert.deepEqual(decodePath("/%20/~/%C2%A0"), [" ", "~", "\u00a0"]));

  test("the root has no segments", () => assert.deepEqual(decodePath("/"), []));

  const refused: readonly [string, string][] = [
    ["", "percent_malformed"],
    ["a/b", "percent_malformed"],
    ["/a b", "percent_malformed"],
    ["/a\\b", "percent_malformed"],
    ["/a?b", "percent_malformed"],
    ["/a#b", "percent_malformed"],
    ["/é", "percent_malformed"],
    ["/%", "percent_malformed"],
    ["/%2", "percent_malformed"],
    ["/%zz", "percent_malformed"],
    ["/%C3", "percent_malformed"],
    ["/%C0%AF", "percent_malformed"],
    ["/%ED%A0%80", "percent_malformed"],
    ["/%FF", "percent_malformed"],
    ["//", "segment_refused"],
    ["/a//b", "segment_refused"],
    ["/a/", "segment_refused"],
    ["/a/../b", "segment_refused"],
    ["/a/%2e%2E/b", "segment_refused"],
    ["/a/.%2e", "segment_refused"],
    ["/a/%2e", "segment_refused"],
    ["/a/x%2F..%2Fb", "segment_refused"],
    ["/a/..%5Cb", "segment_refused"],
    ["/a/%00", "text_malformed"],
    ["/a/%0D%0AX:%201", "text_malformed"],
    ["/a/%1F", "text_malformed"],
    ["/a/%7F", "text_malformed"],
    ["/a/%C2%85", "text_malformed"],
    ["/a/%C2%9F", "text_malformed"],
  ];
  for (const [path, code] of refused) {
    test(`${JSON.stringify(path)} is refused`, () =>
      assert.equal(
        codeOf(() => decodePath(path)),
        code,
      ));
  }

  test("what was encoded once comes back as it was, or is refused for what it is", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", minLength: 1 }), (text) => {
        const raw = encodeComponent(text);
        assert.match(raw, /^(?:[A-Za-z0-9\-._~]|%[0-9A-F]{2})+$/);
        if (climbs(text))
          assert.equal(
            codeOf(() => decodeSegment(raw)),
            "segment_refused",
          );
        else if (hasControl(text))
          assert.equal(
            codeOf(() => decodeSegment(raw)),
            "text_malformed",
          );
        else assert.equal(decodeSegment(raw), text);
        assert.equal(new URLSearchParams(`x=${encodeFormComponent(text)}`).get("x"), text);
      }),
    );
  });
});
