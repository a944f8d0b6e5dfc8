import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { defaults } from "../../kernel/defaults.ts";
import { Denied } from "../../kernel/failure.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { admitUrl, troubleWithPrefix, type UrlAllowance } from "./admit.ts";
import { readOrigin } from "./origin.ts";

const files = readOrigin("https://files.acme.example");
const allowed: readonly UrlAllowance[] = [
  { origin: files, pathPrefix: "/reports", query: false },
  { origin: files, pathPrefix: "/signed/", query: true },
];

function admits(text: string, list: readonly UrlAllowance[] = allowed): boolean {
  try {
    return admitUrl(text, list).url === text;
  } catch (error) {
    if (error instanceof Denied && error.code === "url_not_allowed") return false;
    throw error;
  }
}

describe("a full URL is taken only beneath an allowed origin and path prefix", () => {
  const accepted = [
    "https://files.acme.example/reports",
    "https://files.acme.example/reports/",
    "https://files.acme.example/reports/2026/a%20b.csv",
    "https://files.acme.example/signed/x?sig=a%2Fb&exp=1",
  ];
  for (const url of accepted) test(`${url} is admitted`, () => assert.equal(admits(url), true));

  const refused = [
    "",
    "/reports/x",
    "//files.acme.example/reports/x",
    "http://files.acme.example/reports/x",
    "https://files.acme.example",
    "https://files.acme.example/",
    "https://files.acme.example/reportsx",
    "https://files.acme.example/signed",
    "https://files.acme.example/reports/x?y=1",
    "https://files.acme.example/reports/x?",
    "https://files.acme.example/reports/x#y",
    "https://files.acme.example/reports/x#",
    "https://files.acme.example/reports/../admin",
    "https://files.acme.example/reports/%2e%2e/admin",
    "https://files.acme.example/reports/..%2Fadmin",
    "https://files.acme.example/reports/a%2Fb",
    "https://files.acme.example/reports/a%5Cb",
    "https://files.acme.example/reports/%252e%252e%252fadmin",
    "https://files.acme.example/reports/%00",
    "https://files.acme.example/reports/%zz",
    "https://files.acme.example/reports//x",
    "https://files.acme.example/reports\\x",
    "https://files.acme.example/reports/x y",
    "https://files.acme.example/reports/\r\nHost:x",
    "https://files.acme.example/réports/x",
    "https://user@files.acme.example/reports/x",
    "https://:pass@files.acme.example/reports/x",
    "https://files.acme.example@evil.example/reports/x",
    "https://files.acme.example.evil.example/reports/x",
    "https://files.acme.example:443/reports/x",
    "https://files.acme.example:444/reports/x",
    "https://FILES.acme.example/reports/x",
    "https://files.acme.example./reports/x",
    "javascript:alert(1)",
    "data:text/plain,x",
  ];
  for (const url of refused) {
    test(`${JSON.stringify(url.slice(0, 70))} is refused`, () => assert.equal(admits(url), false));
  }

  test("a URL is as long as a URL may be", () => {
    const longest = "https://files.acme.example/reports/".padEnd(defaults.urlCharacters, "a");
    assert.deepEqual([admits(longest), admits(`${longest}a`)], [true, false]);
  });

  test("a prefix that is the root admits the root", () => {
    const root = [{ origin: files, pathPrefix: "/", query: false }];
    assert.deepEqual(
      [admits(`${files}/`, root), admits(`${files}/a/`, root), admits(`${files}//`, root)],
      [true, true, false],
    );
  });

  test("an empty allow-list admits nothing", () => {
    fc.assert(fc.property(fc.webUrl(), (url) => assert.equal(admits(url, []), false)));
  });

  test("whatever is admitted stays under its prefix after any number of decodings", () => {
    const piece = fc.oneof(
      fc.constantFrom("/", "..", ".", "%2e", "%2F", "%5c", "%25", "2e", "a", "?", "#", "@", "\\", ";", "//"),
      fc.string({ maxLength: 2 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
        const text = `https://files.acme.example/reports/${pieces.join("")}`;
        if (!admits(text)) return;
        let path = new URL(text).pathname;
        for (let round = 0; round < 3; round++) {
          assert.ok(new URL(path, "https://files.acme.example").pathname.startsWith("/reports/"), path);
          try {
            path = decodeURIComponent(path);
          } catch {
            return;
          }
        }
      }),
      { numRuns: runsOf(5000) },
    );
  });

  test("wpt-url: of the public vectors only plainly spelled URLs can be admitted, even where their host is allowed", (context) => {
    const file = join(import.meta.dirname, "../../../../shared/vectors/wpt-url/tests/wpt/urltestdata.json");
    if (!existsSync(file)) return context.skip("the public vectors are not beside this checkout");
    const cases = JSON.parse(readFileSync(file, "utf8")) as readonly (
      | string
      | { readonly input: string; readonly href?: string; readonly origin?: string; readonly failure?: boolean }
    )[];
    let admitted = 0;
    for (const entry of cases) {
      if (typeof entry === "string") continue;
      const origin = entry.origin === undefined || entry.origin === "null" ? "https://none.example" : entry.origin;
      const list = [{ origin: origin as typeof files, pathPrefix: "/", query: true }];
      if (!admits(entry.input, list)) continue;
      admitted++;
      assert.equal(entry.failure, undefined);
      assert.equal(entry.input, entry.href);
      assert.equal(new URL(entry.input).username, "");
      assert.doesNotMatch(new URL(entry.input).pathname, /[\\#]|\/\.\.?(?:\/|$)/);
    }
    assert.ok(admitted > 0, "some plain URLs are among them");
  });
});

test("a prefix in an allow-list is a plain path", () => {
  assert.equal(troubleWithPrefix("/reports"), null);
  assert.equal(troubleWithPrefix("/"), null);
  for (const bad of ["", "reports", "/a/../b", "/{id}", "/a%2F", "/a?x"]) assert.notEqual(troubleWithPrefix(bad), null);
});
