import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../kernel/testing/any-text.ts";
import { runsOf } from "../../kernel/testing/whole.ts";
import { readOrigin } from "./origin.ts";
import { decideRedirect, type RedirectAnswer, type RedirectDecision, type RedirectRules } from "./redirect.ts";

const api = readOrigin("https://api.acme.example");
const files = readOrigin("https://files.acme.example");
const rules: RedirectRules = {
  own: api,
  isOwnPath: () => true,
  sideEffect: false,
  origins: [api, files],
  credentialOrigins: [api],
  others: "refuse",
  credential: "strip",
  max: 3,
};

function decide(answer: Partial<RedirectAnswer>, change: Partial<RedirectRules> = {}): RedirectDecision {
  return decideRedirect(
    { status: 302, location: "/v2/x", method: "GET", url: `${api}/v1/x?q=1`, followed: 0, ...answer },
    { ...rules, ...change },
  );
}

function reasonOf(decision: RedirectDecision): string {
  return decision.kind === "refuse" ? decision.reason : decision.kind;
}

describe("redirects leaving the approved host set are refused unless a person approved the destination", () => {
  test("a redirect within the provider's origin keeps the credential", () => {
    assert.deepEqual(decide({}), {
      kind: "follow",
      target: { url: `${api}/v2/x`, origin: api, method: "GET", body: "keep", credential: "keep" },
    });
  });

  test("a read follows within the path template of its own action only", () => {
    const isOwnPath = (path: string): boolean => path.startsWith("/v1/");
    assert.equal(reasonOf(decide({ location: "/v1/y?q=2" }, { isOwnPath })), "follow");
    assert.equal(reasonOf(decide({ location: "/v2/x" }, { isOwnPath })), "path_not_approved");
    const asked = decide({ location: "/v2/x" }, { isOwnPath, others: "ask" });
    assert.equal(asked.kind === "ask" && asked.target.credential, "keep", "its own origin may see the credential");
    assert.equal(
      reasonOf(decide({ location: `${files}/r/1` }, { isOwnPath })),
      "follow",
      "a listed origin, without it",
    );
  });

  test("a side effect is never repeated elsewhere without its own card, not even at its own path", () => {
    for (const [status, method] of [
      [307, "POST"],
      [308, "PUT"],
      [303, "POST"],
    ] as const) {
      assert.equal(reasonOf(decide({ status, method }, { sideEffect: true })), "side_effect", String(status));
      assert.equal(decide({ status, method }, { sideEffect: true, others: "ask" }).kind, "ask", String(status));
      assert.equal(decide({ status, method, location: `${files}/x` }, { sideEffect: true }).kind, "refuse");
    }
  });

  test("an approved origin that the credential is not bound to is followed without it", () => {
    const decision = decide({ location: `${files}/r/1` });
    assert.equal(decision.kind === "follow" && decision.target.credential, "strip");
  });

  test("or refused, where the pack says that the call is worthless without it", () => {
    assert.equal(reasonOf(decide({ location: `${files}/r/1` }, { credential: "refuse" })), "credential_not_allowed");
  });

  const elsewhere = [
    "https://evil.example/",
    "//evil.example/x",
    "https://api.acme.example.evil.example/",
    "https://api.acme.example:8443/x",
    "https://xn--pi-7ka.acme.example/",
  ];
  for (const location of elsewhere) {
    test(`${location} is refused`, () => assert.equal(reasonOf(decide({ location })), "origin_not_approved"));
    test(`${location} is asked about where the pack says ask, and never with the credential`, () => {
      const decision = decide(
        { location },
        { others: "ask", credentialOrigins: [api, readOrigin("https://evil.example")] },
      );
      assert.equal(decision.kind === "ask" && decision.target.credential, "strip");
    });
  }

  test("https never becomes http, not even to loopback or an approved origin", () => {
    for (const location of ["http://api.acme.example/x", "http://127.0.0.1:9/x"]) {
      assert.equal(reasonOf(decide({ location }, { others: "ask" })), "downgrade");
    }
    const local = readOrigin("http://127.0.0.1:9");
    assert.equal(reasonOf(decide({ location: `${local}/x` }, { origins: [api, local] })), "downgrade");
  });

  test("loopback http leads to loopback http or to https alone", () => {
    const local = readOrigin("http://127.0.0.1:9");
    const from = { url: `${local}/x`, location: `${local}/y` };
    assert.equal(reasonOf(decide(from, { origins: [local] })), "follow");
    assert.equal(reasonOf(decide({ ...from, location: "http://evil.example/" }, { others: "ask" })), "scheme_refused");
  });

  const malformed: readonly [string | null, string][] = [
    [null, "location_missing"],
    ["", "location_missing"],
    ["https://user@api.acme.example/", "location_malformed"],
    ["https://:pass@api.acme.example/", "location_malformed"],
    ["https://api.acme.example\\@evil.example/", "location_malformed"],
    ["/a b", "location_malformed"],
    ["/a\r\nSet-Cookie: x", "location_malformed"],
    ["/é", "location_malformed"],
    ["https://[", "location_malformed"],
    ["javascript:alert(1)", "scheme_refused"],
    ["file:///etc/passwd", "scheme_refused"],
    ["ftp://api.acme.example/", "scheme_refused"],
  ];
  for (const [location, reason] of malformed) {
    test(`a Location of ${JSON.stringify(location)} is refused`, () =>
      assert.equal(reasonOf(decide({ location })), reason));
  }

  test("a fragment is dropped, for it is never sent", () => {
    const decision = decide({ location: "/y#frag" });
    assert.equal(decision.kind === "follow" && decision.target.url, `${api}/y`);
  });

  test("the count is bounded", () => {
    assert.equal(reasonOf(decide({ followed: 2 })), "follow");
    assert.equal(reasonOf(decide({ followed: 3 })), "too_many");
  });

  test("an answer that is no redirect is none, whatever its Location says", () => {
    for (const status of [200, 201, 202, 300, 304, 305, 306, 309, 400]) {
      assert.deepEqual(decide({ status, location: "https://evil.example/" }), { kind: "not_a_redirect" });
    }
  });
});

describe("a redirect changes the method only where its status says so without doubt", () => {
  const table: readonly [number, string, string][] = [
    [301, "GET", "GET keep"],
    [302, "HEAD", "HEAD keep"],
    [301, "POST", "method_ambiguous"],
    [302, "POST", "method_ambiguous"],
    [301, "DELETE", "method_ambiguous"],
    [302, "PUT", "method_ambiguous"],
    [303, "GET", "GET drop"],
    [303, "HEAD", "HEAD drop"],
    [303, "POST", "GET drop"],
    [303, "DELETE", "GET drop"],
    [307, "POST", "POST keep"],
    [308, "PATCH", "PATCH keep"],
    [307, "GET", "GET keep"],
  ];
  for (const [status, method, expected] of table) {
    test(`${status} after ${method}: ${expected}`, () => {
      const decision = decide({ status, method });
      const seen =
        decision.kind === "follow" ? `${decision.target.method} ${decision.target.body}` : reasonOf(decision);
      assert.equal(seen, expected);
    });
  }
});

test("no Location whatsoever takes the credential out of its origins or the call out of the approved set", () => {
  const location = fc.oneof(
    fc.webUrl(),
    anyText(),
    fc
      .array(
        fc.constantFrom(
          "https:",
          "http:",
          "/",
          "//",
          "\\",
          "@",
          ":",
          "api.acme.example",
          "evil.example",
          "files.acme.example",
          "#",
          "?",
          "%2F",
          "..",
          "\t",
          "[::1]",
        ),
        { maxLength: 8 },
      )
      .map((pieces) => pieces.join("")),
  );
  const status = fc.constantFrom(301, 302, 303, 307, 308);
  const method = fc.constantFrom("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE");
  fc.assert(
    fc.property(
      location,
      status,
      method,
      fc.constantFrom("refuse" as const, "ask" as const),
      (where, code, verb, others) => {
        const decision = decide({ location: where, status: code, method: verb }, { others });
        if (decision.kind === "not_a_redirect" || decision.kind === "refuse") return;
        const { target } = decision;
        assert.equal(new URL(target.url).protocol, "https:");
        assert.equal(new URL(target.url).origin, target.origin);
        if (decision.kind === "follow") assert.ok(rules.origins.includes(target.origin));
        if (target.credential === "keep") assert.equal(target.origin, api);
        if (target.method !== verb) assert.equal(`${code} ${target.method}`, "303 GET");
      },
    ),
    { numRuns: runsOf(3000) },
  );
});
