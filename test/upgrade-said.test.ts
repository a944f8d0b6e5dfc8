import assert from "node:assert/strict";
import { test } from "node:test";
import { classifyApi } from "../src/conventions/upgrade/meaning/classify-api.ts";
import { acme, acmePack, all, api, brief, drop, put, reviewChange, reviewOf } from "./upgrade-acme.ts";

const BODY = "paths > /projects > post > requestBody > content > application/json > schema";
const ok = { "200": { description: "ok" } };

test("a field that could only be read and may now be written is told, in a component that is sent and answered", () => {
  const before = acme();
  put("components > schemas > Member > properties > email", { type: "string", readOnly: true })(before);
  const after = structuredClone(before);
  put("components > schemas > Member > properties > email", { type: "string" })(after);
  assert.deepEqual(brief(reviewOf(before, after)), ["action_reach field_writable widens schema Member|email"]);
  assert.deepEqual(brief(reviewOf(after, before)), [
    "request_compatibility read_only_changed narrows schema Member|email",
  ]);
});

test("a secret that could only be written and may now be read is a token that is returned", () => {
  const before = acme();
  put("components > schemas > Member > properties > password", { type: "string", writeOnly: true })(before);
  const after = structuredClone(before);
  put("components > schemas > Member > properties > password", { type: "string" })(after);
  assert.deepEqual(brief(reviewOf(before, after)), [
    "credential_acceptance token_returned widens schema Member|password",
  ]);
});

test("what only a request has is never told as part of an answer", () => {
  const told = brief(reviewChange(put(`${BODY} > properties > api_token`, { type: "string", readOnly: true })));
  assert.deepEqual(
    told,
    ["request_compatibility field_declared shifts POST /projects|body.api_token"].map((line) =>
      line.replace("body.", "body."),
    ),
  );
  const hidden = acme();
  put("components > schemas > Project > properties > password", { type: "string", writeOnly: true })(hidden);
  const effects = new Map([...classifyApi(api(hidden))].map(([operation, { effect }]) => [operation.key, effect]));
  assert.equal(effects.get("GET /projects/{project_id}"), "read");
  assert.equal(effects.get("GET /projects"), "read");
});

test("no security declared is not the same as none needed, and the pack's credential reaches it", () => {
  const silent = acme();
  drop("security")(silent);
  const grown = structuredClone(silent);
  put("paths > /exports", { get: { responses: ok } })(grown);
  put("paths > /open", { get: { responses: ok, security: [] } })(grown);
  const reach = (pack: typeof acmePack) =>
    reviewOf(silent, grown, pack).differences.map(({ subject, credential }) => [
      subject,
      credential?.kind,
      credential?.labels,
    ]);
  assert.deepEqual(reach([]), [
    ["GET /exports", "undeclared", []],
    ["GET /open", "open", []],
  ]);
  assert.deepEqual(reach(acmePack)[0], ["GET /exports", "undeclared", ["acme-members", "acme-read"]]);
  const [found] = reviewOf(silent, grown, acmePack).differences;
  assert.match(`${found?.after}`, /asks for not declared$/);
  assert.match(`${found?.credential?.says}`, /acme-read\) is presented to it/);
});

test("security that is newly declared narrows, and one that is newly said to be none widens", () => {
  const silent = acme();
  drop("security")(silent);
  const lines = (change: (document: ReturnType<typeof acme>) => void): readonly string[] => {
    const after = structuredClone(silent);
    change(after);
    return brief(reviewOf(silent, after)).filter((line) => line.includes("GET /projects|"));
  };
  assert.deepEqual(lines(put("security", [{ key: [] }])), [
    "credential_acceptance security_declared narrows GET /projects|security",
  ]);
  assert.deepEqual(lines(put("security", [])), [
    "credential_acceptance security_removed widens GET /projects|security",
  ]);
});

test("a name that begins with post says how it is called, not that something is sent", () => {
  const document = acme();
  put("paths > /users", { post: { operationId: "postUsers", responses: { "201": { description: "made" } } } })(
    document,
  );
  const [, verdict] = [...classifyApi(api(document))].find(([{ key }]) => key === "POST /users") ?? [];
  assert.equal(verdict?.effect, "create");
});

const card = (more: object = {}): object => ({
  type: "object",
  required: ["number"],
  properties: { number: { type: "string" }, name: { type: "string" }, ...more },
});
const bank = (more: object = {}): object => ({
  type: "object",
  properties: { iban: { type: "string" }, bic: { type: "string" }, ...more },
});

test("a body with alternatives is compared alternative by alternative, and told by its fields", () => {
  const before = acme();
  put(BODY, { oneOf: [card(), bank()] })(before);
  const changed = acme();
  put(BODY, { oneOf: [bank({ payee_role: { type: "string" } }), card({ cvc: { type: "string" } })] })(changed);
  assert.deepEqual(brief(reviewOf(before, changed)), [
    "action_reach field_added widens POST /projects|body.cvc",
    "action_reach field_added widens POST /projects|body.payee_role",
  ]);
  const grown = acme();
  put(BODY, {
    oneOf: [card(), bank(), { type: "object", required: ["voucher"], properties: { voucher: {}, pin: {} } }],
  })(grown);
  const [added] = reviewOf(before, grown).differences;
  assert.deepEqual([added?.kind, added?.after], ["choice_added", "{ pin?, voucher }"]);
  const looser = acme();
  put(BODY, { anyOf: [card(), bank()] })(looser);
  assert.deepEqual(brief(reviewOf(before, looser)), ["action_reach choice_rule_changed widens POST /projects|body"]);
  assert.deepEqual(brief(reviewOf(looser, before)), [
    "request_compatibility choice_rule_changed narrows POST /projects|body",
  ]);
});

test("an address whose variable lost its list of values can be anything, and the old ones are not called gone", () => {
  const listed = acme();
  put("servers", [
    { url: "https://{region}.acme.example", variables: { region: { default: "eu", enum: ["eu", "us"] } } },
  ])(listed);
  const open = acme();
  put("servers", [{ url: "https://{region}.acme.example", variables: { region: { default: "eu" } } }])(open);
  assert.deepEqual(brief(reviewOf(listed, open)), [
    "credential_acceptance server_variable_opened widens API|server https://{region}.acme.example {region}",
  ]);
});

test("how the parts of a form are written is compared", () => {
  const form = (contentType: string) =>
    all(
      put("paths > /projects > post > requestBody > content", {
        "multipart/form-data": {
          schema: { type: "object", properties: { file: {} } },
          encoding: { file: { contentType } },
        },
      }),
    );
  const [before, after] = [acme(), acme()];
  form("image/png")(before);
  form("image/*")(after);
  assert.deepEqual(brief(reviewOf(before, after)), [
    "request_compatibility encoding_changed shifts POST /projects|body multipart/form-data",
  ]);
});
