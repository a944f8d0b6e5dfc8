import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { anyText } from "../../kernel/testing/any-text.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { type BuiltUrl, buildUrl, type PathArgument } from "./build.ts";
import { decodePath } from "./decode.ts";
import { encodeComponent, type PercentRule } from "./encode.ts";
import { type Origin, readOrigin } from "./origin.ts";
import { buildQuery, type QueryPair, type Scalar } from "./query.ts";
import { type PathTemplate, parseTemplate } from "./template.ts";

const origin = readOrigin("https://api.acme.example");
const vectors = join(import.meta.dirname, "../../../../shared/vectors");

function build(template: string, path: Record<string, Scalar>, query: readonly QueryPair[] = []): BuiltUrl {
  const values = new Map(
    Object.entries(path).map(([name, value]): [string, PathArgument] => [name, { value, percent: "refuse" }]),
  );
  return buildUrl({ origin, template: parseTemplate(template), path: values, query });
}

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof Denied) return error.code;
    throw error;
  }
  return "accepted";
}

/** Text made of what breaks URLs, mixed with arbitrary code units, lone surrogates among them. */
const hostile: fc.Arbitrary<string> = fc.oneof(
  anyText(),
  fc.array(fc.nat(0xffff), { maxLength: 8 }).map((units) => String.fromCharCode(...units)),
  fc
    .array(
      fc.oneof(
        fc.constantFrom("/", "\\", ".", "..", "%2e", "%2F", "%252F", "%", "?", "#", "&", "=", "+", " ", "@", ":", "//"),
        fc.constantFrom("\r\n", "\t", "\0", ";", "[]", "://evil.example", "javascript:", "é", "\u2025", "\uff0e", "😀"),
        fc.string({ maxLength: 3 }),
      ),
      { maxLength: 8 },
    )
    .map((pieces) => pieces.join("")),
);
const percent: fc.Arbitrary<PercentRule> = fc.constantFrom("refuse", "literal");

describe("a path parameter is a single segment", () => {
  const cases: readonly [string, Scalar, string][] = [
    ["a plain name", "p-1", "/projects/p-1/builds"],
    ["a slash is data", "a/b", "/projects/a%2Fb/builds"],
    ["a backslash is data", "a\\b", "/projects/a%5Cb/builds"],
    ["an at sign is data", "user@evil.example", "/projects/user%40evil.example/builds"],
    ["a query mark is data", "a?x=1", "/projects/a%3Fx%3D1/builds"],
    ["a fragment mark is data", "a#b", "/projects/a%23b/builds"],
    ["a plus is data", "a+b", "/projects/a%2Bb/builds"],
    ["a space is %20 in a path", "a b", "/projects/a%20b/builds"],
    ["a lone percent is data", "100%", "/projects/100%25/builds"],
    ["a semicolon is data", "..;x", "/projects/..%3Bx/builds"],
    ["Unicode is UTF-8", "é", "/projects/%C3%A9/builds"],
    ["an integer is its digits", 7, "/projects/7/builds"],
    ["three dots are a name", "...", "/projects/.../builds"],
    ["a whole URL is a name", "https://www.example.com/", "/projects/https%3A%2F%2Fwww.example.com%2F/builds"],
  ];
  for (const [name, value, expected] of cases) {
    test(name, () => assert.equal(build("/projects/{id}/builds", { id: value }).url, `${origin}${expected}`));
  }

  const refused: readonly [string, Scalar, string][] = [
    ["an empty segment", "", "segment_refused"],
    ["a dot", ".", "segment_refused"],
    ["two dots", "..", "segment_refused"],
    ["an encoded dot", "%2e", "already_encoded"],
    ["encoded dots, mixed", ".%2E", "already_encoded"],
    ["a climb behind a slash", "../admin", "segment_refused"],
    ["a climb behind a backslash", "x\\..\\admin", "segment_refused"],
    ["a dot between slashes", "a/./b", "segment_refused"],
    ["an encoded slash", "a%2Fb", "already_encoded"],
    ["a doubly encoded slash", "a%252Fb", "already_encoded"],
    ["a header break", "a\r\nX-Evil: 1", "text_malformed"],
    ["a NUL", "a\0", "text_malformed"],
    ["a lone surrogate", "a\ud800", "text_malformed"],
    ["a number that is none", Number.NaN, "value_not_allowed"],
  ];
  for (const [name, value, code] of refused) {
    test(`${name} is refused`, () =>
      assert.equal(
        codeOf(() => build("/projects/{id}", { id: value })),
        code,
      ));
  }

  test("an argument that is missing is refused, not left out", () => {
    assert.equal(
      codeOf(() => build("/projects/{id}", {})),
      "missing_member",
    );
  });

  test("percent: literal turns %2F into %252F", () => {
    const path = new Map([["id", { value: "a%2Fb", percent: "literal" as const }]]);
    const { url } = buildUrl({ origin, template: parseTemplate("/p/{id}"), path, query: [] });
    assert.equal(url, `${origin}/p/a%252Fb`);
    assert.deepEqual(decodePath(new URL(url).pathname), ["p", "a%2Fb"]);
  });

  test("a URL longer than the limit is refused", () => {
    const longest = "a".repeat(defaults.urlCharacters - `${origin}/p/`.length);
    assert.equal(build("/p/{id}", { id: longest }).url.length, defaults.urlCharacters);
    assert.equal(
      codeOf(() => build("/p/{id}", { id: `${longest}a` })),
      "value_not_allowed",
    );
  });
});

describe("a rest is all the segments that are left of a path", () => {
  const cases: readonly [string, string][] = [
    ["README.md", "/repos/r/contents/README.md"],
    ["docs/a b/c.md", "/repos/r/contents/docs/a%20b/c.md"],
    ["docs\\a?b#c", "/repos/r/contents/docs%5Ca%3Fb%23c"],
  ];
  for (const [path, expected] of cases) {
    test(`${JSON.stringify(path)} keeps its slashes, and nothing else is more than data`, () =>
      assert.equal(build("/repos/{repo}/contents/{path+}", { repo: "r", path }).url, `${origin}${expected}`));
  }

  const refused: readonly [string, string][] = [
    ["", "segment_refused"],
    ["/", "segment_refused"],
    ["/etc", "segment_refused"],
    ["docs//a", "segment_refused"],
    ["docs/", "segment_refused"],
    ["docs/../admin", "segment_refused"],
    ["docs/.", "segment_refused"],
    ["docs/%2e%2e/admin", "already_encoded"],
  ];
  for (const [path, code] of refused) {
    test(`${JSON.stringify(path)} is refused`, () =>
      assert.equal(
        codeOf(() => build("/repos/{repo}/contents/{path+}", { repo: "r", path })),
        code,
      ));
  }

  test("a slash of a single segment beside it stays data", () => {
    const { url } = build("/repos/{repo}/contents/{path+}", { repo: "a/b", path: "c/d" });
    assert.equal(url, `${origin}/repos/a%2Fb/contents/c/d`);
  });
});

describe("no argument value whatsoever can change origin, path shape or add a parameter", () => {
  const origins = [
    "https://api.acme.example",
    "https://api.acme.example:8443",
    "http://127.0.0.1:8080",
    "http://[::1]:1",
  ];
  const templates = ["/v1/projects/{a}/members/{b}", "/{a}/{b}", "/x:y/{a}/@z/{b}/", "/a!$&'()*+,;=/{a}/-_.~/{b}"];

  test("the finished URL has the author's origin, segments and parameters, and gives the arguments back", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...origins),
        fc.constantFrom(...templates),
        fc.tuple(hostile, hostile, hostile, percent, fc.array(hostile, { maxLength: 3 })),
        (originText, template, [a, b, q, rule, labels]) => {
          const parsed = parseTemplate(template);
          const path = new Map(
            [a, b].map((value, index) => [index === 0 ? "a" : "b", { value, percent: rule }] as const),
          );
          const query: QueryPair[] = [
            { name: "q", value: q, percent: rule, list: null },
            { name: "label[]", value: labels, percent: rule, list: "repeat" },
          ];
          let url: URL;
          try {
            url = new URL(buildUrl({ origin: readOrigin(originText), template: parsed, path, query }).url);
          } catch (error) {
            assert.ok(error instanceof Denied, String(error));
            return;
          }
          assert.equal(url.origin, originText);
          assert.equal(url.username + url.password + url.hash, "");
          const segments = url.pathname.split("/").slice(1);
          if (parsed.trailingSlash) assert.equal(segments.pop(), "");
          assert.equal(segments.length, parsed.segments.length);
          parsed.segments.forEach((segment, index) => {
            const expected = segment.kind === "literal" ? segment.text : segment.name === "a" ? a : b;
            const raw = segments[index] ?? "";
            assert.equal(segment.kind === "literal" ? raw : decodeURIComponent(raw), expected);
          });
          assert.deepEqual([...url.searchParams], [["q", q], ...labels.map((label) => ["label[]", label])]);
        },
      ),
      { numRuns: runsOf(3000) },
    );
  });

  test("already-encoded text never passes where it was not declared", () => {
    fc.assert(
      fc.property(
        hostile,
        fc.constantFrom("%00", "%2F", "%2e", "%C3%A9", "%25", "%7e"),
        hostile,
        (before, encoded, after) => {
          const value = before + encoded + after;
          assert.equal(
            codeOf(() => build("/p/{id}", { id: value })),
            "already_encoded",
          );
          const query: QueryPair[] = [{ name: "q", value, percent: "refuse", list: null }];
          assert.equal(
            codeOf(() => build("/p", {}, query)),
            "already_encoded",
          );
        },
      ),
    );
  });
});

describe("the finished URL is parsed again and compared with the intended origin and segment count", () => {
  const forged = (text: string): PathTemplate => ({
    text,
    segments: [{ kind: "literal", text }],
    parameters: [],
    trailingSlash: false,
    prefix: text,
  });

  // Nothing that this room parses can look like this: the guard is for a mistake of our own elsewhere.
  for (const literal of ["..", "a/b", "a b", "x?y", "x#y", "\\x", "%2e"]) {
    test(`a template that slipped through with ${JSON.stringify(literal)} is caught`, () => {
      const parts = { origin, template: forged(literal), path: new Map(), query: [] };
      assert.equal(
        codeOf(() => buildUrl(parts)),
        "url_altered",
      );
    });
  }

  test("a rest that slipped through with a slash behind it is caught", () => {
    const template = { ...parseTemplate("/a/{path+}"), trailingSlash: true };
    const path = new Map([["path", { value: "x/y", percent: "refuse" as const }]]);
    assert.equal(
      codeOf(() => buildUrl({ origin, template, path, query: [] })),
      "url_altered",
    );
  });

  for (const bent of [
    "https://user@api.acme.example",
    "https://api.acme.example/v1",
    "https://API.acme.example",
    "api",
  ]) {
    test(`an origin that slipped through as ${bent} is caught`, () => {
      const parts = { origin: bent as Origin, template: parseTemplate("/x"), path: new Map(), query: [] };
      assert.equal(
        codeOf(() => buildUrl(parts)),
        "url_altered",
      );
    });
  }
});

describe("query strings are built with the form convention", () => {
  const pair = (name: string, value: QueryPair["value"], list: QueryPair["list"] = null): QueryPair => ({
    name,
    value,
    percent: "refuse",
    list,
  });

  test("a space is + and a literal plus is %2B", () => {
    assert.equal(buildQuery([pair("q", "a b+c&d=e")]), "q=a+b%2Bc%26d%3De");
  });

  test("it writes what URLSearchParams writes", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string({ unit: "grapheme" }), fc.string({ unit: "grapheme" }))), (entries) => {
        const unique = [...new Map(entries)];
        const ours = buildQuery(unique.map(([name, value]) => ({ name, value, percent: "literal", list: null })));
        assert.equal(ours, new URLSearchParams(unique).toString());
      }),
    );
  });

  test("arrays use the one declared serialization", () => {
    assert.equal(buildQuery([pair("label", ["a", "b"], "repeat")]), "label=a&label=b");
    assert.equal(buildQuery([pair("label", ["a", "b"], "comma")]), "label=a%2Cb");
    assert.equal(buildQuery([pair("label", [1, true], "repeat")]), "label=1&label=true");
  });

  test("an empty string and an absent parameter stay two states, and an empty list has no form", () => {
    assert.equal(buildQuery([pair("q", "")]), "q=");
    assert.equal(buildQuery([]), "");
    assert.equal(
      codeOf(() => buildQuery([pair("label", [], "repeat")])),
      "value_not_allowed",
    );
  });

  test("a comma inside a comma-joined element is refused, for it would become two", () => {
    assert.equal(
      codeOf(() => buildQuery([pair("label", ["a,b"], "comma")])),
      "value_not_allowed",
    );
    for (const list of [
      ["", ""],
      ["a", "b,c"],
      ["a", ""],
    ])
      assert.equal(
        codeOf(() => buildQuery([pair("label", list, "comma")])),
        "value_not_allowed",
      );
  });

  test("what has no text has no form", () => {
    for (const value of [null, { a: 1 }, Number.POSITIVE_INFINITY, ["a", null]])
      assert.equal(
        codeOf(() => buildQuery([pair("label", value as unknown as Scalar, "repeat")])),
        "value_not_allowed",
      );
  });

  test("repeated scalars are refused", () => {
    assert.equal(
      codeOf(() => buildQuery([pair("q", "a"), pair("q", "b")])),
      "parameter_repeated",
    );
    assert.equal(
      codeOf(() => buildQuery([pair("q", ["a", "b"])])),
      "parameter_repeated",
    );
  });
});

describe("public vectors", () => {
  test("uritemplate-test: a level-1 expression expands as RFC 6570 says", (context) => {
    const folder = join(vectors, "uritemplate-test");
    if (!existsSync(folder)) return context.skip("the public vectors are not beside this checkout");
    let checked = 0;
    for (const file of ["spec-examples.json", "spec-examples-by-section.json", "extended-tests.json"]) {
      const sections = JSON.parse(readFileSync(join(folder, file), "utf8")) as Record<
        string,
        { variables: Record<string, unknown>; testcases: [string, unknown][] }
      >;
      for (const { variables, testcases } of Object.values(sections)) {
        for (const [template, expected] of testcases) {
          // ASCII text around single {name} expressions: every level-1 case, whatever its section.
          if (typeof expected !== "string" || !/^[!-z]*(?:\{\w+\}[!-z]*)+$/.test(template)) continue;
          const values = [...template.matchAll(/\{(\w+)\}/g)].map((match) => variables[match[1] ?? ""]);
          if (!values.every((value) => typeof value === "string" || typeof value === "number")) continue;
          const expanded = template.replaceAll(/\{(\w+)\}/g, (_, name) => encodeComponent(String(variables[name])));
          assert.equal(expanded, expected, template);
          checked++;
        }
      }
    }
    assert.ok(checked >= 8, `only ${checked} level-1 cases were found`);
  });

  test("uritemplate-test: what is no template there is none here", (context) => {
    const file = join(vectors, "uritemplate-test/negative-tests.json");
    if (!existsSync(file)) return context.skip("the public vectors are not beside this checkout");
    const { testcases } = (
      JSON.parse(readFileSync(file, "utf8")) as Record<string, { testcases: [string, unknown][] }>
    )["Failure Tests"] ?? { testcases: [] };
    assert.ok(testcases.length > 20);
    for (const [template] of testcases) {
      // Plain {name} is well-formed there and fails by its value (a list or a map), which has no form here either.
      if (/^\{[A-Za-z_][A-Za-z0-9_]*\}$/.test(template)) continue;
      assert.equal(
        codeOf(() => parseTemplate(template.startsWith("/") ? template : `/${template}`)),
        "template_malformed",
        template,
      );
    }
  });
});
