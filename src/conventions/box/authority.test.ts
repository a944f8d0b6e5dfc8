import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes, X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createAuthority } from "./authority.ts";

const make = () => createAuthority({ wallMs: () => Date.now() }, { bytes: (length) => randomBytes(length) });
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;

test("a leaf is for its host alone, signed by an authority that signs nothing below it", () => {
  const { certificate, chainFor } = make();
  const authority = new X509Certificate(certificate);
  const leaf = new X509Certificate(chainFor("api.acme.example"));
  assert.ok(authority.ca && !leaf.ca);
  assert.ok(leaf.verify(authority.publicKey) && leaf.checkIssued(authority));
  assert.equal(leaf.checkHost("api.acme.example"), "api.acme.example");
  assert.equal(leaf.checkHost("other.acme.example"), undefined);
});

test("an authority signs certificates alone, a leaf serves alone, and both last from an hour ago for thirty days", () => {
  const wallMs = Date.UTC(2026, 2, 4, 5, 6, 7);
  const { certificate, chainFor } = createAuthority(
    { wallMs: () => wallMs },
    { bytes: (length) => randomBytes(length) },
  );
  const [authority, leaf] = [certificate, chainFor("a.example")].map((pem) => new X509Certificate(pem));
  for (const one of [authority, leaf]) {
    assert.equal(one?.validFromDate.toISOString(), "2026-03-04T04:06:07.000Z");
    assert.equal(one?.validToDate.toISOString(), "2026-04-03T05:06:07.000Z");
  }
  assert.deepEqual(leaf?.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  assert.equal(leaf?.subjectAltName, "DNS:a.example");
  assert.equal(leaf?.subject, "CN=a.example");
  const bytesOf = (one: X509Certificate | undefined) => one?.raw.toString("hex") ?? "";
  // Critical both: what constrains them, and what their key is for.
  const [constraints, usage] = ["0603551d130101ff04", "0603551d0f0101ff04"];
  assert.ok(bytesOf(authority).includes(`${constraints}0830060101ff020100`));
  assert.ok(bytesOf(authority).includes(`${usage}0403020106`));
  assert.ok(bytesOf(leaf).includes(`${constraints}023000`));
  assert.ok(bytesOf(leaf).includes(`${usage}0403020780`));
});

test("a serial number is positive and has no leading zeros, whatever was drawn", () => {
  for (const byte of [0x00, 0x3f, 0x80, 0xff]) {
    const random = { bytes: (length: number) => Buffer.alloc(length, 0x11).fill(byte, 0, 1) };
    const { serialNumber } = new X509Certificate(createAuthority({ wallMs: () => Date.now() }, random).certificate);
    assert.equal(serialNumber.length, 32);
    assert.equal(Number.parseInt(serialNumber.slice(0, 2), 16), (byte & 0x3f) | 0x40);
    assert.equal(serialNumber.slice(2), "11".repeat(15));
  }
});

test("two runs have authorities of their own, and no two certificates a serial number", () => {
  const [one, other] = [make(), make()];
  assert.notEqual(new X509Certificate(one.certificate).subject, new X509Certificate(other.certificate).subject);
  const serials = ["a.example", "b.example", "a.example"].map(
    (host) => new X509Certificate(one.chainFor(host)).serialNumber,
  );
  assert.equal(new Set(serials).size, 3);
});

test("OpenSSL accepts a leaf by the strict rules, and finds the authority by the hash of its name", {
  skip: hasOpenssl ? false : "openssl is not installed",
}, () => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    const { certificate, chainFor, subjectHash } = make();
    // Longer than a common name may be.
    const host = `${"long-label-of-a-host.".repeat(5)}example`;
    writeFileSync(join(folder, "leaf.pem"), chainFor(host));
    writeFileSync(join(folder, `${subjectHash}.0`), certificate);
    const hash = execFileSync("openssl", ["x509", "-noout", "-subject_hash"], { input: certificate, encoding: "utf8" });
    assert.equal(hash.trim(), subjectHash);
    const strict = ["-x509_strict", "-purpose", "sslserver", "-verify_hostname", host, "-CApath", folder];
    const said = spawnSync("openssl", ["verify", ...strict, join(folder, "leaf.pem")], { encoding: "utf8" });
    assert.equal(said.status, 0, said.stdout + said.stderr);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
