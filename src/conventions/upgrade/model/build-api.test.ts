import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import { readDocument } from "../document/read-document.ts";
import type { Api } from "./api.ts";
import { buildApi } from "./build-api.ts";
import { indexUsage } from "./visit.ts";

function build(document: unknown, name = "a.json"): Api {
  return buildApi(
    readDocument(name, Buffer.from(typeof document === "string" ? document : JSON.stringify(document, null, 1))),
  );
}

function refusal(document: unknown, name = "a.json"): Denied {
  try {
    build(document, name);
  } catch (error) {
    assert.ok(error instanceof Denied, String(error));
    return error;
  }
  assert.fail("it was read");
}

const ok = { "200": { description: "ok" } };

const swagger = {
  swagger: "2.0",
  info: { title: "T", version: "1" },
  host: "API.example",
  basePath: "/v1/",
  schemes: ["https"],
  consumes: ["application/json"],
  produces: ["application/json"],
  securityDefinitions: {
    key: { type: "apiKey", in: "header", name: "X-Key" },
    o: { type: "oauth2", flow: "implicit", authorizationUrl: "https://a.example", scopes: { r: "" } },
  },
  security: [{ key: [] }],
  definitions: { Thing: { type: "object", required: ["id"], properties: { id: { type: "string" } } } },
  parameters: { limit: { name: "limit", in: "query", type: "integer", default: 10 } },
  responses: { none: { description: "none" } },
  paths: {
    "/things/{id}": {
      parameters: [{ name: "id", in: "path", required: true, type: "string" }],
      put: {
        operationId: "putThing",
        parameters: [
          { $ref: "#/parameters/limit" },
          { name: "thing", in: "body", required: true, schema: { $ref: "#/definitions/Thing" } },
        ],
        responses: {
          "200": { description: "ok", schema: { $ref: "#/definitions/Thing" } },
          "404": { $ref: "#/responses/none" },
        },
      },
    },
  },
};

const openapi30 = {
  openapi: "3.0.3",
  info: { title: "T", version: "1" },
  servers: [{ url: "https://api.example/v1/" }],
  security: [{ key: [] }],
  components: {
    securitySchemes: {
      key: { type: "apiKey", in: "header", name: "x-key" },
      o: { type: "oauth2", flows: { implicit: { authorizationUrl: "https://a.example", scopes: { r: "" } } } },
    },
    schemas: { Thing: { type: "object", required: ["id"], properties: { id: { type: "string" } } } },
    parameters: { limit: { name: "limit", in: "query", schema: { type: "integer", default: 10 } } },
    responses: { none: { description: "none" } },
    requestBodies: {
      thing: { required: true, content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } } },
    },
  },
  paths: {
    "/things/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      put: {
        operationId: "putThing",
        parameters: [{ $ref: "#/components/parameters/limit" }],
        requestBody: { $ref: "#/components/requestBodies/thing" },
        responses: {
          "200": {
            description: "ok",
            content: { "application/json": { schema: { $ref: "#/components/schemas/Thing" } } },
          },
          "404": { $ref: "#/components/responses/none" },
        },
      },
    },
  },
};

test("the three dialects of one API become one model", () => {
  const shown = (api: Api): unknown =>
    api.operations.map((one) => ({
      key: one.key,
      route: one.route,
      security: one.security,
      servers: one.servers,
      parameters: one.parameters.map(({ name, in: place, required, schema }) => [
        name,
        place,
        required,
        api.schemas.shapeOf(schema).types,
        api.schemas.shapeOf(schema).fallback,
      ]),
      body:
        one.body === null
          ? null
          : [one.body.required, [...one.body.media].map(([type, schema]) => [type, api.schemas.shapeOf(schema).name])],
      answers: [...one.answers].map(([status, { media }]) => [
        status,
        [...media].map(([type, schema]) => [type, api.schemas.shapeOf(schema).name]),
      ]),
      schemes: [...api.schemes.values()],
    }));
  const expected = shown(build(swagger));
  assert.deepEqual(shown(build(openapi30)), expected);
  assert.deepEqual(shown(build({ ...openapi30, openapi: "3.1.0" })), expected);
});

test("what is not one of the three dialects is refused by name", () => {
  assert.match(refusal({ openapi: "4.0.0" }).message, /4\.0\.0/);
  assert.match(refusal({ swagger: "1.2" }).message, /1\.2/);
  assert.match(refusal({ hello: 1 }).message, /neither/);
  assert.match(refusal([]).message, /root/);
  for (const document of [{ openapi: "4.0.0" }, {}, []]) assert.equal(refusal(document).code, "document_invalid");
});

test("a remote reference is refused with its place and never fetched", () => {
  for (const reference of [
    "https://evil.example/x.json#/a",
    "other.yaml",
    "//evil.example/x",
    "file:///etc/passwd",
    "./a.json#/b",
  ]) {
    const error = refusal({
      ...openapi30,
      components: { ...openapi30.components, schemas: { Thing: { properties: { a: { $ref: reference } } } } },
    });
    assert.equal(error.code, "reference_remote");
    assert.match(error.message, /^a\.json:\d+:\d+: /);
  }
});

test("all references that lead out are told at once", () => {
  const paths = Object.fromEntries(
    [1, 2, 3].map((n) => [`/p${n}`, { get: { responses: { "200": { $ref: `x${n}.json` } } } }]),
  );
  const error = refusal({ ...openapi30, paths });
  assert.deepEqual(
    error.errors.map(({ path }) => path),
    ["/paths/~1p1/get/responses/200", "/paths/~1p2/get/responses/200", "/paths/~1p3/get/responses/200"],
  );
});

test("a broken reference, and one that leads only to itself, are refused with their places", () => {
  const withSchemas = (schemas: object): unknown => ({
    ...openapi30,
    components: { ...openapi30.components, schemas },
  });
  for (const schemas of [
    { Thing: { $ref: "#/components/schemas/Nothing" } },
    { Thing: { $ref: "#/components/schemas/Thing" } },
    { Thing: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/Thing" } },
    { Thing: { allOf: [{ $ref: "#/components/schemas/Thing" }] } },
    { Thing: { $ref: "#anchor" } },
    { Thing: { $ref: "#/components/%zz" } },
  ]) {
    const error = refusal(withSchemas(schemas));
    assert.equal(error.code, "reference_broken", JSON.stringify(schemas));
    assert.match(error.message, /^a\.json:\d+:\d+: /);
  }
});

test("a schema that holds itself is an ordinary schema", () => {
  const api = build({
    ...openapi30,
    components: {
      ...openapi30.components,
      schemas: {
        Thing: {
          type: "object",
          properties: {
            id: { type: "string" },
            parent: { $ref: "#/components/schemas/Thing" },
            list: { type: "array", items: { $ref: "#/components/schemas/Thing" } },
          },
        },
      },
    },
  });
  const [operation] = api.operations;
  assert.ok(operation !== undefined);
  assert.deepEqual([...indexUsage(api).reachable([operation], "request")], ["Thing"]);
});

test("duplicate operation ids are refused with both places", () => {
  const error = refusal({
    ...openapi30,
    paths: { "/a": { get: { operationId: "x", responses: ok } }, "/b": { get: { operationId: "x", responses: ok } } },
  });
  assert.equal(error.code, "operation_id_duplicate");
  assert.match(error.message, /^a\.json:\d+:\d+: GET \/b carries .*GET \/a at a\.json:\d+:\d+/);
});

test("what should be text and is an object is read like any document, and two of them are told apart", () => {
  const odd = (inner: object): Api => {
    const parameters = [{ name: "q", in: "query", explode: inner, schema: { type: "string" } }];
    return build({
      ...openapi30,
      security: [{ key: [inner] }],
      components: { securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } } },
      paths: { "/a": { get: { parameters, responses: ok } } },
    });
  };
  const [one, same, other] = [odd({ a: 1 }), odd({ a: 1 }), odd({ a: 2 })].map(({ operations }) => {
    const [{ security, parameters } = assert.fail("no operation")] = operations;
    return { security, parameters };
  });
  assert.deepEqual(one, same);
  assert.notDeepEqual(one?.security, other?.security);
  assert.notDeepEqual(one?.parameters, other?.parameters);
});

test("what an operation needs and lacks is told with a pointer", () => {
  const error = refusal({
    ...openapi30,
    security: [{ nobody: [] }],
    paths: {
      "no-slash": {},
      "/a": { get: {}, post: 7 },
      "/b": { get: { parameters: [{ in: "query" }], responses: ok } },
    },
  });
  assert.equal(error.code, "document_invalid");
  assert.deepEqual(error.errors.map(({ path }) => path).sort(), [
    "/paths/no-slash",
    "/paths/~1a/get/responses",
    "/paths/~1a/post",
    "/paths/~1b/get/parameters/0",
    "/security/0",
  ]);
});

test("the number of operations is bounded", () => {
  const paths = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`/p${n}`, { get: { responses: ok } }]));
  const source = readDocument("a.json", Buffer.from(JSON.stringify({ ...openapi30, paths })));
  assert.throws(
    () => buildApi(source, { operations: 11 }),
    (error) => error instanceof Denied && error.code === "document_too_large",
  );
  assert.equal(buildApi(source, { operations: 12 }).operations.length, 12);
});

test("allOf is folded in, and members keep the component that declared them", () => {
  const api = build({
    ...openapi30,
    components: {
      ...openapi30.components,
      schemas: {
        Thing: {
          allOf: [
            { $ref: "#/components/schemas/Base" },
            { required: ["a", "b"], properties: { b: { type: "string" } } },
          ],
        },
        Base: { type: "object", properties: { a: { type: "string" } } },
      },
    },
  });
  const shape = api.schemas.shapeOf({ $ref: "#/components/schemas/Thing" });
  assert.deepEqual(
    [...shape.properties].map(([name, { owner, required }]) => [name, owner, required]),
    [
      ["a", "Base", true],
      ["b", "Thing", true],
    ],
  );
});

test("a bound that is a flag in one dialect and a number in another is one bound", () => {
  const api = build(openapi30);
  const flag = api.schemas.shapeOf({ type: "integer", minimum: 1, exclusiveMinimum: true });
  const number = api.schemas.shapeOf({ type: "integer", exclusiveMinimum: 1 });
  assert.deepEqual([...flag.bounds], [...number.bounds]);
});

test("null is said in three ways and read as one", () => {
  const api = build(openapi30);
  for (const schema of [
    { type: "string", nullable: true },
    { type: ["string", "null"] },
    { type: "string", "x-nullable": true },
  ]) {
    const shape = api.schemas.shapeOf(schema);
    assert.deepEqual([shape.types, shape.nullable], [["string"], true]);
  }
});

test("a server variable with a list of values is every server it can name", () => {
  const api = build({
    ...openapi30,
    servers: [
      {
        url: "https://{region}.example/{v}",
        variables: { region: { default: "eu", enum: ["eu", "us"] }, v: { default: "v1" } },
      },
    ],
  });
  assert.deepEqual(api.servers, ["https://eu.example/v1", "https://us.example/v1"]);
});

test("no security, an empty list and an empty alternative all let a request in without a credential", () => {
  const of = (security: unknown): unknown =>
    build({ ...openapi30, paths: { "/a": { get: { security, responses: ok } } } }).operations[0]?.security;
  assert.deepEqual(of([]), []);
  assert.deepEqual(of([{}]), [[]]);
  assert.deepEqual(of(undefined), [[{ scheme: "key", scopes: [] }]]);
});

test("roles that the text asks for are read from lists and from quoted names", () => {
  const of = (description: string): unknown =>
    build({ ...openapi30, paths: { "/a": { get: { description, responses: ok } } } }).operations[0]?.roles;
  assert.deepEqual(
    of(
      "Lists.\n\nMust have one of these [roles](https://x.example):\n\n* Admin\n* `Reader`\n\nOther text\n* not a role",
    ),
    ["Admin", "Reader"],
  );
  assert.deepEqual(of("This requires the `projects:read` scope."), ["projects:read"]);
  assert.deepEqual(of("Returns the role of a member."), []);
});

test("a YAML document is read like its JSON", () => {
  const text =
    "openapi: 3.0.0\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    get:\n      responses:\n        200: {description: ok}\n";
  const [operation] = build(text, "a.yaml").operations;
  assert.equal(operation?.key, "GET /a");
  assert.deepEqual([...(operation?.answers.keys() ?? [])], ["200"]);
  assert.deepEqual(operation?.position, { line: 6, column: 7 });
});
