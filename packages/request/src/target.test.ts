import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTemplate } from "../../../src/conventions/url/template.ts";
import { matchPath, readQuery, splitTarget } from "./target.ts";

function params(template: string, path: string): unknown {
  const matched = matchPath(parseTemplate(template), path);
  return matched === undefined ? undefined : Object.fromEntries(matched.params);
}

test("a target is a path and at most one query", () => {
  assert.deepEqual(splitTarget("/a"), { path: "/a", query: undefined });
  assert.deepEqual(splitTarget("/a?"), { path: "/a", query: "" });
  assert.deepEqual(splitTarget("/a?b=?c"), { path: "/a", query: "b=?c" });
  for (const target of ["", "*", "a", "http://host/a", "/a#b", "/a?b#c"]) {
    assert.throws(() => splitTarget(target), { code: "query_malformed" }, target);
  }
});

test("literal segments match as they are written and parameters match one whole segment", () => {
  assert.deepEqual(params("/v1/a", "/v1/a"), {});
  assert.deepEqual(params("/v1/{x}/b/{y}", "/v1/1/b/2"), { x: ["1"], y: ["2"] });
  for (const path of ["/v1", "/v1/a/", "/v1/a/b", "/V1/a", "/v1/%61", "//v1/a", "/"]) {
    assert.equal(params("/v1/a", path), undefined, path);
  }
  assert.equal(params("/v1/{x}", "/v1/a/b"), undefined);
  assert.deepEqual(params("/", "/"), {});
  assert.deepEqual(params("/a/", "/a/"), {});
  assert.equal(params("/a/", "/a"), undefined);
});

test("a parameter is decoded once, after the path was split", () => {
  assert.deepEqual(params("/{x}", "/a%2Fb"), { x: ["a/b"] });
  assert.deepEqual(params("/{x}", "/a%252Fb"), { x: ["a%2Fb"] });
  assert.deepEqual(params("/{x}", "/a+b"), { x: ["a+b"] });
  assert.throws(() => params("/{x}", "/%2e%2e"), { code: "segment_refused" });
  assert.throws(() => params("/{x}/b", "//b"), { code: "segment_refused" });
  assert.throws(() => params("/{x}", "/%"), { code: "percent_malformed" });
  assert.throws(() => params("/{x}", "/é"), { code: "percent_malformed" });
});

test("a query is bounded before it is read", () => {
  assert.equal(readQuery(undefined, new Set()).size, 0);
  assert.equal(readQuery("", new Set()).size, 0);
  assert.throws(() => readQuery(`a=${"x".repeat(8200)}`, new Set()), { code: "query_malformed" });
});
