import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { digestText } from "../../../../kernel/canonical-json.ts";
import type { JsonObject } from "../../../../kernel/json.ts";
import { digestImage } from "./digest.ts";
import { checkSigstore, type SigstoreClaim, type SigstoreSettings } from "./sigstore.ts";
import { createSigstoreAuthority } from "./testing/sigstore-authority.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const image = randomBytes(70_000);
const hex = createHash("sha256").update(image).digest("hex");
const authority = createSigstoreAuthority();
const trusted = { name: "Example releases", subject: "dev@example.com", issuer: "https://id.example.com" };

describe("a Sigstore bundle vouches for an image", () => {
  test("a file signature of a trusted identity is valid, with the key's digest as requirement", () => {
    const claim = check(authority.signFile(image));
    assert.equal(claim?.kind, "valid");
    assert.ok(claim?.kind === "valid");
    assert.deepEqual({ name: claim.name, subject: claim.subject, issuer: claim.issuer }, trusted);
    assert.match(claim.keyId, /^sha256:[0-9a-f]{64}$/);
  });

  test("an attestation that names the image's digest is valid", () => {
    assert.equal(check(authority.signStatement(statementOf(hex)))?.kind, "valid");
  });

  test("no bundle is no claim", () => {
    assert.equal(check(null), null);
  });

  test("a valid signature of somebody whom policy does not name is a stranger's", () => {
    assert.deepEqual(check(authority.signFile(image, { subject: "mallory@example.com" })), {
      kind: "stranger",
      subject: "mallory@example.com",
      issuer: trusted.issuer,
    });
  });

  test("the trusted subject from another issuer is a stranger", () => {
    assert.equal(check(authority.signFile(image, { issuer: "https://evil.example" }))?.kind, "stranger");
  });

  test("a subject that a pattern would match is not the trusted one", () => {
    assert.equal(check(authority.signFile(image, { subject: "dev@exampleXcom" }))?.kind, "stranger");
    assert.equal(check(authority.signFile(image, { subject: "dev@example.com.evil" }))?.kind, "stranger");
  });
});

describe("a bundle that is wrong is said to be invalid", () => {
  const wrong: readonly [string, JsonObject][] = [
    ["signed for another file", authority.signFile(randomBytes(100))],
    ["an attestation about other files", authority.signStatement(statementOf("0".repeat(64)))],
    ["an attestation about nothing", authority.signStatement({ _type: "x" })],
    ["of another authority", createSigstoreAuthority().signFile(image)],
    ["whose certificate no log has seen", authority.signFile(image, { unlogged: true })],
    ["without a log entry", without(authority.signFile(image), "tlogEntries")],
    ["that is not a bundle", { hello: "there" }],
  ];
  for (const [name, bundle] of wrong) {
    test(name, () => assert.equal(check(bundle)?.kind, "invalid"));
  }

  test("with any one bit of its signature, certificate or log promise changed", () => {
    const bundle = JSON.stringify(authority.signFile(image));
    for (const member of ["signature", "signedEntryTimestamp", "rawBytes"]) {
      const changed = bundle.replace(new RegExp(`("${member}":"[^"]{40})(.)`), (_all, head: string, letter: string) => {
        return `${head}${letter === "A" ? "B" : "A"}`;
      });
      assert.notEqual(changed, bundle);
      assert.equal(check(JSON.parse(changed) as JsonObject)?.kind, "invalid", member);
    }
  });

  test("checked against another trusted root than policy names", () => {
    const other = createSigstoreAuthority();
    assert.equal(check(other.signFile(image), other.trustedRoot)?.kind, "valid");
    assert.equal(check(other.signFile(image), other.trustedRoot, authority.trustedRoot)?.kind, "invalid");
  });

  test("checked against a trusted root that cannot be read", () => {
    for (const root of [{}, { ...authority.trustedRoot, tlogs: "none" }, { ...authority.trustedRoot, ctlogs: [{}] }]) {
      assert.equal(check(authority.signFile(image), root)?.kind, "invalid");
    }
  });
});

/** Each is put in the place of a file that somebody could write to. */
const planted: readonly (readonly [string, (path: string) => void])[] = [
  ["a pipe", (path) => assert.equal(spawnSync("mkfifo", [path]).status, 0)],
  ["a folder", (path) => mkdirSync(path)],
  ["a link to a device without end", (path) => symlinkSync("/dev/zero", path)],
  [
    "a sparse file of many gigabytes",
    (path) => {
      writeFileSync(path, "");
      truncateSync(path, 2 ** 36);
    },
  ],
];

describe("what is no bounded regular file vouches for nobody and holds nobody up", () => {
  for (const [name, plant] of planted) {
    for (const part of ["bundle", "root"] as const) {
      test(`${name} instead of the ${part}`, () => {
        const place = mkdtempSync(join(folder, "planted-"));
        const paths = { bundle: join(place, `${hex}.sigstore.json`), root: join(place, "root.json") };
        writeFileSync(paths.bundle, JSON.stringify(authority.signFile(image)));
        writeFileSync(paths.root, JSON.stringify(authority.trustedRoot));
        rmSync(paths[part]);
        plant(paths[part]);
        assert.equal(checkIn(place, authority.trustedRoot)?.kind, "invalid");
      });
    }
  }
});

function check(
  bundle: JsonObject | null,
  root: JsonObject = authority.trustedRoot,
  named: JsonObject = root,
): SigstoreClaim | null {
  const place = mkdtempSync(join(folder, "case-"));
  writeFileSync(join(place, "root.json"), JSON.stringify(root));
  if (bundle !== null) writeFileSync(join(place, `${hex}.sigstore.json`), JSON.stringify(bundle));
  return checkIn(place, named);
}

function checkIn(place: string, named: JsonObject): SigstoreClaim | null {
  const file = join(place, "image");
  writeFileSync(file, image);
  const settings: SigstoreSettings = {
    trustedRoot: join(place, "root.json"),
    trustedRootDigest: digestText(JSON.stringify(named)),
    bundles: place,
    identities: [trusted],
  };
  const fd = openSync(file, "r");
  try {
    return checkSigstore(settings, fd, digestImage(fd, false));
  } finally {
    closeSync(fd);
  }
}

function statementOf(digest: string): JsonObject {
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [
      { name: "other", digest: { sha256: "f".repeat(64) } },
      { name: "image", digest: { sha256: digest } },
    ],
    predicateType: "https://example.com/released",
    predicate: {},
  };
}

function without(bundle: JsonObject, member: string): JsonObject {
  const material = bundle["verificationMaterial"] as JsonObject;
  return { ...bundle, verificationMaterial: { ...material, [member]: [] } };
}
