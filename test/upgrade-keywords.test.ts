import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import {
  answerKeywords,
  bodyKeywords,
  type Direction,
  flowKeywords,
  type KeywordRows,
  linkKeywords,
  mediaKeywords,
  operationKeywords,
  parameterKeywords,
  pathKeywords,
  rootKeywords,
  schemaKeywords,
  schemeKeywords,
  serverKeywords,
  variableKeywords,
} from "../src/conventions/upgrade/model/keywords.ts";
import { acme, at, type Loose, put, reviewOf } from "./upgrade-acme.ts";

/** The keywords as the specifications list them, written down apart from our table. */
const specified: Readonly<Record<string, readonly [rows: KeywordRows, names: string]>> = {
  "JSON Schema 2020-12, core": [
    schemaKeywords,
    "$id $schema $ref $anchor $dynamicRef $dynamicAnchor $vocabulary $comment $defs",
  ],
  "JSON Schema 2020-12, applicators": [
    schemaKeywords,
    `allOf anyOf oneOf not if then else dependentSchemas prefixItems items contains properties patternProperties
     additionalProperties propertyNames unevaluatedItems unevaluatedProperties`,
  ],
  "JSON Schema 2020-12, validation": [
    schemaKeywords,
    `type enum const multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems
     minItems uniqueItems maxContains minContains maxProperties minProperties required dependentRequired`,
  ],
  "JSON Schema 2020-12, the rest": [
    schemaKeywords,
    "title description default deprecated readOnly writeOnly examples format contentEncoding contentMediaType contentSchema",
  ],
  "earlier drafts": [schemaKeywords, "id definitions dependencies additionalItems $recursiveRef $recursiveAnchor"],
  OpenAPI: [schemaKeywords, "discriminator xml externalDocs example nullable x-nullable"],
  "parameters and headers": [
    parameterKeywords,
    `name in description required deprecated allowEmptyValue style explode allowReserved schema example examples content
     collectionFormat`,
  ],
  "security schemes and flows": [
    schemeKeywords,
    `type description name in scheme bearerFormat flows flow openIdConnectUrl authorizationUrl tokenUrl refreshUrl
     deviceAuthorizationUrl scopes`,
  ],
  flows: [flowKeywords, "authorizationUrl tokenUrl refreshUrl deviceAuthorizationUrl scopes"],
  "the document": [
    rootKeywords,
    `openapi info jsonSchemaDialect servers paths webhooks components security tags externalDocs swagger host basePath schemes
     consumes produces definitions parameters responses securityDefinitions`,
  ],
  paths: [pathKeywords, "$ref summary description get put post delete options head patch trace servers parameters"],
  "operations, and what a callback calls": [
    operationKeywords,
    `tags summary description externalDocs operationId parameters requestBody responses callbacks deprecated security servers
     consumes produces schemes`,
  ],
  bodies: [bodyKeywords, "description content required"],
  "media types": [mediaKeywords, "schema example examples encoding"],
  answers: [answerKeywords, "description headers content links schema examples"],
  links: [linkKeywords, "operationRef operationId parameters requestBody description server"],
  servers: [serverKeywords, "url description variables"],
  "server variables": [variableKeywords, "enum default description"],
};

for (const [what, [rows, names]] of Object.entries(specified)) {
  test(`every keyword has a row that says which way its change goes: ${what}`, () => {
    assert.deepEqual(
      names.split(/\s+/).filter((name) => !Object.hasOwn(rows, name)),
      [],
    );
  });
}

const FIELD = "paths > /projects > post > requestBody > content > application/json > schema > properties > name";

/** What a review says when one field of a request goes from one schema to another. */
function said(before: unknown, after: unknown): readonly string[] {
  const [old, next] = [acme(), acme()];
  put(FIELD, before)(old);
  put(FIELD, after)(next);
  return [...new Set(reviewOf(old, next).differences.map(({ change }) => change))];
}

const samples: Readonly<Record<string, readonly [unknown, unknown]>> = {
  multipleOf: [2, 3],
  pattern: ["^a", "^b"],
  contentEncoding: ["base64", "base32"],
  contentMediaType: ["text/plain", "text/html"],
  contentSchema: [{ type: "string" }, { type: "integer" }],
  not: [{ type: "string" }, { type: "integer" }],
  contains: [{ type: "string" }, { type: "integer" }],
  propertyNames: [{ pattern: "a" }, { pattern: "b" }],
  dependentRequired: [{ a: ["b"] }, { a: ["c"] }],
  dependentSchemas: [{ a: { type: "object" } }, { a: false }],
  dependencies: [{ a: ["b"] }, { a: ["c"] }],
  unevaluatedItems: [{ type: "string" }, { type: "integer" }],
  additionalItems: [{ type: "string" }, { type: "integer" }],
  if: [{ type: "string" }, { type: "integer" }],
  // biome-ignore lint/suspicious/noThenProperty: it is a keyword.
  then: [{ type: "string" }, { type: "integer" }],
  else: [{ type: "string" }, { type: "integer" }],
  patternProperties: [{ "^a": { type: "string" } }, { "^b": { type: "string" } }],
  prefixItems: [[{ type: "string" }], [{ type: "integer" }]],
  discriminator: [{ propertyName: "a" }, { propertyName: "b" }],
  xml: [{ name: "a" }, { name: "b" }],
  $dynamicRef: ["#a", "#b"],
  $recursiveRef: ["#", "#/x"],
  uniqueItems: [true, undefined],
  deprecated: [true, undefined],
};

const object = (more: object): object => ({ type: "object", ...more });
/** Keywords with words of their own: one change of each, and the way it goes in a request. */
const own: Readonly<Record<string, readonly [before: unknown, after: unknown, way: string]>> = {
  type: [{ type: "string" }, { type: "integer" }, "shifts"],
  enum: [{ type: "string", enum: ["a"] }, { type: "string", enum: ["a", "b"] }, "widens"],
  const: [{ const: "a" }, {}, "widens"],
  default: [{ type: "string", default: "own" }, { type: "string", default: "all" }, "widens"],
  nullable: [{ type: "string" }, { type: "string", nullable: true }, "shifts"],
  "x-nullable": [{ type: "string" }, { type: "string", "x-nullable": true }, "shifts"],
  format: [{ type: "string" }, { type: "string", format: "uri" }, "shifts"],
  properties: [object({ properties: { a: {} } }), object({ properties: { a: {}, b: {} } }), "widens"],
  required: [object({ properties: { a: {} } }), object({ properties: { a: {} }, required: ["a"] }), "narrows"],
  additionalProperties: [object({ additionalProperties: false }), object({}), "widens"],
  unevaluatedProperties: [object({ unevaluatedProperties: false }), object({}), "widens"],
  items: [{ type: "array", items: { enum: ["a"] } }, { type: "array", items: { enum: ["a", "b"] } }, "widens"],
  oneOf: [{ oneOf: [{ type: "string" }] }, { oneOf: [{ type: "string" }, { type: "integer" }] }, "widens"],
  anyOf: [{ anyOf: [{ type: "string" }] }, { anyOf: [{ type: "string" }, { type: "integer" }] }, "widens"],
  allOf: [{ allOf: [{ maxLength: 3 }] }, { allOf: [{ maxLength: 9 }] }, "widens"],
  $ref: [{ $ref: "#/components/schemas/Job" }, { $ref: "#/components/schemas/Member" }, "widens"],
  readOnly: [{ type: "string", readOnly: true }, { type: "string" }, "widens"],
  writeOnly: [{ type: "string", writeOnly: true }, { type: "string" }, "shifts"],
};

test("the rows of the schema table are those that are tried here", () => {
  const names = (way: Direction): readonly string[] =>
    Object.keys(schemaKeywords).filter((name) => schemaKeywords[name] === way);
  assert.deepEqual(
    names("own").filter((name) => own[name] === undefined),
    [],
  );
  assert.deepEqual(
    [...names("less"), ...names("judge")].filter((name) => samples[name] === undefined),
    [],
  );
});

for (const [name, way] of Object.entries(schemaKeywords)) {
  test(`a change of ${name} is told, and goes the way its row says (${way})`, () => {
    const [first, second] = samples[name] ?? [5, 10];
    switch (way) {
      case "up":
      case "down": {
        const [narrow, wide] = way === "up" ? [5, 10] : [10, 5];
        assert.deepEqual(said({ [name]: narrow }, { [name]: wide }), ["widens"]);
        assert.deepEqual(said({ [name]: wide }, { [name]: narrow }), ["narrows"]);
        assert.deepEqual(said({ [name]: wide }, {}), ["widens"]);
        assert.deepEqual(said({}, { [name]: wide }), ["narrows"]);
        return;
      }
      case "less":
        assert.deepEqual(said({ [name]: first }, {}), ["widens"]);
        assert.deepEqual(said({}, { [name]: first }), ["narrows"]);
        if (second !== undefined) assert.deepEqual(said({ [name]: first }, { [name]: second }), ["shifts"]);
        return;
      case "judge":
        assert.deepEqual(said({ [name]: first }, second === undefined ? {} : { [name]: second }), ["shifts"]);
        assert.deepEqual(said({}, { [name]: first }), ["shifts"]);
        return;
      case "own": {
        const [before, after, expected] = own[name] ?? [null, null, "a change of its own"];
        assert.ok(said(before, after).includes(expected), said(before, after).join() || "nothing was said");
        return;
      }
      case "prose":
        assert.deepEqual(said({ type: "string", [name]: "a" }, { type: "string", [name]: "b" }), []);
    }
  });
}

test("a keyword that nobody has heard of is told too, and an extension is not", () => {
  assert.deepEqual(said({ type: "string", futureRule: 1 }, { type: "string", futureRule: 2 }), ["shifts"]);
  assert.deepEqual(said({ type: "string", "x-note": 1 }, { type: "string", "x-note": 2 }), []);
});

const PARAMETER = "paths > /projects > get > parameters > 0";
const SCHEME = "components > securitySchemes > spare";
const bearer = { type: "http", scheme: "bearer" };
const flow = (more: object): object => ({
  type: "oauth2",
  flows: {
    authorizationCode: {
      tokenUrl: "https://a.example/t",
      authorizationUrl: "https://a.example/a",
      scopes: {},
      ...more,
    },
  },
});
const base = { name: "state", in: "query", schema: { type: "string" } };
const content = (type: string): object => ({
  name: "state",
  in: "query",
  content: { [type]: { schema: { type: "string" } } },
});
const HEADER = "paths > /projects > get > responses > 200 > headers > Link";
const BODY = "paths > /projects > post > requestBody";
const CALLBACKS = "paths > /projects > post > callbacks";
const LINK = "paths > /jobs/{job_id} > get > responses > 200 > links > cancel";
const link = { operationId: "getProject" };
const text = { schema: { type: "string" } };
/** A provider's call with this operation in it, and below it a schema for its body. */
const call = (operation: object): object => ({ "{$request.body#/url}": { post: { responses: {}, ...operation } } });
const callback = (operation: object): object => ({ made: call(operation) });
const sends = (schema: object): object => ({ requestBody: { content: { "application/json": { schema } } } });
const member = (more: object = {}): object => ({ type: "object", properties: { id: { type: "string" }, ...more } });
const host = "https://{region}.acme.example";
const server = (variable: object): object => [{ url: host, variables: { region: { default: "eu", ...variable } } }];

/** Members of parameters, schemes and servers: one change of each, and every way that the review says it goes. */
const members: readonly (readonly [
  what: string,
  place: string,
  before: unknown,
  after: unknown,
  ways: readonly string[],
])[] = [
  ["parameter name", PARAMETER, base, { ...base, name: "other" }, ["widens", "shifts"]],
  ["parameter in", PARAMETER, base, { ...base, in: "cookie" }, ["widens", "shifts"]],
  ["parameter required", PARAMETER, base, { ...base, required: true }, ["narrows"]],
  ["parameter deprecated", PARAMETER, base, { ...base, deprecated: true }, ["shifts"]],
  ["parameter allowEmptyValue", PARAMETER, base, { ...base, allowEmptyValue: true }, ["widens"]],
  ["parameter allowReserved", PARAMETER, base, { ...base, allowReserved: true }, ["widens"]],
  ["parameter allowReserved taken back", PARAMETER, { ...base, allowReserved: true }, base, ["narrows"]],
  ["parameter style", PARAMETER, base, { ...base, style: "pipeDelimited" }, ["shifts"]],
  ["parameter explode", PARAMETER, base, { ...base, explode: false }, ["shifts"]],
  ["parameter schema", PARAMETER, base, { ...base, schema: { type: "integer" } }, ["shifts"]],
  ["parameter content", PARAMETER, content("text/plain"), content("application/json"), ["shifts"]],
  ["parameter, something new", PARAMETER, base, { ...base, future: 1 }, ["shifts"]],
  ["scheme type and scheme", SCHEME, bearer, { type: "http", scheme: "basic" }, ["shifts"]],
  ["scheme bearerFormat", SCHEME, bearer, { ...bearer, bearerFormat: "JWT" }, ["shifts"]],
  [
    "scheme name",
    SCHEME,
    { type: "apiKey", in: "query", name: "a" },
    { type: "apiKey", in: "query", name: "b" },
    ["shifts"],
  ],
  [
    "scheme in",
    SCHEME,
    { type: "apiKey", in: "query", name: "a" },
    { type: "apiKey", in: "cookie", name: "a" },
    ["shifts"],
  ],
  [
    "scheme openIdConnectUrl",
    SCHEME,
    { type: "openIdConnect", openIdConnectUrl: "https://a.example" },
    { type: "openIdConnect", openIdConnectUrl: "https://b.example" },
    ["shifts"],
  ],
  ["scheme, something new", SCHEME, bearer, { ...bearer, future: true }, ["shifts"]],
  ["flow tokenUrl", SCHEME, flow({}), flow({ tokenUrl: "https://b.example/t" }), ["shifts"]],
  ["flow authorizationUrl", SCHEME, flow({}), flow({ authorizationUrl: "https://b.example/a" }), ["shifts"]],
  ["flow refreshUrl", SCHEME, flow({}), flow({ refreshUrl: "https://b.example/r" }), ["shifts"]],
  [
    "flow deviceAuthorizationUrl",
    SCHEME,
    flow({}),
    flow({ deviceAuthorizationUrl: "https://b.example/d" }),
    ["shifts"],
  ],
  ["flow scopes", SCHEME, flow({}), flow({ scopes: { admin: "" } }), ["widens"]],
  ["flow, something new", SCHEME, flow({}), flow({ future: 1 }), ["shifts"]],
  ["header schema", HEADER, text, { schema: { type: "integer" } }, ["shifts"]],
  ["header required", HEADER, text, { ...text, required: true }, ["shifts"]],
  ["header deprecated", HEADER, text, { ...text, deprecated: true }, ["shifts"]],
  ["header style", HEADER, text, { ...text, style: "simple", explode: true }, ["shifts"]],
  ["header content", HEADER, text, { content: { "text/plain": text } }, ["shifts"]],
  ["header, something new", HEADER, text, { ...text, future: 1 }, ["shifts"]],
  ["link target", LINK, link, { operationId: "deleteProject" }, ["shifts"]],
  ["link parameters", LINK, link, { ...link, parameters: { a: "$response.body#/id" } }, ["shifts"]],
  ["link requestBody", LINK, link, { ...link, requestBody: "$response.body" }, ["shifts"]],
  ["link server", LINK, link, { ...link, server: { url: "https://b.example" } }, ["shifts"]],
  ["link, something new", LINK, link, { ...link, future: 1 }, ["shifts"]],
  ["callback added", CALLBACKS, {}, callback({}), ["widens"]],
  ["callback removed", CALLBACKS, callback({}), {}, ["narrows"]],
  [
    "callback body gains a field",
    CALLBACKS,
    callback(sends(member())),
    callback(sends(member({ key: {} }))),
    ["widens"],
  ],
  [
    "callback body loses a field",
    CALLBACKS,
    callback(sends(member({ key: {} }))),
    callback(sends(member())),
    ["narrows"],
  ],
  ["callback body type", CALLBACKS, callback(sends(text.schema)), callback(sends({ type: "integer" })), ["shifts"]],
  ["callback parameter", CALLBACKS, callback({}), callback({ parameters: [base] }), ["widens"]],
  ["callback answer", CALLBACKS, callback({}), callback({ responses: { 202: { description: "" } } }), ["shifts"]],
  ["callback security", CALLBACKS, callback({}), callback({ security: [{ key: [] }] }), ["shifts"]],
  ["callback servers", CALLBACKS, callback({}), callback({ servers: [{ url: "https://b.example" }] }), ["shifts"]],
  ["callback in a callback", CALLBACKS, callback({}), callback({ callbacks: callback({}) }), ["shifts"]],
  ["callback, something new", CALLBACKS, callback({}), callback({ future: 1 }), ["shifts"]],
  ["webhook body", "webhooks", call(sends(member())), call(sends(member({ key: {} }))), ["widens"]],
  ["operation, something new", "paths > /projects > post > future", undefined, 1, ["shifts"]],
  ["path, something new", "paths > /health > future", undefined, 1, ["shifts"]],
  ["body, something new", `${BODY} > future`, undefined, 1, ["shifts"]],
  ["media type, something new", `${BODY} > content > application/json > future`, undefined, 1, ["shifts"]],
  ["media type encoding", `${BODY} > content > application/json > encoding`, undefined, { a: {} }, ["shifts"]],
  ["answer, something new", "paths > /projects > get > responses > 200 > future", undefined, 1, ["shifts"]],
  ["document, something new", "future", undefined, 1, ["shifts"]],
  ["document jsonSchemaDialect", "jsonSchemaDialect", undefined, "https://a.example/dialect", ["shifts"]],
  ["server, something new", "servers", [{ url: host }], [{ url: host, future: 1 }], ["shifts"]],
  ["server variable, something new", "servers", server({}), server({ future: 1 }), ["shifts"]],
  ...["paths > /health > servers", "paths > /health > get > servers"].flatMap((place) => [
    [`${place}: variable enum removed`, place, server({ enum: ["eu"] }), server({}), ["widens"]] as const,
    [`${place}: variable enum set`, place, server({}), server({ enum: ["eu"] }), ["narrows"]] as const,
    [
      `${place}: variable default`,
      place,
      server({ enum: ["eu", "us"] }),
      server({ enum: ["eu", "us"], default: "us" }),
      ["shifts"],
    ] as const,
  ]),
  ["server url", "servers", [{ url: "https://a.example" }], [{ url: "https://b.example" }], ["widens", "narrows"]],
  [
    "server variable enum gained a value",
    "servers",
    server({ enum: ["eu"] }),
    server({ enum: ["eu", "us"] }),
    ["widens"],
  ],
  ["server variable enum removed", "servers", server({ enum: ["eu", "us"] }), server({}), ["widens"]],
  ["server variable enum set", "servers", server({}), server({ enum: ["eu"] }), ["narrows"]],
  [
    "server variable default",
    "servers",
    server({ enum: ["eu", "us"] }),
    server({ enum: ["eu", "us"], default: "us" }),
    ["shifts"],
  ],
];

for (const [what, place, before, after, ways] of members) {
  test(`a single change is told, and which way it goes: ${what}`, () => {
    const [old, next] = [acme(), acme()];
    put(place, before)(old);
    put(place, after)(next);
    assert.deepEqual([...new Set(reviewOf(old, next).differences.map(({ change }) => change))], ways);
  });
}

test("a component that only callbacks and webhooks carry is compared in the direction in which it travels", () => {
  const [old, next] = [acme(), acme()];
  for (const [document, more] of [
    [old, {}],
    [next, { secret: { type: "string" } }],
  ] as const) {
    put("components > schemas > Told", member(more))(document);
    const told = { $ref: "#/components/schemas/Told" };
    put(CALLBACKS, callback(sends(told)))(document);
    put("webhooks", { made: { post: { ...sends(told), responses: {} } } })(document);
  }
  const found = reviewOf(old, next).differences;
  assert.deepEqual(
    found.map(({ surface, change, subject }) => `${surface} ${change} ${subject}`),
    ["credential_acceptance widens schema Told"],
  );
  assert.deepEqual(found[0]?.operations, ["POST /projects", "POST made"]);
});

test("callbacks that name each other in a circle end in an answer", () => {
  const document = acme();
  const round = { $ref: "#/components/callbacks/round" };
  put("components > callbacks", { round: call({ callbacks: { again: round } }) })(document);
  put(CALLBACKS, { made: round })(document);
  assert.deepEqual(reviewOf(document, document).differences, []);
});

const folder = join(import.meta.dirname, "../../shared/vectors/openapi-pairs");
const skip = existsSync(folder) ? false : "the public OpenAPI pairs are not here";

test("every keyword that two real providers use in a schema has a row", { skip }, () => {
  const files = ["netlify/new-2.60.0.swagger2.json", "adyen-management/ManagementService-v3.json"];
  const unknown = new Set<string>();
  const visit = (node: unknown): void => {
    if (typeof node !== "object" || node === null || Array.isArray(node)) return;
    for (const [name, value] of Object.entries(node)) {
      if (!Object.hasOwn(schemaKeywords, name) && !name.startsWith("x-")) unknown.add(name);
      if (name === "properties") for (const inner of Object.values(value as object)) visit(inner);
      else if (name === "items" || name === "additionalProperties") visit(value);
      else if (Array.isArray(value) && ["allOf", "oneOf", "anyOf"].includes(name))
        for (const inner of value) visit(inner);
    }
  };
  for (const file of files) {
    const root = JSON.parse(readFileSync(join(folder, file), "utf8")) as Loose;
    const schemas = root["definitions"] ?? at(root, "components > schemas");
    for (const schema of Object.values(schemas as object)) visit(schema);
  }
  assert.deepEqual([...unknown], []);
});
