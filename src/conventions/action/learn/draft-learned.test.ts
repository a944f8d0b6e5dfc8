import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { reverse } from "../../reverse/reverse.ts";
import type { HttpAction } from "../pack.ts";
import { readPack } from "../read.ts";
import { draftLearned } from "./draft-learned.ts";
import type { RefusedRequest } from "./read-samples.ts";

const origin = "https://api.acme.example";

function sent(method: string, target: string, body: unknown = null, contentType = "application/json"): RefusedRequest {
  const text = body === null ? null : typeof body === "string" ? body : JSON.stringify(body);
  const bodyBytes = text === null ? 0 : Buffer.byteLength(text);
  return {
    origin,
    method,
    target,
    accept: "*/*",
    contentType: text === null ? null : contentType,
    body: text,
    bodyBytes,
  };
}

function draft(requests: readonly RefusedRequest[]) {
  const [learned] = draftLearned(requests);
  assert.ok(learned !== undefined);
  const { pack, findings } = readPack(Buffer.from(learned.text), "draft.yaml");
  assert.ok(pack !== null && findings.every(({ severity }) => severity !== "error"), JSON.stringify(findings));
  return { ...learned, pack, actions: [...pack.actions.values()] as HttpAction[] };
}

function isSaid(pack: ReturnType<typeof draft>["pack"], request: RefusedRequest): boolean {
  const { method, target, body, accept, contentType } = request;
  const headers = [
    ["accept", accept] as const,
    ...(contentType === null ? [] : [["content-type", contentType] as const]),
  ];
  const bytes = body === null ? null : Buffer.from(body);
  return reverse([pack], { origin, method, target, headers: headers as never, body: bytes }, "x").kind === "action";
}

test("what varied is a typed input, what is not a GET asks each time, and the draft says what it was made from", () => {
  const requests = [
    sent("GET", "/v1/users/17/posts?limit=5"),
    sent("GET", "/v1/users/99/posts?limit=7&deep=true"),
    sent("POST", "/v1/posts", { title: "One", tags: ["a"], draft: false }),
    sent("POST", "/v1/posts", { title: "Two", tags: [], draft: true, at: null }),
  ];
  const { pack, actions } = draft(requests);
  const [get, post] = actions;
  assert.deepEqual([get?.template.text, get?.effect], ["/v1/users/{user_id}/posts", "read"]);
  const fields = get?.inputs.map(({ name, optional, schema }) => [name, optional, schema.type]);
  assert.deepEqual(fields, [
    ["user_id", false, "integer"],
    ["limit", false, "integer"],
    ["deep", true, "boolean"],
  ]);
  assert.deepEqual([post?.effect, post?.needs.approval], ["write", "each_use"]);
  for (const request of requests) assert.ok(isSaid(pack, request), request.target);
  assert.equal(isSaid(pack, sent("POST", "/v1/posts", { title: "x", tags: [], draft: true, admin: true })), false);
});

test("two words at one place stay two actions, and no value of a body stands in the draft", () => {
  const { actions, text } = draft([
    sent("POST", "/v1/posts", { title: "hunter2", password: "hunter2" }),
    sent("POST", "/v1/users", { name: "hunter2" }),
  ]);
  assert.deepEqual(actions.map(({ template }) => template.text).sort(), ["/v1/posts", "/v1/users"]);
  assert.equal(text.includes("hunter2"), false);
  assert.equal(actions[0]?.inputs.find(({ name }) => name === "password")?.sensitive, true);
});

test("a GraphQL document is a constant with typed variables, and a mutation asks each time", () => {
  const query = "query Posts($first: Int!, $after: String) {\n  posts(first: $first, after: $after) { id }\n}";
  const mutation = "mutation Post($input: PostInput!) { post(input: $input) { id } }";
  const requests = [
    sent("POST", "/graphql", { query, variables: { first: 5, after: null } }),
    sent("POST", "/graphql", { query: query.replaceAll(/\s+/g, " "), variables: { first: 7, after: "x" } }),
    sent("POST", "/graphql", { query: mutation, variables: { input: { title: "x" } } }),
  ];
  const { pack, actions } = draft(requests);
  assert.deepEqual(
    actions.map(({ name, effect }) => [name, effect]),
    [
      ["posts", "read"],
      ["post", "write"],
    ],
  );
  for (const request of requests) assert.ok(isSaid(pack, request));
});

test("a body that is no JSON and no form is sent on as it is, under its own media type", () => {
  const { pack, actions } = draft([sent("PUT", "/v1/files/17", "any bytes", "text/csv; charset=utf-8")]);
  assert.deepEqual([actions[0]?.body, actions[0]?.mediaType, actions[0]?.effect], ["opaque", "text/csv", "write"]);
  assert.ok(isSaid(pack, sent("PUT", "/v1/files/18", "other bytes", "text/csv")));
  assert.ok(!isSaid(pack, sent("PUT", "/v1/files/18", "other bytes", "text/html")));
});

test("any requests make a draft that lints, or none", () => {
  const part = fc.stringMatching(/^[A-Za-z0-9._~@-]{1,12}$/).filter((text) => !/^\.+$/.test(text));
  const targets = fc.tuple(
    fc.array(part, { maxLength: 4 }),
    fc.dictionary(part, fc.string({ maxLength: 9 }), { maxKeys: 3 }),
  );
  const requests = fc.record({
    method: fc.constantFrom("GET", "POST", "PUT", "DELETE", "OPTIONS"),
    target: targets.map(([path, query]) => `/${path.join("/")}?${new URLSearchParams(query)}`.replace(/\?$/, "")),
    body: fc.option(fc.oneof(fc.json({ maxDepth: 3 }), fc.string())),
    contentType: fc.constantFrom("application/json", "application/x-www-form-urlencoded", "text/plain"),
  });
  fc.assert(
    fc.property(fc.array(requests, { minLength: 1, maxLength: 6 }), (all) => {
      const list = all.map(({ method, target, body, contentType }) => sent(method, target, body, contentType));
      for (const { text } of draftLearned(list)) {
        const { findings } = readPack(Buffer.from(text), "draft.yaml");
        assert.deepEqual(
          findings.filter(({ severity }) => severity === "error"),
          [],
        );
      }
    }),
    { numRuns: runsOf(150) },
  );
});
