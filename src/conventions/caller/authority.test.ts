import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anyText } from "../../kernel/testing/any-text.ts";
import { type Authority, authorityLine, type CallerValidity, validityOf } from "./authority.ts";

const cases: readonly { readonly authority: Authority; readonly validity: CallerValidity; readonly line: RegExp }[] = [
  {
    authority: { kind: "enrolled", name: "acme-agent", by: "ada" },
    validity: "valid",
    line: /^Image enrolled by ada as acme-agent$/,
  },
  { authority: { kind: "enrolled", name: "x", by: null }, validity: "valid", line: /^Image enrolled as x$/ },
  {
    authority: { kind: "sigstore", name: "Acme", subject: "dev@acme.example", issuer: "https://id.example" },
    validity: "valid",
    line: /^Image signed \(Sigstore\) by dev@acme\.example, .*https:\/\/id\.example.*Acme$/,
  },
  { authority: { kind: "ima", name: "Acme", keyId: "01020304" }, validity: "valid", line: /IMA.*Acme.*01020304/ },
  { authority: { kind: "fs_verity", digest: "sha256:00" }, validity: "valid", line: /kernel \(fs-verity\)$/ },
  {
    authority: { kind: "code_signature", name: "Developer ID: Acme", team: "TEAM1" },
    validity: "valid",
    line: /^Image signed by Developer ID: Acme, team TEAM1$/,
  },
  {
    authority: { kind: "code_signature", name: "Acme", team: null },
    validity: "valid",
    line: /^Image signed by Acme$/,
  },
  {
    authority: { kind: "unsigned", note: "a file of its own" },
    validity: "unsigned",
    line: /^Unsigned: nobody vouches for this image \(a file of its own\)$/,
  },
  { authority: { kind: "ad_hoc" }, validity: "unsigned", line: /^Ad-hoc signature: nobody vouches/ },
  {
    authority: { kind: "package", vendor: "Debian", package: "curl", version: "8.1", record: "dpkg" },
    validity: "package_record",
    line: /^Debian's curl 8\.1, by package record, not a signature$/,
  },
  {
    authority: { kind: "unsigned", note: null },
    validity: "unsigned",
    line: /^Unsigned: nobody vouches for this image$/,
  },
  { authority: { kind: "own_runtime" }, validity: "unsigned", line: /^This gateway's own Node$/ },
  {
    authority: { kind: "invalid", claim: "Sigstore signature", why: "signature verification failed" },
    validity: "invalid",
    line: /^INVALID Sigstore signature: signature verification failed$/,
  },
];

test("the first line names the authority of the image, and its validity follows from it", () => {
  for (const { authority, validity, line } of cases) {
    assert.match(authorityLine({ authority, interpreter: null }), line);
    assert.equal(validityOf(authority), validity);
  }
});

test("an interpreter is said to be one, and no claim about it covers its script", () => {
  const authority: Authority = {
    kind: "package",
    vendor: "Debian",
    package: "nodejs",
    version: "18.20",
    record: "dpkg",
  };
  assert.equal(
    authorityLine({ authority, interpreter: { name: "node", script: "/home/a/agent.js" } }),
    "Debian's node (nodejs 18.20), by package record, not a signature, running a script that no signature covers",
  );
  assert.match(
    authorityLine({ authority, interpreter: { name: "node", script: null } }),
    /, running a program that no/,
  );
  for (const { authority: any } of cases) {
    assert.match(
      authorityLine({ authority: any, interpreter: { name: "node", script: null } }),
      /no signature covers$/,
    );
  }
});

test("the line never says that the caller is signed, and never shows a path", () => {
  for (const { authority } of cases) {
    const line = authorityLine({ authority, interpreter: { name: "node", script: "/opt/evil.js" } });
    assert.doesNotMatch(line, /signed caller|caller is signed|\/opt/i);
  }
});

test("no name can break out of the line or imitate another", () => {
  fc.assert(
    fc.property(anyText(), (text) => {
      for (const authority of [
        { kind: "enrolled", name: text, by: text },
        { kind: "package", vendor: text, package: text, version: text, record: "dpkg" },
        { kind: "invalid", claim: text, why: text },
        { kind: "unsigned", note: text },
      ] as const) {
        assert.match(authorityLine({ authority, interpreter: { name: text, script: text } }), /^[ -~]*$/);
      }
    }),
  );
});
