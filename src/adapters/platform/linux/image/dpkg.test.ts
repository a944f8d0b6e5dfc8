import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findDpkgOwners, readDpkgClaim } from "./dpkg.ts";

const admin = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(admin, { recursive: true }));
mkdirSync(join(admin, "info"));
const put = (name: string, text: string): void => writeFileSync(join(admin, name), text);
const MD5 = "0123456789abcdef0123456789abcdef";
put("info/nodejs.list", "/.\n/usr\n/usr/bin/node\n/usr/bin/nodejs.1\n");
put("info/nodejs.md5sums", `${MD5}  usr/bin/node\n`);
put("info/bash.list", "/bin/bash\n");
put("info/bash.md5sums", `${MD5}  bin/bash\n`);
put("info/libx:arm64.list", "/usr/lib/libx.so.1\n");
put("info/gone.list", "/usr/bin/gone\n");
put("info/vendor.list", "/opt/vendor/tool\n");
put(
  "status",
  [
    stanza("nodejs", "18.20", "Debian Javascript <pkg-javascript-devel@lists.alioth.debian.org>"),
    stanza("bash", "5.2", "Ubuntu Developers <ubuntu-devel-discuss@lists.ubuntu.com>"),
    stanza("libx", "1", "X <x@debian.org.evil>").replace("amd64", "i386"),
    stanza("libx", "2", "X <x@debian.org>").replace("amd64", "arm64"),
    stanza("gone", "1", "Y <y@debian.org>").replace("install ok installed", "deinstall ok config-files"),
    stanza("vendor", "1", "Vendor Inc <debian.org@vendor.example>"),
  ].join("\n\n"),
);
const digests = { sha256: "sha256:00", md5: MD5, bytes: 1 };

test("the package that lists a file owns it, by whole lines", () => {
  const owners = findDpkgOwners(["/usr/bin/node", "/usr/bin/nodejs", "/usr/bin", "/nowhere"], admin);
  assert.deepEqual([...owners.keys()], ["/usr/bin/node"]);
  assert.deepEqual(owners.get("/usr/bin/node"), { record: "dpkg", package: "nodejs", file: "/usr/bin/node" });
});

test("a file of a merged /usr is found under the name it was installed with", () => {
  assert.deepEqual(findDpkgOwners(["/usr/bin/bash"], admin).get("/usr/bin/bash"), {
    record: "dpkg",
    package: "bash",
    file: "/bin/bash",
  });
});

test("the record names package, version and vendor, and is checked against the file's bytes", () => {
  assert.deepEqual(claim("/usr/bin/node"), {
    record: "dpkg",
    package: "nodejs",
    version: "18.20",
    vendor: "Debian",
    matches: true,
  });
  assert.equal(claim("/usr/bin/bash")?.vendor, "Ubuntu");
  assert.equal(claim("/usr/bin/node", { ...digests, md5: "f".repeat(32) })?.matches, false);
});

test("without a checksum, or without MD5, nothing is said to match", () => {
  assert.equal(claim("/opt/vendor/tool")?.matches, null);
  assert.equal(claim("/usr/bin/node", { ...digests, md5: null })?.matches, null);
});

test("a maintainer cannot pass for a distribution", () => {
  assert.equal(claim("/opt/vendor/tool")?.vendor, "Vendor Inc <debian.org@vendor.example>");
});

test("a package of several architectures is told by the one that owns the file", () => {
  assert.equal(claim("/usr/lib/libx.so.1")?.version, "2");
});

test("a package that is no longer installed makes no claim, and a machine without dpkg has no owners", () => {
  assert.equal(claim("/usr/bin/gone"), null);
  assert.equal(findDpkgOwners(["/usr/bin/node"], join(admin, "nowhere")).size, 0);
});

function claim(path: string, found = digests as Parameters<typeof readDpkgClaim>[1]): ReturnType<typeof readDpkgClaim> {
  const owner = findDpkgOwners([path], admin).get(path);
  assert.ok(owner?.record === "dpkg");
  return readDpkgClaim(owner, found, admin);
}

function stanza(name: string, version: string, maintainer: string): string {
  return `Package: ${name}\nStatus: install ok installed\nMaintainer: ${maintainer}\nArchitecture: amd64\nVersion: ${version}\nDescription: x\n Version: 9 in the description`;
}
