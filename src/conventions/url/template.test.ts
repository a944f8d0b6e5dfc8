import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { parseTemplate } from "./template.ts";

function refusal(text: string): string {
  try {
    parseTemplate(text);
  } catch (error) {
    if (error instanceof Denied) return error.code;
    throw error;
  }
  return "accepted";
}

describe("a template is literal segments and single {name} segments", () => {
  test("it names its parameters in order", () => {
    const template = parseTemplate("/v1/projects/{project_id}/members/{member}");
    assert.deepEqual(template.parameters, ["project_id", "member"]);
    assert.deepEqual(
      template.segments.map((segment) => segment.kind),
      ["literal", "literal", "parameter", "literal", "parameter"],
    );
    assert.equal(template.trailingSlash, false);
  });

  test("a final slash belongs to the author's shape, not to a value", () => {
    assert.equal(parseTemplate("/v1/projects/").trailingSlash, true);
    assert.deepEqual(parseTemplate("/").segments, []);
  });

  const refused = [
    "",
    "v1/x",
    "//",
    "/a//b",
    "/a/../b",
    "/./a",
    "/a/{id}.json",
    "/a/x{id}",
    "/a/{id}:cancel",
    "/a/{}",
    "/a/{1d}",
    "/a/{id",
    "/a/id}",
    "/a/{{id}}",
    "/a/{+id}",
    "/a/{id*}",
    "/a/{a,b}",
    "/a/{id}/{id}",
    "/a?x=1",
    "/a#b",
    "/a b",
    "/a%2Fb",
    "/%2e%2e/b",
    "/a\\b",
    "/é",
    "/a\n",
    `/${"a".repeat(2000)}`,
  ];
  for (const text of refused) {
    test(`${JSON.stringify(text.slice(0, 20))} is refused`, () => assert.equal(refusal(text), "template_malformed"));
  }

  test("whatever is accepted survives the URL parser as it stands", () => {
    const piece = fc.oneof(
      fc.constantFrom("/", "{id}", "{x}", ".", "..", "%2e", "a", "v1", ":", "@", ";", "'", "!", "*"),
      fc.string({ maxLength: 3 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = `/${pieces.join("")}`;
        if (refusal(text) !== "accepted") return;
        const filled = text.replaceAll(/\{\w+\}/g, "value");
        assert.equal(new URL(`https://a.example${filled}`).href, `https://a.example${filled}`);
      }),
      { numRuns: 3000 },
    );
  });
});
