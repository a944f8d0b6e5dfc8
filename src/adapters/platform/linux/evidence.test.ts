import assert from "node:assert/strict";
import { test } from "node:test";
import { validityOf } from "../../../conventions/caller/authority.ts";
import { decideAuthority } from "./evidence.ts";
import type { ImageAnswer, ImageRead } from "./image/inspect-worker.ts";

const SHA = `sha256:${"1".repeat(64)}`;
const loaded = { changed: [], unowned: [] };
const bare: ImageAnswer & ImageRead = {
  kind: "read",
  digests: { sha256: SHA, md5: null, bytes: 1 },
  sigstore: null,
  ima: null,
  verity: null,
  package: null,
  ...loaded,
};
const signed = { kind: "valid", name: "Acme", subject: "s", issuer: "i", keyId: "k" } as const;
const record = { record: "dpkg", package: "curl", version: "8", vendor: "Debian", matches: true } as const;
const everything: ImageAnswer & ImageRead = {
  ...bare,
  sigstore: signed,
  ima: { kind: "valid", name: "Acme", keyId: "01" },
  verity: { digest: "sha256:2", signed: true },
  package: record,
};
const enrolled = new Map([[SHA, { name: "agent", by: "ada" }]]);

test("the strongest claim that holds is the one on the card", () => {
  const kinds: string[] = [decideAuthority(everything, enrolled).kind];
  const order = ["sigstore", "ima", "verity", "package"] as const;
  let rest = everything;
  for (const member of order) {
    kinds.push(decideAuthority(rest, new Map()).kind);
    rest = { ...rest, [member]: null };
  }
  kinds.push(decideAuthority(rest, new Map()).kind);
  assert.deepEqual(kinds, ["enrolled", "sigstore", "ima", "fs_verity", "package", "unsigned"]);
});

test("a claim that is made and is wrong hides the weaker ones", () => {
  const wrong = decideAuthority({ ...everything, sigstore: { kind: "invalid", why: "no" } }, new Map());
  assert.deepEqual(wrong, { kind: "invalid", claim: "Sigstore signature", why: "no" });
  const changed = decideAuthority({ ...bare, package: { ...record, matches: false } }, new Map());
  assert.equal(validityOf(changed), "invalid");
});

test("an operator's own enrolment of this digest stands above a bundle that somebody left there", () => {
  assert.equal(decideAuthority({ ...everything, sigstore: { kind: "invalid", why: "no" } }, enrolled).kind, "enrolled");
});

test("an enrolment of another digest counts for nothing", () => {
  assert.equal(decideAuthority(bare, new Map([["sha256:other", { name: "agent", by: null }]])).kind, "unsigned");
});

test("a stranger's signature leaves the image unsigned and says so", () => {
  const stranger = decideAuthority({ ...bare, sigstore: { kind: "stranger", subject: "m", issuer: "i" } }, new Map());
  assert.equal(stranger.kind, "unsigned");
  assert.ok(stranger.kind === "unsigned" && stranger.note?.includes("m"));
  assert.equal(decideAuthority({ ...bare, ima: { kind: "stranger", keyId: "01" } }, new Map()).kind, "unsigned");
});

test("fs-verity without the kernel's demand for signatures, and a record without checksum, vouch for nothing", () => {
  assert.equal(decideAuthority({ ...bare, verity: { digest: "sha256:2", signed: false } }, new Map()).kind, "unsigned");
  assert.equal(decideAuthority({ ...bare, package: { ...record, matches: null } }, new Map()).kind, "unsigned");
});

test("of an image that a program in user space answers for no claim holds, and the card says why", () => {
  const found = decideAuthority({ ...everything, kind: "unproven", why: "FUSE" }, enrolled);
  assert.deepEqual(found, { kind: "unsigned", note: "FUSE" });
  assert.equal(validityOf(found), "unsigned");
});
