import assert from "node:assert/strict";
import { test } from "node:test";
import {
  acme,
  acmePack,
  all,
  brief,
  drop,
  type Loose,
  move,
  push,
  put,
  reviewChange,
  reviewOf,
} from "./upgrade-acme.ts";

const SCOPES = "components > securitySchemes > oauth > flows > clientCredentials > scopes";
const BODY = "paths > /projects > post > requestBody > content > application/json > schema";

/** One planted change, and all that a review may say about it. */
const planted: readonly (readonly [name: string, change: (document: Loose) => void, expected: readonly string[]])[] = [
  [
    "drop a security requirement of one operation",
    put("paths > /projects/{project_id} > delete > security", []),
    ["credential_acceptance security_removed widens DELETE /projects/{project_id}|security"],
  ],
  [
    "let one operation be called without a credential as well",
    push("paths > /projects > post > security", {}),
    ["credential_acceptance security_removed widens POST /projects|security"],
  ],
  [
    "drop the requirement of the whole document",
    drop("security"),
    [
      "credential_acceptance security_undeclared widens GET /jobs/{job_id}|security",
      "credential_acceptance security_undeclared widens GET /projects/{project_id}|security",
      "credential_acceptance security_undeclared widens GET /projects|security",
    ],
  ],
  [
    "accept a second scheme",
    push("paths > /projects > post > security", { key: [] }),
    ["credential_acceptance security_weakened widens POST /projects|security"],
  ],
  [
    "drop one scheme of two that were needed together",
    put("paths > /projects/{project_id}/members > post > security", [{ oauth: ["members:write"] }]),
    ["credential_acceptance security_weakened widens POST /projects/{project_id}/members|security"],
  ],
  [
    "drop a required scope",
    put("paths > /projects > post > security", [{ oauth: [] }]),
    ["credential_acceptance security_weakened widens POST /projects|security"],
  ],
  [
    "add a required scope",
    put("paths > /projects > post > security", [{ oauth: ["projects:write", "members:write"] }]),
    ["credential_acceptance security_strengthened narrows POST /projects|security"],
  ],
  [
    "ask for another scope",
    put("paths > /projects > post > security", [{ oauth: ["members:write"] }]),
    ["credential_acceptance security_changed shifts POST /projects|security"],
  ],
  [
    "need a credential where none was needed",
    put("paths > /health > get > security", [{ key: [] }]),
    ["credential_acceptance security_gained narrows GET /health|security"],
  ],
  [
    "offer a new scope",
    put(`${SCOPES} > admin:all`, ""),
    ["credential_acceptance scope_added widens scheme oauth|scope admin:all"],
  ],
  [
    "withdraw an offered scope",
    drop(`${SCOPES} > spare`),
    ["credential_acceptance scope_removed shifts scheme oauth|scope spare"],
  ],
  [
    "rename an offered scope",
    move(`${SCOPES} > spare`, `${SCOPES} > spare:v2`),
    ["credential_acceptance scope_renamed shifts scheme oauth|scopes"],
  ],
  [
    "rename a scheme",
    all(
      move("components > securitySchemes > key", "components > securitySchemes > apikey"),
      put("paths > /projects/{project_id} > delete > security", [{ oauth: ["projects:write"] }, { apikey: [] }]),
      put("paths > /projects/{project_id}/members > post > security", [{ oauth: ["members:write"], apikey: [] }]),
    ),
    ["credential_acceptance scheme_renamed shifts scheme key|"],
  ],
  [
    "add a scheme",
    put("components > securitySchemes > session", { type: "apiKey", in: "cookie", name: "sid" }),
    ["credential_acceptance scheme_added widens scheme session|"],
  ],
  [
    "remove an unused scheme",
    drop("components > securitySchemes > spare"),
    ["credential_acceptance scheme_removed narrows scheme spare|"],
  ],
  [
    "ask for tokens at another address",
    put("components > securitySchemes > oauth > flows > clientCredentials > tokenUrl", "https://evil.example/token"),
    ["credential_acceptance token_endpoint_changed shifts scheme oauth|endpoints"],
  ],
  [
    "take the key in another header",
    put("components > securitySchemes > key > name", "X-Key"),
    ["credential_acceptance scheme_changed shifts scheme key|kind"],
  ],
  [
    "name another role in the text",
    put(
      "paths > /projects/{project_id}/members > post > description",
      "Adds a member.\n\nYour credential must have one of these roles:\n* Member admin\n* Owner\n* Viewer",
    ),
    ["credential_acceptance role_condition_changed widens POST /projects/{project_id}/members|described roles"],
  ],
  [
    "forget the 403",
    drop("paths > /projects > post > responses > 403"),
    ["credential_acceptance denial_removed widens POST /projects|answer 403"],
  ],
  [
    "write a 401 where none was",
    put("paths > /projects > post > responses > 401", { description: "no" }),
    ["credential_acceptance denial_added narrows POST /projects|answer 401"],
  ],
  [
    "write the 403 as 404",
    move("paths > /projects > post > responses > 403", "paths > /projects > post > responses > 404"),
    ["credential_acceptance possible_hiding shifts POST /projects|answers"],
  ],
  [
    "offer another host",
    push("servers", { url: "https://eu.acme.example/v1" }),
    ["credential_acceptance server_added widens API|servers https://eu.acme.example"],
  ],
  [
    "offer the same host without encryption",
    push("servers", { url: "http://api.acme.example/v1" }),
    ["credential_acceptance server_added widens API|servers http://api.acme.example"],
  ],
  [
    "offer a region as a server variable",
    push("servers", {
      url: "https://{region}.acme.example/v1",
      variables: { region: { default: "api", enum: ["api", "us"] } },
    }),
    ["credential_acceptance server_added widens API|servers https://us.acme.example"],
  ],
  [
    "change a server",
    put("servers", [{ url: "https://api.other.example/v1" }]),
    [
      "credential_acceptance server_added widens API|servers https://api.other.example",
      "credential_acceptance server_removed narrows API|servers https://api.acme.example",
    ],
  ],
  [
    "change the base path",
    put("servers", [{ url: "https://api.acme.example/v2" }]),
    ["request_compatibility base_path_changed shifts API|servers https://api.acme.example"],
  ],
  [
    "send one operation to another host",
    put("paths > /projects > get > servers", [{ url: "https://search.acme.example" }]),
    [
      "credential_acceptance server_added widens GET /projects|servers https://search.acme.example",
      "credential_acceptance server_removed narrows GET /projects|servers https://api.acme.example",
    ],
  ],
  [
    "widen a default",
    put("paths > /projects > get > parameters > 0 > schema > default", "all"),
    ["resource_reach default_widened widens GET /projects|query state"],
  ],
  [
    "change a default",
    put("paths > /projects > get > parameters > 0 > schema > default", "archived"),
    ["resource_reach default_changed shifts GET /projects|query state"],
  ],
  [
    "raise the page size that is used by default",
    put("paths > /projects > get > parameters > 1 > schema > default", 100),
    ["resource_reach default_widened widens GET /projects|query limit"],
  ],
  [
    "lower the page size that is used by default",
    put("paths > /projects > get > parameters > 1 > schema > default", 10),
    ["resource_reach default_changed shifts GET /projects|query limit"],
  ],
  [
    "widen a default of an acting operation",
    put(`${BODY} > properties > notify > default`, true),
    ["action_reach default_widened widens POST /projects|body.notify"],
  ],
  [
    "drop a default",
    drop("paths > /projects > get > parameters > 0 > schema > default"),
    ["resource_reach default_widened widens GET /projects|query state"],
  ],
  [
    "raise a bound",
    put("paths > /projects > get > parameters > 1 > schema > maximum", 1_000),
    ["resource_reach bound_widened widens GET /projects|query limit maximum"],
  ],
  [
    "lower a bound",
    put("paths > /projects > get > parameters > 1 > schema > maximum", 10),
    ["request_compatibility bound_narrowed narrows GET /projects|query limit maximum"],
  ],
  [
    "let a choosing parameter be left out",
    put("paths > /projects > get > parameters > 3 > required", false),
    ["resource_reach parameter_optional widens GET /projects|query team_id"],
  ],
  [
    "take a choosing parameter away",
    drop("paths > /projects > get > parameters > 3"),
    ["resource_reach parameter_removed shifts GET /projects|query team_id"],
  ],
  [
    "add an optional parameter to a read",
    push("paths > /projects > get > parameters", { name: "expand", in: "query", schema: { type: "string" } }),
    ["resource_reach parameter_added widens GET /projects|query expand"],
  ],
  [
    "add an optional parameter to a deletion",
    put("paths > /projects/{project_id} > delete > parameters", [
      { name: "force", in: "query", schema: { type: "boolean" } },
    ]),
    ["action_reach parameter_added widens DELETE /projects/{project_id}|query force"],
  ],
  [
    "add a required parameter",
    push("paths > /projects > get > parameters", {
      name: "tenant",
      in: "query",
      required: true,
      schema: { type: "string" },
    }),
    ["request_compatibility parameter_required narrows GET /projects|query tenant"],
  ],
  [
    "permit an empty value",
    put("paths > /projects > get > parameters > 0 > allowEmptyValue", true),
    ["resource_reach empty_allowed widens GET /projects|query state"],
  ],
  [
    "write a list in another way",
    put("paths > /projects > get > parameters > 0 > style", "spaceDelimited"),
    ["request_compatibility style_changed shifts GET /projects|query state"],
  ],
  [
    "take the cursor away",
    drop("paths > /projects > get > parameters > 2"),
    ["resource_reach pagination_changed narrows GET /projects|query cursor"],
  ],
  [
    "answer with another cursor",
    put("components > schemas > Page > properties > prev_cursor", { type: "string" }),
    ["resource_reach cursor_returned widens schema Page|prev_cursor"],
  ],
  [
    "drop the Link header",
    drop("paths > /projects > get > responses > 200 > headers"),
    ["resource_reach pagination_changed narrows GET /projects|answer 200 header link"],
  ],
  [
    "answer with a Location",
    put("paths > /projects > post > responses > 201 > headers", { Location: { schema: { type: "string" } } }),
    ["resource_reach pagination_changed widens POST /projects|answer 201 header location"],
  ],
  [
    "steer a link elsewhere",
    put("paths > /jobs/{job_id} > get > responses > 200 > links > cancel > operationId", "deleteProject"),
    ["resource_reach link_changed shifts GET /jobs/{job_id}|answer 200 link cancel"],
  ],
  [
    "add a role",
    push("components > schemas > Member > properties > role > enum", "admin"),
    ["action_reach role_added widens schema Member|role"],
  ],
  [
    "rename a role",
    put("components > schemas > Member > properties > role > enum", ["reader", "editor", "owner"]),
    ["action_reach role_renamed shifts schema Member|role"],
  ],
  [
    "remove a role",
    put("components > schemas > Member > properties > role > enum", ["viewer", "editor"]),
    ["action_reach role_removed narrows schema Member|role"],
  ],
  [
    "take a new value in a read",
    push("paths > /projects > get > parameters > 0 > schema > enum", "deleted"),
    ["resource_reach value_added widens GET /projects|query state"],
  ],
  [
    "answer with a new value",
    push("components > schemas > Job > properties > state > enum", "cancelled"),
    ["request_compatibility value_added shifts schema Job|state"],
  ],
  [
    "answer with a token",
    put("components > schemas > Project > properties > deploy_token", { type: "string" }),
    ["credential_acceptance token_returned widens schema Project|deploy_token"],
  ],
  [
    "answer with an identifier",
    put("components > schemas > Project > properties > billing_account_id", { type: "string" }),
    ["resource_reach identifier_returned widens schema Project|billing_account_id"],
  ],
  [
    "answer with a URL",
    put("components > schemas > Project > properties > upload", { type: "string", format: "uri" }),
    ["resource_reach url_returned widens schema Project|upload"],
  ],
  [
    "answer with a plain field",
    put("components > schemas > Project > properties > colour", { type: "string" }),
    ["resource_reach answer_field_added widens schema Project|colour"],
  ],
  [
    "answer with a field called like a keyword",
    put("components > schemas > Project > properties > description", { type: "string" }),
    ["resource_reach answer_field_added widens schema Project|description"],
  ],
  [
    "take a field away from an answer",
    drop("components > schemas > Project > properties > owner"),
    ["request_compatibility field_removed narrows schema Project|owner"],
  ],
  [
    "take a new field in a request",
    put("components > schemas > Member > properties > expires_after", { type: "string" }),
    ["action_reach field_added widens schema Member|expires_after"],
  ],
  [
    "need a new field in a request",
    all(
      put("components > schemas > Member > properties > reason", { type: "string" }),
      push("components > schemas > Member > required", "reason"),
    ),
    ["request_compatibility field_required narrows schema Member|reason"],
  ],
  [
    "let a choosing field be left out",
    put("components > schemas > Member > required", ["role"]),
    ["resource_reach field_optional widens schema Member|subject_id"],
  ],
  [
    "free a field of its bound",
    drop("components > schemas > Member > properties > note > maxLength"),
    ["action_reach bound_widened widens schema Member|note maxLength"],
  ],
  [
    "take members that nobody listed",
    put(`${BODY} > additionalProperties`, true),
    ["action_reach members_opened widens POST /projects|body"],
  ],
  [
    "take another form of the body",
    put("paths > /projects > post > requestBody > content > text/csv", { schema: { type: "string" } }),
    ["request_compatibility media_type_added shifts POST /projects|body text/csv"],
  ],
  [
    "let the body be left out",
    put("paths > /projects > post > requestBody > required", false),
    ["request_compatibility body_optional shifts POST /projects|body"],
  ],
  [
    "take a body where none was",
    put("paths > /projects/{project_id} > delete > requestBody", {
      content: { "application/json": { schema: { type: "object", properties: { cascade: { type: "boolean" } } } } },
    }),
    ["action_reach body_added widens DELETE /projects/{project_id}|body"],
  ],
  [
    "take no body any more",
    drop("paths > /projects > post > requestBody"),
    ["request_compatibility body_removed narrows POST /projects|body"],
  ],
  [
    "change a type",
    put("components > schemas > Project > properties > id > type", "integer"),
    ["request_compatibility type_changed shifts schema Project|id"],
  ],
  [
    "change a shape reached only through itself",
    put("components > schemas > Project > properties > children > maxItems", 3),
    ["request_compatibility bound_narrowed shifts schema Project|children maxItems"],
  ],
  [
    "answer 202",
    put("paths > /projects > post > responses > 202", { description: "later" }),
    ["request_compatibility answer_added shifts POST /projects|answer 202"],
  ],
  [
    "call back",
    put("paths > /projects > post > callbacks", { made: { "{$request.body#/url}": { post: { responses: {} } } } }),
    ["action_reach callback_added widens POST /projects|callback made to {$request.body#/url}"],
  ],
  [
    "send a webhook",
    put("webhooks", { created: { post: { responses: {} } } }),
    ["action_reach webhook_added widens API|webhook created"],
  ],
  [
    "deprecate",
    put("paths > /projects > get > deprecated", true),
    ["request_compatibility deprecation_changed shifts GET /projects|deprecated"],
  ],
  [
    "name a path parameter differently",
    all(
      move("paths > /jobs/{job_id}", "paths > /jobs/{id}"),
      put("paths > /jobs/{id} > get > parameters > 0 > name", "id"),
    ),
    ["request_compatibility parameter_renamed shifts GET /jobs/{id}|path id"],
  ],
  [
    "remove a route",
    drop("paths > /jobs/{job_id}"),
    ["request_compatibility operation_removed narrows GET /jobs/{job_id}|"],
  ],
  [
    "add a route that reads",
    put("paths > /audit", { get: { operationId: "listAudit", responses: { "200": { description: "ok" } } } }),
    ["resource_reach operation_added widens GET /audit|"],
  ],
  [
    "add a route that acts",
    put("paths > /invoices/{invoice_id}/pay", {
      post: { operationId: "payInvoice", responses: { "200": { description: "ok" } } },
    }),
    ["action_reach operation_added widens POST /invoices/{invoice_id}/pay|"],
  ],
  [
    "move a route under its operationId",
    move("paths > /jobs/{job_id}", "paths > /tasks/{job_id}"),
    ["request_compatibility operation_renamed shifts GET /tasks/{job_id}|route"],
  ],
  [
    "move a route under a version prefix",
    all(
      drop("paths > /jobs/{job_id} > get > operationId"),
      move("paths > /jobs/{job_id}", "paths > /v2/jobs/{job_id}"),
    ),
    [
      "request_compatibility operation_id_changed shifts GET /v2/jobs/{job_id}|operationId",
      "request_compatibility operation_renamed shifts GET /v2/jobs/{job_id}|route",
    ],
  ],
];

for (const [name, change, expected] of planted) {
  test(`a planted change is found on its surface, and nothing else is: ${name}`, () => {
    assert.deepEqual(brief(reviewChange(change)), [...expected].sort());
  });
}

test("the same change has the same id in every run, and undoing it is another difference", () => {
  for (const [name, change] of planted) {
    const after = acme();
    change(after);
    const ids = reviewOf(acme(), after).differences.map(({ id }) => id);
    assert.deepEqual(
      reviewOf(acme(), after).differences.map(({ id }) => id),
      ids,
    );
    const back = reviewOf(after, acme()).differences.map(({ id }) => id);
    assert.deepEqual(
      back.filter((id) => ids.includes(id)),
      [],
      name,
    );
  }
});

test("two different planted changes never share an id", () => {
  const seen = new Map<string, string>();
  for (const [name, change] of planted) {
    for (const one of reviewChange(change).differences) {
      const text = JSON.stringify([one.kind, one.subject, one.at, one.before, one.after, one.binding]);
      assert.equal(seen.get(one.id) ?? text, text, name);
      seen.set(one.id, text);
    }
  }
});

test("what comes with a new operation is part of its id, so that a decision never covers more than was seen", () => {
  const route = { operationId: "exportAll", responses: { "200": { description: "ok" } } };
  const plain = reviewChange(put("paths > /export", { get: route })).differences[0];
  const worded = reviewChange(put("paths > /export", { get: { ...route, description: "Returns it." } })).differences[0];
  const wider = reviewChange(
    put("paths > /export", {
      get: { ...route, parameters: [{ name: "all", in: "query", schema: { type: "boolean" } }] },
    }),
  ).differences[0];
  assert.equal(plain?.id, worded?.id);
  assert.notEqual(plain?.id, wider?.id);
});

test("what comes with a new field is part of its id, through every component it reaches", () => {
  const field = put("components > schemas > Project > properties > settings", {
    $ref: "#/components/schemas/Settings",
  });
  const small = all(
    field,
    put("components > schemas > Settings", { type: "object", properties: { a: { type: "string" } } }),
  );
  const large = all(
    field,
    put("components > schemas > Settings", {
      type: "object",
      properties: { a: { type: "string" }, role: { type: "string" } },
    }),
  );
  const one = reviewChange(small).differences;
  const two = reviewChange(large).differences;
  assert.equal(one.length, 1);
  assert.equal(two.length, 1);
  assert.notEqual(one[0]?.id, two[0]?.id);
});

test("an action of the pack is named where a change touches its operation", () => {
  const role = reviewChange(push("components > schemas > Member > properties > role > enum", "admin"), acmePack)
    .differences[0];
  assert.deepEqual(role?.scopes, ["acme.member.add", "acme.project.get", "acme.project.list"]);
  assert.deepEqual(role?.operations, [
    "GET /projects",
    "GET /projects/{project_id}",
    "POST /projects",
    "POST /projects/{project_id}/members",
  ]);
  const health = reviewChange(put("paths > /health > get > deprecated", true), acmePack).differences[0];
  assert.deepEqual(health?.scopes, []);
});

test("removed and renamed operations that a pack uses are named with its actions", () => {
  const path = "paths > /projects/{project_id}/members";
  assert.deepEqual(
    reviewChange(drop(path), acmePack).differences.map(({ kind, scopes }) => [kind, scopes]),
    [["operation_removed", ["acme.member.add"]]],
  );
  assert.deepEqual(
    reviewChange(move(path, "paths > /projects/{project_id}/people"), acmePack).differences.map(({ kind, scopes }) => [
      kind,
      scopes,
    ]),
    [["operation_renamed", ["acme.member.add"]]],
  );
});
