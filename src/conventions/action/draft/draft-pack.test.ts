import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../../kernel/failure.ts";
import type { JsonObject, JsonValue } from "../../../kernel/json.ts";
import { anyText } from "../../../kernel/testing/any-text.ts";
import { runsOf } from "../../../kernel/testing/whole.ts";
import { readDocument } from "../../upgrade/document/read-document.ts";
import { buildApi } from "../../upgrade/model/build-api.ts";
import { bindAction } from "../bind.ts";
import { type ActionDefinition, hasSideEffect, type Pack } from "../pack.ts";
import { readPack } from "../read.ts";
import { type DraftRequest, draftPack, type PackDraft } from "./draft-pack.ts";

const ok: JsonObject = { "200": { description: "fine" } };

function document(paths: JsonObject, more: JsonObject = {}): JsonObject {
  const servers = [{ url: "https://api.acme.example/v2" }];
  return { openapi: "3.0.3", info: { title: "Acme", version: "2" }, servers, paths, ...more };
}

function draft(root: JsonObject, request: Partial<DraftRequest> = {}): PackDraft {
  const api = buildApi(readDocument("acme.json", Buffer.from(JSON.stringify(root), "utf8")));
  return draftPack(api, { pack: "acme", operations: "all", origin: null, ...request });
}

function load({ text }: PackDraft): Pack {
  const { pack, findings } = readPack(Buffer.from(text, "utf8"), "acme.yaml");
  assert.ok(pack !== null, `${JSON.stringify(findings)}\n${text}`);
  return pack;
}

/** One operation in a document of its own. */
function only(
  path: string,
  method: string,
  operation: JsonObject,
  more: JsonObject = {},
): { readonly pack: Pack; readonly action: ActionDefinition; readonly text: string } {
  const drafted = draft(document({ [path]: { [method]: { responses: ok, ...operation } } }, more));
  const pack = load(drafted);
  const [action] = pack.actions.values();
  assert.ok(action !== undefined);
  return { pack, action, text: drafted.text };
}

function whyNot(path: string, method: string, operation: JsonObject, more: JsonObject = {}): string {
  const paths = { [path]: { [method]: { responses: ok, ...operation } }, "/health": { get: { responses: ok } } };
  const { leftOut, text } = draft(document(paths, more));
  const [first, second] = leftOut;
  assert.ok(first !== undefined && second === undefined, text);
  assert.ok(text.includes(`# REVIEW: ${first.operation} is left out: ${first.why}`.slice(0, 200)));
  return first.why;
}

const query = (name: string, schema: JsonValue, more: JsonObject = {}): JsonObject => ({
  name,
  in: "query",
  schema,
  ...more,
});
const jsonBody = (schema: JsonValue, required = true): JsonObject => ({
  requestBody: { required, content: { "application/json": { schema } } },
});
const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: "object",
  properties,
  ...(required.length === 0 ? {} : { required }),
});
const schemaOf = (action: ActionDefinition, input: string) => action.inputs.find(({ name }) => name === input)?.schema;

describe("effects", () => {
  const guesses: readonly (readonly [method: string, path: string, operation: JsonObject, effect: string])[] = [
    ["get", "/sites", { operationId: "listSites" }, "read"],
    ["post", "/sites/search", { operationId: "searchSites" }, "write"],
    ["post", "/sites/preview", { operationId: "previewSite" }, "write"],
    ["delete", "/sites", { operationId: "deleteSites" }, "write"],
    ["put", "/sites", { operationId: "updateSites" }, "write"],
    ["post", "/sites", { operationId: "createSite" }, "create"],
    ["post", "/messages/send", { operationId: "sendMessage" }, "send"],
    ["get", "/messages/send", { operationId: "sendMessage" }, "send"],
    ["post", "/sites/roles", { operationId: "updateRole" }, "write"],
  ];
  for (const [method, path, operation, effect] of guesses) {
    test(`${method.toUpperCase()} ${path} is drafted as ${effect}`, () => {
      const { action } = only(path, method, operation);
      assert.equal(action.effect, effect);
      const side = hasSideEffect(action.effect);
      assert.equal(action.retry, side ? "non_idempotent_write" : "read");
      assert.equal(action.needs.approval, side ? "each_use" : "session");
    });
  }

  test("every effect stands beside a remark that it is a guess", () => {
    const { text, actions } = draft(document({ "/a": { get: { responses: ok }, post: { responses: ok } } }));
    assert.equal(text.match(/^ {4}effect: \w+ # REVIEW: /gm)?.length, actions.length);
  });
});

describe("inputs", () => {
  test("path, query, header and body members become typed inputs under the server's own path", () => {
    const id = { type: "string", pattern: "^[a-z]{3,9}$", maxLength: 9 };
    const members = {
      text: { type: "string", minLength: 1 },
      "site-id": { type: "integer", minimum: 0, exclusiveMinimum: true },
    };
    const { pack, action } = only("/sites/{site-id}/notes", "post", {
      operationId: "addNote",
      parameters: [
        { name: "site-id", in: "path", required: true, schema: id },
        query("filter[state]", { type: "string", enum: ["on", "off"] }),
        query("ids", { type: "array", items: { type: "integer" }, maxItems: 3 }, { explode: false }),
        { name: "X-Trace", in: "header", schema: { type: "string", maxLength: 40 } },
      ],
      ...jsonBody(object(members, ["text"])),
    });
    const args = { site_id: "abc", filter_state: "on", ids: [1, 2], x_trace: "t", text: "hi", body_site_id: 1 };
    const bound = bindAction(pack, action.name, args);
    assert.ok(bound.kind === "http");
    assert.equal(bound.url, "https://api.acme.example/v2/sites/abc/notes?filter%5Bstate%5D=on&ids=1%2C2");
    assert.equal(bound.headers["x-trace"], "t");
    assert.deepEqual(JSON.parse(String(bound.body)), { text: "hi", "site-id": 1 });
    assert.equal(schemaOf(action, "site_id")?.pattern, "^[a-z]{3,9}$");
    assert.equal(schemaOf(action, "body_site_id")?.minimum, 1);
    assert.deepEqual(
      action.inputs.filter(({ optional }) => !optional).map(({ name }) => name),
      ["site_id", "text"],
    );
  });

  test("text and lists without a bound get one, and a pattern that can run away is dropped with a remark", () => {
    const { action, text } = only("/s", "get", {
      parameters: [
        query("q", { type: "string", pattern: "^(a+)+$" }),
        query("l", { type: "array", items: { type: "string" } }),
      ],
    });
    assert.equal(schemaOf(action, "q")?.maxLength, 1024);
    assert.equal(schemaOf(action, "q")?.pattern, undefined);
    assert.match(text, /# REVIEW: query q: its pattern is dropped/);
    assert.equal(schemaOf(action, "l")?.maxItems, 100);
  });

  test("numbers keep their bounds, open ones closed where they are whole, and bounds that contradict are dropped", () => {
    const bounds = (schema: JsonObject) => {
      const { action, text } = only("/s", "get", { parameters: [query("n", schema)] });
      const { minimum, maximum } = schemaOf(action, "n") ?? {};
      return [minimum, maximum, text.includes("REVIEW: query n")];
    };
    assert.deepEqual(bounds({ type: "integer", minimum: 1, maximum: 9 }), [1, 9, false]);
    assert.deepEqual(bounds({ type: "integer", minimum: 0, exclusiveMinimum: true, maximum: 9 }).slice(1), [9, false]);
    const contradicted = bounds({ type: "integer", minimum: 9, maximum: 1 });
    assert.equal(contradicted[2], true);
    assert.notEqual(contradicted[0], 9);
  });

  test("inputs that look like secrets, roles or addresses are named to the reviewer first", () => {
    const text = { type: "string" };
    const drafted = only(
      "/s",
      "post",
      jsonBody(object({ password: text, callback_url: text, role: text, name: text, free: {} })),
    );
    const remarks = drafted.text.split("\n").filter((line) => line.startsWith("  # REVIEW: "));
    assert.deepEqual(
      remarks.map((line) => line.slice(line.lastIndexOf(": ") + 2)),
      ["callback_url", "password", "role", "the document does not say its type"],
    );
  });

  test("a null goes where JSON can carry it and nowhere else", () => {
    const nullable = { type: "string", nullable: true };
    const { action } = only("/s", "put", {
      parameters: [query("q", nullable)],
      ...jsonBody(object({ b: nullable, e: { type: "string", nullable: true, enum: ["x"] } })),
    });
    assert.equal(schemaOf(action, "q")?.type, "string");
    assert.deepEqual(schemaOf(action, "b")?.type, ["string", "null"]);
    assert.deepEqual(schemaOf(action, "e")?.enum, ["x", null]);
  });

  test("a schema that holds itself is cut off, and the cut is told", () => {
    const node = object({ name: { type: "string" }, child: { $ref: "#/components/schemas/Node" } });
    const { text } = only("/s", "post", jsonBody(object({ tree: { $ref: "#/components/schemas/Node" } })), {
      components: { schemas: { Node: node } },
    });
    assert.match(text, /# REVIEW: body tree: .*"child".*nests deeper than 4/);
  });

  test("schemas that multiply by referring to each other are left out before they fill the memory", () => {
    const names = Array.from({ length: 60 }, (_, index) => `m${index}`);
    const node = object(Object.fromEntries(names.map((name) => [name, { $ref: "#/components/schemas/Node" }])));
    const { action, text } = only("/s", "post", jsonBody(object({ tree: { $ref: "#/components/schemas/Node" } })), {
      components: { schemas: { Node: node } },
    });
    assert.deepEqual(action.inputs, []);
    assert.match(text, /# REVIEW: body tree is left out: it has more than 500 parts/);
  });

  test("members that only an answer has are not asked for", () => {
    const { action } = only(
      "/s",
      "post",
      jsonBody(object({ id: { type: "string", readOnly: true }, name: { type: "string" } }, ["id"])),
    );
    assert.deepEqual(
      action.inputs.map(({ name }) => name),
      ["name"],
    );
  });

  const unfitQueries: readonly (readonly [why: string, parameter: JsonObject])[] = [
    ["an object in a query", query("p", object({ a: { type: "string" } }), { style: "deepObject" })],
    ["a list with bars between", query("p", { type: "array", items: { type: "string" } }, { style: "pipeDelimited" })],
    ["a value of no type", query("p", {})],
    ["a cookie", { name: "p", in: "cookie", schema: { type: "string" } }],
    ["a header of framing", { name: "Transfer-Encoding", in: "header", schema: { type: "string" } }],
    ["an idempotency token", { name: "Idempotency-Key", in: "header", schema: { type: "string" } }],
    ["values with hidden characters", query("p", { type: "string", enum: ["a\u202eb"] })],
  ];
  for (const [why, parameter] of unfitQueries) {
    test(`${why} is left out with a remark`, () => {
      const { action, text } = only("/s", "get", { parameters: [parameter] });
      assert.deepEqual(action.inputs, []);
      assert.match(text, /# REVIEW: (?:query|header|cookie) \S+ is left out: /);
    });
  }

  test("Swagger 2: lists part by commas, forms are forms, and a file is a part", () => {
    const root: JsonObject = {
      swagger: "2.0",
      info: { title: "Old", version: "1" },
      host: "api.acme.example",
      basePath: "/v1",
      paths: {
        "/f": {
          post: {
            operationId: "postForm",
            responses: ok,
            parameters: [{ name: "a", in: "formData", type: "string", required: true }],
          },
        },
        "/u": {
          post: {
            operationId: "upload",
            responses: ok,
            parameters: [{ name: "data", in: "formData", type: "file", required: true }],
          },
        },
        "/l": {
          get: {
            operationId: "list",
            responses: ok,
            parameters: [{ name: "ids", in: "query", type: "array", items: { type: "string" } }],
          },
        },
      },
    };
    const pack = load(draft(root));
    const bound = bindAction(pack, "list", { ids: ["a", "b"] });
    assert.equal(bound.kind === "http" && bound.url, "https://api.acme.example/v1/l?ids=a%2Cb");
    const form = bindAction(pack, "post_form", { a: "x y" });
    assert.equal(form.kind === "http" && String(form.body), "a=x+y");
    const file = pack.actions.get("upload")?.inputs[0];
    assert.equal(file?.part, "file");
    assert.equal(file.opaque, true);
  });
});

describe("what is left out", () => {
  test("an operation that needs what a pack cannot say is left out, with its reason in the file", () => {
    const bytes = { requestBody: { required: true, content: { "application/octet-stream": { schema: {} } } } };
    assert.match(whyNot("/s", "put", bytes), /octet-stream/);
    assert.match(whyNot("/s", "post", jsonBody({ type: "array", items: { type: "string" } })), /no object/);
    assert.match(
      whyNot("/s", "post", jsonBody({ oneOf: [object({ a: { type: "string" } }), object({ b: { type: "string" } })] })),
      /several forms/,
    );
    assert.match(whyNot("/s", "post", jsonBody(object({ free: { type: "object" } }, ["free"]))), /free members/);
    assert.match(whyNot("/s", "get", { parameters: [query("p", {}, { required: true })] }), /does not say its type/);
    assert.match(
      whyNot("/s/{id}.json", "get", {
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      }),
      /mixes text and braces/,
    );
    assert.match(whyNot("/s/{id}", "get", {}), /does not describe \{id\}/);
    assert.match(whyNot("/s", "options", {}), /OPTIONS/);
    assert.match(
      whyNot("/s", "get", { servers: [{ url: "https://other.example" }] }),
      /served at https:\/\/other.example/,
    );
  });

  test("a document of which nothing fits drafts nothing", () => {
    refuses("value_not_allowed", document({ "/s": { options: { responses: ok } } }));
  });
});

function refuses(code: string, root: JsonObject, request: Partial<DraftRequest> = {}): void {
  assert.throws(
    () => draft(root, request),
    (error) => error instanceof Denied && error.code === code,
  );
}

describe("the provider", () => {
  const paths = { "/s": { get: { operationId: "getS", responses: ok } } };
  const secured = (schemes: JsonObject, security: readonly JsonObject[]): Pack["provider"] =>
    load(draft(document(paths, { components: { securitySchemes: schemes }, security: [...security] }))).provider;

  test("the credential is a label, carried as the document says", () => {
    assert.deepEqual(secured({ k: { type: "apiKey", in: "header", name: "X-Key" } }, [{ k: [] }])?.auth, {
      scheme: "header",
      header: "x-key",
    });
    assert.equal(secured({ b: { type: "http", scheme: "bearer" } }, [{ b: [] }])?.auth?.scheme, "bearer");
    assert.equal(secured({ o: { type: "oauth2", flows: {} } }, [{ o: [] }])?.credential, "acme");
    const both = { p: { type: "http", scheme: "basic" }, z: { type: "http", scheme: "bearer" } };
    assert.equal(secured(both, [{ p: [] }, { z: [] }])?.auth?.scheme, "bearer");
  });

  test("a key in the query is not carried, and that is told", () => {
    const security = {
      components: { securitySchemes: { q: { type: "apiKey", in: "query", name: "key" } } },
      security: [{ q: [] }],
    };
    const drafted = draft(document(paths, security));
    assert.equal(load(drafted).provider?.credential, null);
    assert.match(drafted.text, /REVIEW: no way to carry a credential/);
    assert.match(drafted.text, /REVIEW: the document asks for q, which this pack does not send/);
  });

  test("the origin is https, the document's own or the one that was said, and keeps the document's path", () => {
    const relative = document(paths, { servers: [{ url: "/v9" }] });
    refuses("origin_refused", relative);
    refuses("origin_refused", document(paths, { servers: [{ url: "http://api.acme.example" }] }));
    refuses("origin_refused", relative, { origin: "https://api.acme.example/v1" });
    const pack = load(draft(relative, { origin: "https://eu.acme.example" }));
    const bound = bindAction(pack, "get_s", {});
    assert.equal(bound.kind === "http" && bound.url, "https://eu.acme.example/v9/s");
  });
});

describe("the choice", () => {
  const paths = {
    "/s": { get: { operationId: "getS", responses: ok }, delete: { responses: ok } },
    "/t": { get: { operationId: "get-s", responses: ok } },
  };

  test("operations are chosen by operationId or by method and path, and nothing else is drafted", () => {
    assert.deepEqual(draft(document(paths), { operations: ["getS"] }).actions, ["get_s"]);
    assert.deepEqual(draft(document(paths), { operations: ["DELETE /s"] }).actions, ["delete_s"]);
  });

  test("two operations of one name get two names", () => {
    assert.deepEqual(draft(document(paths), { operations: ["getS", "get-s"] }).actions, ["get_s", "get_s_2"]);
  });

  test("an operation that is not there and a name that is none are refused", () => {
    refuses("value_not_allowed", document(paths), { operations: ["getX"] });
    refuses("value_not_allowed", document(paths), { pack: "Acme" });
  });

  test("more than a pack holds is refused with its size, never cut in silence", () => {
    const many = Object.fromEntries(
      Array.from({ length: 501 }, (_, index) => [`/s${index}`, { get: { responses: ok } }]),
    );
    refuses("pack_too_large", document(many));
  });
});

test("whatever texts a document holds, the draft is a pack of the chosen operation alone, or a denial", () => {
  const hostile = fc.oneof(
    anyText({ maxLength: 30 }),
    fc.constantFrom(
      "x\n  evil:\n    effect: read",
      "# }",
      "a: b",
      "yes",
      "- x",
      "{a: 1}",
      "\u202e",
      '"',
      "'",
      "|",
      "%41",
      "__proto__",
      "1e9",
      "null",
      "&a *a !t",
    ),
  );
  fc.assert(
    fc.property(hostile, hostile, hostile, hostile, hostile, (title, id, summary, name, value) => {
      const operation = {
        operationId: id,
        summary,
        responses: ok,
        parameters: [
          query(name === "" ? "n" : name, { type: "string", enum: [value] }),
          query("p", { type: "string", pattern: value }),
        ],
        ...jsonBody(object({ [name]: { type: "string" }, inner: object({ [value]: { type: "integer" } }) }), false),
      };
      const root = document({ "/s": { post: operation } }, { info: { title, version: value } });
      let drafted: PackDraft;
      try {
        drafted = draft(root);
      } catch (error) {
        assert.ok(error instanceof Denied);
        return;
      }
      const pack = load(drafted);
      assert.deepEqual([...pack.actions.keys()], [...drafted.actions]);
      assert.equal(pack.actions.size, 1);
      assert.equal(pack.provider?.origin, "https://api.acme.example");
      const [action] = pack.actions.values();
      assert.ok(action?.kind === "http" && action.template.text === "/v2/s");
      assert.ok(hasSideEffect(action.effect) && action.needs.approval === "each_use");
    }),
    { numRuns: runsOf(150) },
  );
});
