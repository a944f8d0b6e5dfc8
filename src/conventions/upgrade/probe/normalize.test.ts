import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { ProbeExchange } from "./exchange.ts";
import { readGrant } from "./grant.ts";
import { createNames, type Facts, normalizeExchange, normalizeUrl, readLinkHeader } from "./normalize.ts";
import { fillValue, referencesIn, valueAt } from "./values.ts";

const version = { base: "https://api.example/v2", header: null };
const account = new Map([
  ["allowed_project", "prj_1"],
  ["other_tenant_record", "rec_9"],
]);

function facts(body: unknown, headers: Record<string, string> = {}, status = 200): Facts {
  return normalizeExchange(answered(body, headers, status), version, account, createNames(account));
}

function answered(body: unknown, headers: Record<string, string> = {}, status = 200): ProbeExchange {
  return {
    kind: "answered",
    status,
    headers,
    body: Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  };
}

test("times and request ids are normalized out, wherever they stand", () => {
  const one = facts(
    {
      updated_at: "2026-01-01T00:00:00Z",
      when: "2026-01-01",
      expires: 1_767_225_600,
      request_id: "a",
      trace_id: "b",
      nested: { correlation_id: "c" },
    },
    { "x-request-id": "r1" },
  );
  const two = facts(
    {
      updated_at: "2027-05-05T11:22:33.123+02:00",
      when: "2027-01-01",
      expires: 1_999_999_999,
      request_id: "x",
      trace_id: "y",
      nested: { correlation_id: "z" },
    },
    { "x-request-id": "r2" },
  );
  assert.deepEqual(one, two);
  assert.notDeepEqual(one, facts({}, {}));
});

test("identifiers are called what the account calls them, and others by first appearance", () => {
  assert.deepEqual(facts({ data: [{ id: "prj_1" }, { id: "new_a" }, { id: "new_b" }] }).lists.identifiers, [
    "data[].id <allowed_project>",
    "data[].id <id 1>",
    "data[].id <id 2>",
  ]);
  assert.deepEqual(
    facts({ data: [{ id: "prj_1" }, { id: "zzz" }, { id: "yyy" }] }),
    facts({ data: [{ id: "prj_1" }, { id: "new_a" }, { id: "new_b" }] }),
  );
});

test("a value of the account is noticed in whatever field it hides", () => {
  assert.deepEqual(facts({ label: "rec_9" }).named, ["other_tenant_record"]);
  assert.deepEqual(facts({ label: "rec_8" }).named, []);
});

test("a value of the account is noticed within a text, as a member's name, and in an answer that is no JSON", () => {
  const named = (body: unknown): readonly string[] =>
    normalizeExchange(answered(body), version, tenants, createNames(tenants)).named;
  const tenants = new Map([
    ["other_tenant_record", "rec_tenant"],
    ["forbidden_project", "42"],
  ]);
  assert.deepEqual(named({ path: "/records/rec_tenant/files" }), ["other_tenant_record"]);
  assert.deepEqual(named({ note: "moved to rec_tenant." }), ["other_tenant_record"]);
  assert.deepEqual(named({ records: { rec_tenant: { name: "Theirs" } } }), ["other_tenant_record"]);
  assert.deepEqual(named("id,name\nrec_mine,Mine\nrec_tenant,Theirs\n"), ["other_tenant_record"]);
  // Part of another word, and what is too short to say anything.
  assert.deepEqual(named({ note: "rec_tenant2, xrec_tenant", n: "page 42 of 42" }), []);
  assert.deepEqual(named({ n: 42 }), ["forbidden_project"]);
});

test("whose records a link asks for is compared, and times in it are not", () => {
  const names = createNames(account);
  const link = (query: string): string => normalizeUrl(`https://api.example/v2/a?${query}`, version, names);
  assert.equal(link("project_id=prj_1&page_token=abc"), "<base>/a?page_token=…&project_id=<allowed_project>");
  assert.notEqual(link("project_id=prj_1"), link("project_id=prj_2"));
  assert.equal(
    link("record_id=prj_1&record_id=rec_9"),
    "<base>/a?record_id=<allowed_project>&record_id=<other_tenant_record>",
  );
  assert.equal(link("callback=https%3A%2F%2Fevil.example%2Fa"), "<base>/a?callback=https://evil.example/a");
  assert.equal(link("expires=1767225600&role=admin"), "<base>/a?expires=…&role=admin");
});

test("tokens leave only the trace that there was one", () => {
  const found = facts({ access_token: "abc.def.ghi", password: "hunter2" });
  assert.deepEqual(found.lists.steering, ["access_token <token>", "password <token>"]);
  assert.ok(!JSON.stringify(found).includes("hunter2"));
});

test("roles, error codes, cursors and links are kept", () => {
  const found = facts(
    {
      error: "insufficient_scope",
      role: "viewer",
      next_cursor: "opaque",
      next_url: "https://api.example/v2/a?cursor=xyz&state=all",
    },
    { location: "/v2/jobs/job_123456", "www-authenticate": "Bearer" },
    403,
  );
  assert.deepEqual(found.lists.errors, ["error insufficient_scope"]);
  assert.deepEqual(found.lists.roles, ["role viewer"]);
  assert.deepEqual(found.lists.links, [
    "location <base>/jobs/<id 1>",
    "next_cursor <cursor>",
    "next_url <base>/a?cursor=…&state=all",
  ]);
  assert.deepEqual(found.lists.headers, ["www-authenticate Bearer", "x-request-id absent"]);
});

test("a URL on another origin keeps its origin: a link there leads away", () => {
  const names = createNames(new Map());
  assert.equal(normalizeUrl("https://evil.example/v2/a", version, names), "https://evil.example/v2/a");
  assert.equal(normalizeUrl("https://api.example/v2/a", version, names), "<base>/a");
  assert.equal(normalizeUrl("https://api.example/other", version, names), "https://api.example/other");
  assert.equal(normalizeUrl("http://[", version, names), "not a URL");
  assert.equal(
    normalizeUrl("/v2/a", version, names),
    normalizeUrl("/v3/a", { ...version, base: "https://api.example/v3" }, names),
  );
});

test("a Link header is read by its relations, and odd ones are passed over", () => {
  assert.deepEqual(readLinkHeader('<https://a.example/1,2>; rel="next", </b>; rel=prev; title="x", nonsense, <c>'), [
    { rel: "next", url: "https://a.example/1,2" },
    { rel: "prev", url: "/b" },
  ]);
});

test("whatever an answer holds, normalizing it ends in facts", () => {
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.string()), fc.string(), (body, link) => {
      const found = facts(typeof body === "string" ? body : JSON.stringify(body), { link, location: link });
      assert.equal(found.status, 200);
    }),
  );
});

test("no answer has no status, and says why", () => {
  const silent = normalizeExchange({ kind: "unanswered", reason: "timeout" }, version, account, createNames(account));
  assert.deepEqual([silent.status, silent.outcome], [null, "unanswered: timeout"]);
});

test("what a refreshed token may do is read from the answer or from the token, and the token is dropped", () => {
  const jwt = `e30.${Buffer.from(JSON.stringify({ aud: ["b", "a"], scp: ["x", "w"] })).toString("base64url")}.s`;
  assert.deepEqual(readGrant(answered({ access_token: jwt })), { scopes: ["w", "x"], audience: ["a", "b"] });
  assert.deepEqual(readGrant(answered({ access_token: "opaque", scope: "b a" })), {
    scopes: ["a", "b"],
    audience: null,
  });
  // An answer may say less than the token in it.
  assert.deepEqual(readGrant(answered({ access_token: jwt, scope: "x", audience: "a" })), {
    scopes: ["w", "x"],
    audience: ["a", "b"],
  });
  assert.deepEqual(readGrant(answered({ scope: [{}, "a"], audience: [["b"]] })), {
    scopes: ["a", "{}"],
    audience: ['["b"]'],
  });
  assert.deepEqual(readGrant(answered({ access_token: "a.!!.b" })), { scopes: null, audience: null });
  assert.equal(readGrant(answered({}, {}, 401)), null);
  assert.equal(readGrant(answered("[]")), null);
});

test("names are filled in everywhere, and a missing one leaves the request unsent", () => {
  const values = new Map([["a", "1"]]);
  assert.deepEqual(
    JSON.stringify(fillValue({ x: "$a", y: ["$a", "$$a", "plain", 7, null] }, values)),
    '{"x":"1","y":["1","$a","plain",7,null]}',
  );
  assert.equal(fillValue({ x: ["$b"] }, values), undefined);
  assert.deepEqual(referencesIn({ x: "$a", y: ["$b", "$$c", "$D"], z: 1 }), ["a", "b"]);
});

test("a pointer into an answer reaches members and items, and nothing inherited", () => {
  const body = { a: [{ "b/c": "x" }], n: 7 };
  assert.equal(valueAt(body, "/a/0/b~1c"), "x");
  assert.equal(valueAt(body, "/n"), "7");
  assert.equal(valueAt(body, "/constructor/name"), undefined);
  assert.equal(valueAt(undefined, "/a"), undefined);
});
