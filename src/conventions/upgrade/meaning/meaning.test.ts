import assert from "node:assert/strict";
import { test } from "node:test";
import { readDocument } from "../document/read-document.ts";
import type { Api } from "../model/api.ts";
import { buildApi } from "../model/build-api.ts";
import { isWiderBound } from "../model/keywords.ts";
import { classifyApi } from "./classify-api.ts";
import { reachOfCredential, readHoldings } from "./credential-reach.ts";
import type { MeantEffect } from "./effect.ts";
import { choosesResources, isPaging, qualifiedName, steeringOf } from "./steering.ts";
import { indexTakers, traceFlows } from "./trace-flows.ts";
import { isWiderDefault } from "./widen.ts";
import { singular, splitWords, withoutVersion } from "./words.ts";

function api(paths: object, more: object = {}): Api {
  const document = {
    openapi: "3.1.0",
    info: { title: "T", version: "1" },
    components: {
      securitySchemes: {
        key: { type: "apiKey", in: "header", name: "K" },
        oauth: { type: "oauth2", flows: { password: { tokenUrl: "https://a.example", scopes: {} } } },
      },
    },
    paths,
    ...more,
  };
  return buildApi(readDocument("a.json", Buffer.from(JSON.stringify(document))));
}

const json = (schema: object): object => ({ description: "ok", content: { "application/json": { schema } } });

/** What a call does, whatever its verb says. */
const effects: readonly (readonly [route: string, operation: object, effect: MeantEffect, confidence: RegExp])[] = [
  ["get /users", { operationId: "listUsers" }, "read", /^clear/],
  ["get /messages/send", { operationId: "sendMessage" }, "send", /^likely|^contradictory/],
  ["get /users/{id}/delete", { summary: "Deletes a user" }, "delete", /^likely|^contradictory/],
  ["post /users/search", { operationId: "searchUsers" }, "read", /^clear/],
  [
    "post /reports/query",
    {
      requestBody: {
        content: { "application/json": { schema: { type: "object", properties: { filter: {}, limit: {} } } } },
      },
      responses: { "200": json({ type: "array", items: {} }) },
    },
    "read",
    /^clear/,
  ],
  ["post /users", { operationId: "createUser", responses: { "201": { description: "made" } } }, "create", /^clear/],
  ["post /users", {}, "create", /^unsure/],
  ["put /users/{id}", { operationId: "updateUser" }, "write", /^clear/],
  ["delete /users/{id}", {}, "delete", /^unsure/],
  ["delete /users/{id}", { operationId: "deleteUser" }, "delete", /^clear/],
  ["post /orders/{id}/refund", { operationId: "refundOrder" }, "purchase", /^clear/],
  ["post /checkout", { summary: "Buys what is in the cart" }, "purchase", /^clear/],
  ["post /invitations", { operationId: "inviteUser" }, "send", /^likely/],
  ["post /projects/{id}/members", { operationId: "addMember" }, "grant", /./],
  ["patch /roles/{id}", { operationId: "updateRole" }, "grant", /./],
  ["get /roles/{id}", { operationId: "getRole" }, "read", /^clear/],
  [
    "post /oauth/token",
    { responses: { "200": json({ type: "object", properties: { access_token: { type: "string" } } }) } },
    "mint",
    /^clear/,
  ],
  [
    "get /session/token",
    {
      operationId: "getToken",
      responses: { "200": json({ type: "object", properties: { token: { type: "string" } } }) },
    },
    "mint",
    /^contradictory/,
  ],
  ["post /plans/preview", { operationId: "previewPlan" }, "preview", /^clear/],
  ["get /invoice", { operationId: "getInvoice" }, "read", /^clear|^likely/],
  ["post /post-users-search", { operationId: "post-post-users-search" }, "send", /./],
];

for (const [route, operation, effect, confidence] of effects) {
  test(`effect is what it does, not its verb: ${route} ${JSON.stringify(operation).slice(0, 60)} is ${effect}`, () => {
    const [method = "", path = ""] = route.split(" ");
    const built = api({ [path]: { [method]: { responses: { "200": { description: "ok" } }, ...operation } } });
    const verdict = [...classifyApi(built).values()][0];
    assert.equal(verdict?.effect, effect, JSON.stringify(verdict));
    assert.match(verdict?.confidence ?? "", confidence);
  });
}

test("a verdict says what it stands on, and when the method hides it", () => {
  const built = api({
    "/mail/send": { get: { operationId: "sendMail", responses: { "200": { description: "ok" } } } },
  });
  const verdict = [...classifyApi(built).values()][0];
  assert.deepEqual(verdict?.evidence, [
    "the method GET usually means read",
    "its name sendMail begins with a word for send",
    "its path ends in send, a word for send",
  ]);
  assert.equal(verdict?.disguised, true);
});

test("an existing credential reaches a new operation when it holds the scheme and the scopes", () => {
  const ok = { responses: { "200": { description: "ok" } } };
  const old = api({ "/a": { get: { security: [{ oauth: ["r"] }], ...ok } } });
  const next = api({
    "/open": { get: { security: [], ...ok } },
    "/anyone": { get: { security: [{ key: [] }, {}], ...ok } },
    "/same": { get: { security: [{ oauth: ["r"] }], ...ok } },
    "/less": { get: { security: [{ oauth: [] }], ...ok } },
    "/more": { get: { security: [{ oauth: ["r", "admin"] }], ...ok } },
    "/key": { get: { security: [{ key: [] }], ...ok } },
    "/both": { get: { security: [{ key: [], oauth: ["r"] }], ...ok } },
  });
  const holdings = readHoldings(old, old.operations, ["acme"]);
  const kinds = Object.fromEntries(
    next.operations.map((one) => [one.path, reachOfCredential(next, one, holdings).kind]),
  );
  assert.deepEqual(kinds, {
    "/anyone": "open",
    "/both": "other_scheme",
    "/key": "other_scheme",
    "/less": "accepted",
    "/more": "scopes_needed",
    "/open": "open",
    "/same": "accepted",
  });
  const more = next.operations.find(({ path }) => path === "/more");
  assert.ok(more !== undefined);
  assert.match(reachOfCredential(next, more, holdings).says, /admin/);
  assert.deepEqual(reachOfCredential(next, more, holdings).labels, ["acme"]);
});

test("a scheme under another name still takes the same key", () => {
  const ok = { responses: { "200": { description: "ok" } } };
  const old = api({ "/a": { get: { security: [{ key: [] }], ...ok } } });
  const next = api(
    { "/b": { get: { security: [{ apikey: [] }], ...ok } } },
    { components: { securitySchemes: { apikey: { type: "apiKey", in: "header", name: "k" } } } },
  );
  const [operation] = next.operations;
  assert.ok(operation !== undefined);
  assert.equal(reachOfCredential(next, operation, readHoldings(old, old.operations, [])).kind, "accepted");
});

test("identifiers, URLs and tokens are traced from where they leave to where they are taken", () => {
  const id = (name: string): object => ({ name, in: "path", required: true, schema: { type: "string" } });
  const built = api(
    {
      "/vaults": {
        get: {
          responses: {
            "200": json({
              type: "object",
              properties: { data: { type: "array", items: { $ref: "#/components/schemas/Vault" } } },
            }),
          },
        },
      },
      "/vaults/{vaultId}": {
        get: { parameters: [id("vaultId")], responses: { "200": json({ $ref: "#/components/schemas/Vault" }) } },
      },
      "/vaults/{vault_id}/open": {
        post: {
          parameters: [id("vault_id")],
          responses: {
            "200": json({
              type: "object",
              properties: { session_token: { type: "string" }, upload_url: { type: "string" } },
            }),
          },
        },
      },
      "/uploads": {
        post: {
          requestBody: {
            content: {
              "application/json": { schema: { type: "object", properties: { upload_url: { type: "string" } } } },
            },
          },
          responses: { "200": { description: "ok" } },
        },
      },
    },
    {
      components: {
        schemas: { Vault: { type: "object", properties: { id: { type: "string" }, name: { type: "string" } } } },
      },
    },
  );
  const takers = indexTakers(built);
  const flowsOf = (key: string): unknown => {
    const operation = built.operations.find((one) => one.key === key);
    assert.ok(operation !== undefined);
    return traceFlows(built, operation, takers).map(({ field, steering, takenBy }) => [field, steering, takenBy]);
  };
  assert.deepEqual(flowsOf("GET /vaults"), [
    ["data[].id", "identifier", ["GET /vaults/{vaultId}", "POST /vaults/{vault_id}/open"]],
  ]);
  // The caller had to know the id already.
  assert.deepEqual(flowsOf("GET /vaults/{vaultId}"), []);
  assert.deepEqual(flowsOf("POST /vaults/{vault_id}/open"), [
    ["upload_url", "url", ["POST /uploads"]],
    ["session_token", "token", []],
  ]);
});

test("a field's name and type say what it steers", () => {
  const of = (name: string, type = "string", format: string | null = null): string =>
    steeringOf(name, { types: [type], format });
  assert.deepEqual(
    [
      "id",
      "siteId",
      "access_token",
      "api_key",
      "is_secret",
      "token_type",
      "next_cursor",
      "role",
      "permissions",
      "href",
      "colour",
      "connectionString",
      "keyboard",
    ].map((name) => of(name)),
    [
      "identifier",
      "identifier",
      "token",
      "token",
      "none",
      "none",
      "cursor",
      "role",
      "role",
      "url",
      "none",
      "token",
      "none",
    ],
  );
  assert.equal(of("token", "integer"), "none");
  assert.equal(of("anything", "string", "uri"), "url");
  assert.equal(of("anything", "string", "uuid"), "identifier");
});

test("an id is qualified by what holds it, so that one thing has one name", () => {
  assert.equal(qualifiedName("id", "sites"), "site_id");
  assert.equal(qualifiedName("siteId", "anything"), "site_id");
  assert.equal(qualifiedName("site_ids", ""), "site_id");
  assert.equal(qualifiedName("id", ""), "id");
  assert.equal(qualifiedName("url", "hooks"), "hook_url");
});

test("wider is said of defaults that take more when left out", () => {
  const cases: readonly (readonly [string, unknown, unknown, boolean])[] = [
    ["limit", 10, 100, true],
    ["limit", 100, 10, false],
    ["priority", 1, 9, false],
    ["max_depth", 1, 9, true],
    ["include_deleted", false, true, true],
    ["include_deleted", true, false, false],
    ["dry_run", false, true, false],
    ["scope", "own", "all", true],
    ["scope", "all", "own", false],
    ["states", ["a"], ["a", "b"], true],
    ["states", ["a", "b"], ["a"], false],
    ["state", "active", null, true],
    ["visibility", null, "public", true],
    ["colour", "red", "blue", false],
  ];
  for (const [name, before, after, wider] of cases) {
    const text = (value: unknown): string | null => (value === null ? null : JSON.stringify(value));
    assert.equal(isWiderDefault(name, text(before), text(after)), wider, `${name} ${text(before)} ${text(after)}`);
  }
});

test("wider is said of bounds that moved outward or fell away", () => {
  assert.equal(isWiderBound("maximum", "1", "2"), true);
  assert.equal(isWiderBound("minimum", "1", "2"), false);
  assert.equal(isWiderBound("minLength", "5", "1"), true);
  assert.equal(isWiderBound("pattern", '"a"', undefined), true);
  assert.equal(isWiderBound("pattern", undefined, '"a"'), false);
  assert.equal(isWiderBound("pattern", '"a"', '"b"'), undefined);
});

test("words are found in every way of writing a name", () => {
  assert.deepEqual(splitWords("getHTTPServer_by-id2"), ["get", "http", "server", "by", "id2"]);
  assert.deepEqual(["sites", "policies", "boxes", "status", "class", "is", "buses"].map(singular), [
    "site",
    "policy",
    "box",
    "status",
    "class",
    "is",
    "buse",
  ]);
  assert.deepEqual(["/v2/a", "/api/v1/a", "/v2026-01-01/a", "/vault/a", "/v1"].map(withoutVersion), [
    "/a",
    "/a",
    "/a",
    "/vault/a",
    "/",
  ]);
});

test("paging and choosing parameters are known by their names", () => {
  assert.deepEqual(["limit", "pageSize", "next_cursor", "starting_after", "name"].map(isPaging), [
    true,
    true,
    true,
    true,
    false,
  ]);
  assert.deepEqual(["team_id", "tenant", "include_archived", "state", "colour"].map(choosesResources), [
    true,
    true,
    true,
    true,
    false,
  ]);
});
