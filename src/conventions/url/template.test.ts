import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { parseTemplate, restOf } from "./template.ts";

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
    assert.deepEqual([template.trailingSlash, template.prefix], [false, "/v1/projects/"]);
    assert.equal(parseTemplate("/v1/projects").prefix, "/v1/projects");
  });

  test("a rest stands last, once", () => {
    const template = parseTemplate("/repos/{repo}/contents/{path+}");
    assert.deepEqual([template.parameters, restOf(template)], [["repo", "path"], "path"]);
    for (const none of ["/", "/repos/contents", "/repos/{path}"]) assert.equal(restOf(parseTemplate(none)), null);
    for (const bad of ["/{path+}/x", "/{path+}/", "/{path+}/{path+}", "/{a+}/{b}", "/{path}/{path+}"])
      assert.equal(refusal(bad), "template_malformed", bad);
  });

  test("a template is as long as a template may be", () => {
    const longest = `/${"a".repeat(defaults.urlTemplateCharacters - 1)}`;
    assert.deepEqual([refusal(longest), refusal(`${longest}a`)], ["accepted", "template_malformed"]);
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
      { numRuns: runsOf(3000) },
    );
  });
});
