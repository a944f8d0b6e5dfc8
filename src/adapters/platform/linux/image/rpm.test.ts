import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRpm, readRpmClaim } from "./rpm.ts";

const HEX = "a".repeat(64);
const ANSWER = `nodejs\t20.1-3\tFedora Project\n/usr/bin/npm\t${"b".repeat(64)}\n/usr/bin/node\t${HEX}\n/usr/share/doc\t\n`;
const digests = { sha256: `sha256:${HEX}`, md5: null, bytes: 1 };

test("rpm's answer names the package and the digest of this very file", () => {
  const found = parseRpm(ANSWER, "/usr/bin/node");
  assert.deepEqual(found, { package: "nodejs", version: "20.1-3", vendor: "Fedora Project", digest: HEX });
  assert.ok(found);
  assert.equal(readRpmClaim(found, digests).matches, true);
  assert.equal(readRpmClaim(found, { ...digests, sha256: `sha256:${"c".repeat(64)}` }).matches, false);
});

test("an answer about other files, an older digest or no answer claims nothing", () => {
  assert.equal(parseRpm(ANSWER, "/usr/bin/nod"), undefined);
  assert.equal(parseRpm("file /x is not owned by any package\n", "/x"), undefined);
  assert.equal(parseRpm("", "/x"), undefined);
  const old = parseRpm(`p\t1\tv\n/x\t${"d".repeat(32)}\n`, "/x");
  assert.ok(old);
  assert.equal(readRpmClaim(old, digests).matches, null);
});
