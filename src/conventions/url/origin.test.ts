import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { runsOf } from "../../kernel/testing/whole.ts";
import { isPrivateHost, placeOf, troubleWithOrigin } from "./origin.ts";

describe("an origin is https, or http on loopback, in its plain spelling", () => {
  const accepted = [
    "https://api.acme.example",
    "https://api.acme.example:8443",
    "https://xn--bcher-kva.example",
    "https://192.0.2.1",
    "https://[2001:db8::1]:444",
    "http://127.0.0.1:8080",
    "http://127.8.9.1",
    "http://localhost:1",
    "http://[::1]:8080",
  ];
  for (const text of accepted) test(`${text} is accepted`, () => assert.equal(troubleWithOrigin(text), null));

  const refused = [
    "",
    "api.acme.example",
    "ftp://api.acme.example",
    "file:///etc/passwd",
    "http://api.acme.example",
    "http://127.0.0.1.evil.example",
    "http://localhost.evil.example",
    "http://0.0.0.0",
    "http://[::ffff:127.0.0.1]",
    "https://api.acme.example/",
    "https://api.acme.example/v1",
    "https://api.acme.example?x",
    "https://api.acme.example#x",
    "https://user@api.acme.example",
    "https://user:pass@api.acme.example",
    "https://api.acme.example:443",
    "https://API.acme.example",
    "https://api.acme.example.",
    "https://bücher.example",
    "https://api。acme.example",
    "https://0x7f.1",
    "https://2130706433",
    "https:api.acme.example",
    "https:\\\\api.acme.example",
    " https://api.acme.example",
    "https://api.acme\t.example",
    "https://",
    "null",
  ];
  for (const text of refused) {
    test(`${JSON.stringify(text)} is refused`, () => assert.notEqual(troubleWithOrigin(text), null));
  }

  test("wpt-url: no odd spelling in the public vectors passes for an origin unless it is exactly that origin", (context) => {
    const file = join(import.meta.dirname, "../../../../shared/vectors/wpt-url/tests/wpt/urltestdata.json");
    if (!existsSync(file)) return context.skip("the public vectors are not beside this checkout");
    const cases = JSON.parse(readFileSync(file, "utf8")) as readonly (
      | string
      | { readonly input: string; readonly origin?: string; readonly failure?: boolean }
    )[];
    let seen = 0;
    let accepted = 0;
    for (const entry of cases) {
      if (typeof entry === "string") continue;
      seen++;
      if (troubleWithOrigin(entry.input) !== null) continue;
      accepted++;
      assert.equal(entry.failure, undefined);
      assert.equal(entry.input, entry.origin);
      assert.match(entry.input, /^https:\/\/|^http:\/\/(?:localhost|127\.|\[::1\])/);
    }
    assert.ok(seen > 500 && accepted < 20, `${accepted} of ${seen} were accepted`);
  });
});

test("an address that is private on its face is known as such, and a name never is", () => {
  const hosts = ["localhost", "127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.169.254", "172.16.0.1", "172.31.9.9"];
  for (const host of [...hosts, "[::1]", "[fd00::1]", "[fe80::1]"]) assert.equal(isPrivateHost(host), true, host);
  const others = ["10.acme.example", "192.168.example", "172.32.0.1", "8.8.8.8", "[2001:db8::1]", "fd00.example"];
  for (const host of others) assert.equal(isPrivateHost(host), false, host);
});

test("what is read off a URL's text as its origin is its origin, or nothing that anything is bound to", () => {
  const pieces = [
    "https://",
    "http://",
    "api.example.com",
    "API.example.com",
    "evil.test",
    "127.0.0.1",
    "[::1]",
    "@",
    "user:pw@",
    ":443",
    ":8443",
  ];
  const dots = ["..", ".", "%2e", ".%2E", "%2f", "%5c"];
  const marks = [
    "/",
    "//",
    "\\",
    "?",
    "#",
    "\t",
    "\n",
    "\0",
    " ",
    "a",
    ":",
    "\u2026",
    "\u3002",
    "\uff0f",
    "\u00ad",
    "\ud800",
  ];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces, ...dots, ...marks), { minLength: 1, maxLength: 8 }), (parts) => {
      const text = parts.join("");
      const { origin, path } = placeOf(text);
      if (troubleWithOrigin(origin) !== null) return;
      const url = new URL(text);
      assert.equal(url.origin, origin, text);
      // The transport sends no other spelling.
      if (url.href === text && !text.includes("#")) assert.equal(url.pathname, path, text);
    }),
    { numRuns: runsOf(5_000) },
  );
  assert.deepEqual(placeOf("https://api.example.com/a/b?c=/d"), { origin: "https://api.example.com", path: "/a/b" });
});
