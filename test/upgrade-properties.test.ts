import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { stringify } from "yaml";
import { runsOf } from "../src/kernel/testing/whole.ts";
import { acme, api, brief, type Loose, put, reviewOf, shuffled } from "./upgrade-acme.ts";

/** Shapes that documents are made of, with references into a closed set of components, cycles among them. */
const names = ["Alpha", "Beta", "Gamma"];
const schema = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3, depthIdentifier: "schema" },
    fc.constantFrom(...names).map((name) => ({ $ref: `#/components/schemas/${name}` })),
    fc.record({ type: fc.constantFrom("string", "integer", "boolean") }),
    fc.record({
      type: fc.constant("string"),
      enum: fc.uniqueArray(fc.constantFrom("a", "b", "c", "d"), { minLength: 1 }),
    }),
    fc.record({ type: fc.constant("integer"), default: fc.nat(9), maximum: fc.nat(99) }),
    tie("any").map((items) => ({ type: "array", items })),
    fc
      .dictionary(
        fc.constantFrom("id", "name", "role", "token", "next_cursor", "description", "__proto__x"),
        tie("any"),
        { maxKeys: 4 },
      )
      .map((properties) => ({ type: "object", properties, required: Object.keys(properties).slice(0, 1) })),
    fc.array(tie("any"), { minLength: 1, maxLength: 3 }).map((oneOf) => ({ oneOf })),
  ),
})).any;
const plainSchema = schema.filter((one) => typeof one === "object" && one !== null && !("$ref" in one));

const operation = fc.record({
  parameters: fc.uniqueArray(
    fc.record({
      name: fc.constantFrom("limit", "state", "team_id", "q"),
      in: fc.constantFrom("query", "header"),
      required: fc.boolean(),
      schema,
    }),
    { selector: (one) => `${one.in} ${one.name}`, maxLength: 3 },
  ),
  security: fc.constantFrom([], [{ key: [] }], [{ oauth: ["a"] }], [{ oauth: ["a", "b"] }, { key: [] }], [{}]),
  responses: schema.map((one) => ({
    "200": { description: "ok", content: { "application/json": { schema: one } } },
    "403": { description: "no" },
  })),
});

const document = fc
  .record({
    paths: fc.dictionary(
      fc.constantFrom("/a", "/a/{id}", "/b/{x}/c", "/send"),
      fc.record({ get: operation, post: operation }, { requiredKeys: [] }),
      { maxKeys: 4 },
    ),
    alpha: plainSchema,
    beta: plainSchema,
    gamma: plainSchema,
    host: fc.constantFrom("https://a.example", "https://b.example/v2"),
  })
  .map(({ paths, alpha, beta, gamma, host }) => ({
    openapi: "3.1.0",
    info: { title: "T", version: "1" },
    servers: [{ url: host }],
    components: {
      securitySchemes: {
        key: { type: "apiKey", in: "header", name: "K" },
        oauth: { type: "oauth2", flows: { password: { tokenUrl: "https://a.example/t", scopes: { a: "", b: "" } } } },
      },
      schemas: { Alpha: alpha, Beta: beta, Gamma: gamma },
    },
    paths,
  }));

test("a document against itself yields nothing", () => {
  fc.assert(
    fc.property(document, (one) => {
      assert.deepEqual(brief(reviewOf(one, one)), []);
    }),
    { numRuns: runsOf(150) },
  );
});

test("order of members never matters, and neither does the order of lists that are sets", () => {
  fc.assert(
    fc.property(
      document,
      document,
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
      (before, after, chance) => {
        const next = (): number => chance.next().value ?? 0;
        assert.deepEqual(brief(reviewOf(before, shuffled(before, next))), []);
        const plain = reviewOf(before, after).differences.map(({ id }) => id);
        const mixed = reviewOf(shuffled(before, next), shuffled(after, next)).differences.map(({ id }) => id);
        assert.deepEqual(mixed, plain);
      },
    ),
    { numRuns: runsOf(80) },
  );
});

test("a document means the same in JSON and in YAML", () => {
  fc.assert(
    fc.property(document, (one) => {
      const json = api(one, "a.json");
      const yaml = api(stringify(one, { aliasDuplicateObjects: false }), "a.yaml");
      assert.deepEqual(brief(reviewOf(one, one)), []);
      assert.deepEqual(
        yaml.operations.map(({ key, security, roles }) => [key, security, roles]),
        json.operations.map(({ key, security, roles }) => [key, security, roles]),
      );
    }),
    { numRuns: runsOf(40) },
  );
});

test("every operation that is only in the new document is reported once, on a reach surface", () => {
  fc.assert(
    fc.property(document, document, (before, after) => {
      const keys = (one: typeof before): string[] => api(one).operations.map(({ key }) => key);
      const expected = keys(after).filter((key) => !keys(before).includes(key));
      const found = reviewOf(before, after).differences.filter(({ kind }) => kind === "operation_added");
      assert.deepEqual(found.map(({ subject }) => subject).sort(), expected.sort());
      assert.ok(found.every(({ surface }) => surface === "action_reach" || surface === "resource_reach"));
    }),
    { numRuns: runsOf(80) },
  );
});

test("ids are unique within a review, and groups never mix surfaces", () => {
  fc.assert(
    fc.property(document, document, (before, after) => {
      const { differences } = reviewOf(before, after);
      assert.equal(new Set(differences.map(({ id }) => id)).size, differences.length);
      const surfaces = new Map<string, string>();
      for (const { group, surface } of differences) {
        assert.equal(surfaces.get(group) ?? surface, surface);
        surfaces.set(group, surface);
      }
    }),
    { numRuns: runsOf(80) },
  );
});

test("prose alone changes nothing", () => {
  const words = fc.string({ maxLength: 40 }).filter((text) => !/role|permission|scope/i.test(text));
  fc.assert(
    fc.property(words, words, (one, two) => {
      const after = acme() as Loose;
      put("components > schemas > Project > description", one)(after);
      put("components > schemas > Project > properties > name > example", two)(after);
      put("paths > /projects > get > summary", `List ${one}`)(after);
      put("info > description", two)(after);
      put("paths > /projects > get > x-internal", { a: [one, two] })(after);
      assert.deepEqual(brief(reviewOf(acme(), after)), []);
    }),
    { numRuns: runsOf(50) },
  );
});
