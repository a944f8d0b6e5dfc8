import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../../../kernel/json.ts";
import { readDocument } from "../document/read-document.ts";
import type { Api } from "../model/api.ts";
import { buildApi } from "../model/build-api.ts";
import { reviewUpgrade } from "./review.ts";

/** One operation whose body is this; what its references lead to stands beside the components, without a name. */
function api(body: object, shared: object): Api {
  const document = {
    openapi: "3.1.0",
    info: { title: "Acme", version: "1" },
    paths: {
      "/things": {
        post: {
          requestBody: { content: { "application/json": { schema: body } } },
          responses: { "200": { description: "ok" } },
        },
      },
    },
    ...shared,
  };
  return buildApi(readDocument("a.json", Buffer.from(JSON.stringify(document))));
}

/** Where something differs, when what the body refers to becomes something else. */
function places(body: object, before: object, after: object): readonly string[] {
  return reviewUpgrade(api(body, before), api(body, after), []).differences.map(({ at }) => at);
}

const to = (name: string): JsonObject => ({ $ref: `#/x-${name}` });
const object = (properties: object): object => ({ type: "object", properties });
const text = { type: "string" };

test("a schema without a name is told at every place of a body that refers to it", () => {
  const body = object({ owner: to("person"), backup: to("person"), team: object({ lead: to("person") }) });
  const person = (more: object): object => ({ "x-person": object({ name: text, ...more }) });
  assert.deepEqual(places(body, person({}), person({ role: text })), [
    "body.backup.role",
    "body.owner.role",
    "body.team.lead.role",
  ]);
  assert.deepEqual(places(body, person({}), person({})), []);
});

test("schemas that hold each other are told once from every place that leads into them", () => {
  const body = object({ first: to("node"), last: to("leaf") });
  const knot = (more: object): object => ({
    "x-node": object({ next: to("node"), leaves: { type: "array", items: to("leaf") } }),
    "x-leaf": object({ parent: to("node"), ...more }),
  });
  assert.deepEqual(places(body, knot({}), knot({ role: text })), ["body.first.leaves[].role", "body.last.role"]);
});

test("what does not differ is walked once, whatever number of ways leads there", () => {
  // Each holds the next one twice: as many places as a billion billions.
  const fan = (more: object): object =>
    Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [`x-${n}`, object({ left: to(`${n + 1}`), right: to(`${n + 1}`) })]).concat([
        ["x-60", object(more)],
      ]),
    );
  assert.deepEqual(places(to("0"), fan({ a: text }), fan({ a: text })), []);
  assert.throws(() => places(to("0"), fan({}), fan({ a: text })), { code: "document_too_large" });
});
