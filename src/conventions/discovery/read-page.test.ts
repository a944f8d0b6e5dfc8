import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import type { JsonValue } from "../../kernel/json.ts";
import { type PageContract, readPage } from "./read-page.ts";

const URL_ASKED = "https://api.acme.example/v1/projects?state=active&limit=50";
const cursors: PageContract = {
  items: "/data",
  emptyIf: null,
  continuation: { kind: "cursor", pointer: "/next_cursor" },
  cursorParam: "cursor",
};
const links: PageContract = { ...cursors, continuation: { kind: "link", path: null } };

const read = (body: JsonValue, link: string | null = null, contract = cursors) =>
  readPage({ url: URL_ASKED, body, link }, contract);
const nextOf = (target: string) => read({ data: [1] }, `<${target}>; rel="next"`, links);

test("a page is data and the cursor to the next one; absent and null both mean that the list is complete", () => {
  assert.deepEqual(read({ data: [1, 2], next_cursor: "c2" }), { kind: "page", records: [1, 2], cursor: "c2" });
  assert.deepEqual(read({ data: [], next_cursor: null }), { kind: "page", records: [], cursor: null });
  assert.deepEqual(read({ data: [] }), { kind: "page", records: [], cursor: null });
});

test("pointers reach deeper members, and names that need escaping", () => {
  const contract: PageContract = {
    items: "/result/a~1b",
    emptyIf: null,
    continuation: { kind: "cursor", pointer: "/meta/x~0y" },
    cursorParam: "c",
  };
  const body = { result: { "a/b": [7] }, meta: { "x~y": "z" } };
  assert.deepEqual(read(body, null, contract), { kind: "page", records: [7], cursor: "z" });
});

test("an answer without the list is a malformed page", () => {
  for (const body of [null, "text", 7, [], {}, { data: {} }, { data: "no" }, { data: null }] as JsonValue[]) {
    assert.deepEqual(read(body), { kind: "fault", fault: "page_malformed", records: null });
  }
  assert.equal(read({}, null, { ...cursors, items: "/constructor" }).kind, "fault");
});

test("a list that is left out is empty only where the definition says so and the answer is plainly a page", () => {
  const contract = { ...cursors, emptyIf: "/meta/total" };
  for (const body of [{}, { meta: { total: 0 } }, { meta: { total: null } }] as JsonValue[])
    assert.deepEqual(read(body, null, contract), { kind: "page", records: [], cursor: null });
  assert.equal(read({ meta: { total: 0 }, next_cursor: "c" }, null, contract).kind, "page");
  for (const body of [{ error: "no" }, { meta: {} }, { meta: { total: 0 }, data: null }, [], null, "x"] as JsonValue[])
    assert.deepEqual(read(body, null, contract), { kind: "fault", fault: "page_malformed", records: null });
});

test("a bare list is the answer itself, and anything else is no page", () => {
  const bare = { ...links, items: "" };
  assert.deepEqual(read([1, 2], null, bare), { kind: "page", records: [1, 2], cursor: null });
  assert.deepEqual(read([], '</v1/projects?cursor=2>; rel="next"', bare), { kind: "page", records: [], cursor: "2" });
  for (const body of [{}, { data: [1] }, null, "x"] as JsonValue[])
    assert.deepEqual(read(body, null, bare), { kind: "fault", fault: "page_malformed", records: null });
});

test("links under another path are read only where the definition names that path, each free segment exactly one", () => {
  const numbered = { ...links, continuation: { kind: "link", path: "/repositories/{id}/projects" } } as const;
  const next = (target: string) => read({ data: [1] }, `<${target}>; rel="next"`, numbered);
  for (const target of ["/repositories/77/projects?cursor=2", "/v1/projects?cursor=2"])
    assert.deepEqual(next(target), { kind: "page", records: [1], cursor: "2" });
  for (const target of [
    "/repositories//projects?cursor=2",
    "/repositories/77/88/projects?cursor=2",
    "/repositories/77/secrets?cursor=2",
    "/repositories/77/projects/?cursor=2",
    "https://other.example/repositories/77/projects?cursor=2",
  ])
    assert.deepEqual(next(target), { kind: "fault", fault: "continuation_foreign", records: [1] });
  const more = next("/repositories/77/projects?cursor=2&state=closed");
  assert.deepEqual(more, { kind: "fault", fault: "continuation_undocumented", records: [1] });
  assert.equal(nextOf("/repositories/77/projects?cursor=2").kind, "fault");
});

test("a cursor that is no usable text is a malformed continuation, and its page still counts", () => {
  for (const next_cursor of [7, true, "", {}, ["c"], "\ud800", "x".repeat(defaults.discoveryCursorCharacters + 1)]) {
    const body = { data: [1], next_cursor: next_cursor as JsonValue };
    assert.deepEqual(read(body), { kind: "fault", fault: "continuation_malformed", records: [1] });
  }
});

test("a list that ended in its body and goes on in a Link has an undocumented continuation", () => {
  const link = '</v1/projects?cursor=2>; rel="next"';
  assert.deepEqual(read({ data: [1] }, link), { kind: "fault", fault: "continuation_undocumented", records: [1] });
  assert.equal(read({ data: [1], next_cursor: "c" }, link).kind, "page");
  assert.equal(read({ data: [1] }, '</v1/projects>; rel="prev"').kind, "page");
});

test("only the cursor is taken from a next link, relative or absolute", () => {
  for (const target of [
    "/v1/projects?cursor=a%2Bb&limit=50&state=active",
    "https://api.acme.example/v1/projects?cursor=a%2Bb",
    "?cursor=a%2Bb",
    "https://API.acme.example:443/v1/./projects?cursor=a%2Bb#top",
  ]) {
    assert.deepEqual(nextOf(target), { kind: "page", records: [1], cursor: "a+b" }, target);
  }
  assert.deepEqual(read({ data: [1] }, null, links), { kind: "page", records: [1], cursor: null });
  assert.deepEqual(read({ data: [1] }, "</a>; rel=prev", links), { kind: "page", records: [1], cursor: null });
});

test("a next link to another origin or path is foreign", () => {
  for (const target of [
    "https://elsewhere.example/v1/projects?cursor=2",
    "http://api.acme.example/v1/projects?cursor=2",
    "https://api.acme.example:444/v1/projects?cursor=2",
    "//elsewhere.example/v1/projects?cursor=2",
    "https://api.acme.example@elsewhere.example/v1/projects?cursor=2",
    "https://user@api.acme.example/v1/projects?cursor=2",
    "/v1/secrets?cursor=2",
    "/v1/projects/?cursor=2",
    "/v1/projects/../secrets?cursor=2",
    "/v1/projects%2F..%2Fsecrets?cursor=2",
    "javascript:alert(1)?cursor=2",
  ]) {
    assert.deepEqual(nextOf(target), { kind: "fault", fault: "continuation_foreign", records: [1] }, target);
  }
});

test("a next link that asks for anything but the next page is undocumented", () => {
  for (const target of [
    "/v1/projects",
    "/v1/projects?page=2",
    "/v1/projects?cursor=1&cursor=2",
    "/v1/projects?cursor=1&state=archived",
    "/v1/projects?cursor=1&state=active&state=active",
    "/v1/projects?cursor=1&limit=1000",
    "/v1/projects?cursor=1&tenant=other",
  ]) {
    assert.deepEqual(nextOf(target), { kind: "fault", fault: "continuation_undocumented", records: [1] }, target);
  }
});

test("two different next links, an empty cursor and a broken header are malformed", () => {
  const two = "</v1/projects?cursor=1>; rel=next, </v1/projects?cursor=2>; rel=next";
  for (const link of [two, "</v1/projects?cursor=>; rel=next", "<http://[>; rel=next", "nonsense"]) {
    assert.deepEqual(read({ data: [] }, link, links), { kind: "fault", fault: "continuation_malformed", records: [] });
  }
  const twice = "</v1/projects?cursor=1>; rel=next, </v1/projects?cursor=1>; rel=next";
  assert.equal(read({ data: [] }, twice, links).kind, "page");
});

test("whatever a provider answers, what comes out is a page with a usable cursor, or a fault", () => {
  const body = fc.oneof(
    fc.jsonValue(),
    fc.record({ data: fc.array(fc.jsonValue()), next_cursor: fc.jsonValue() }, { requiredKeys: [] }),
  );
  fc.assert(
    fc.property(body, fc.option(fc.string()), fc.boolean(), (value, link, byLink) => {
      const reading = read(value as JsonValue, link, byLink ? links : cursors);
      if (reading.kind === "fault") return;
      assert.ok(Array.isArray(reading.records));
      assert.ok(reading.cursor === null || (reading.cursor.length > 0 && reading.cursor.isWellFormed()));
    }),
  );
});
