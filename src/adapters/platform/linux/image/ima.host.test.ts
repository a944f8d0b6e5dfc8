import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import koffi from "koffi";
import { checkIma } from "./ima.ts";

const root = process.platform === "linux" && process.getuid?.() === 0;
const skip = root ? false : "only root may write the security.ima attribute";

test("a file's IMA signature is checked against the operator's keys", { skip }, (context) => {
  const folder = mkdtempSync(join(tmpdir(), "gw-"));
  try {
    const content = Buffer.from("an image".repeat(1_000));
    const path = join(folder, "image");
    writeFileSync(path, content);
    const ours = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const theirs = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const trusted = [{ name: "Example", pem: pemOf(ours.publicKey) }];
    if (!writeSignature(path, sign("sha256", content, ours.privateKey))) {
      context.skip("this file system keeps no security attributes");
      return;
    }
    assert.deepEqual(check(path, trusted), { kind: "valid", name: "Example", keyId: "0a0b0c0d" });
    assert.deepEqual(check(path, []), { kind: "stranger", keyId: "0a0b0c0d" });
    writeSignature(path, sign("sha256", content, theirs.privateKey));
    assert.equal(check(path, trusted)?.kind, "stranger");
    assert.equal(check(path, [...trusted, { name: "Other", pem: pemOf(theirs.publicKey) }])?.kind, "valid");
    writeFileSync(path, "changed", { flag: "a" });
    assert.equal(check(path, [{ name: "Other", pem: pemOf(theirs.publicKey) }])?.kind, "stranger");
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function check(path: string, keys: Parameters<typeof checkIma>[1]): ReturnType<typeof checkIma> {
  const fd = openSync(path, "r");
  try {
    return checkIma(fd, keys);
  } finally {
    closeSync(fd);
  }
}

function writeSignature(path: string, signature: Buffer): boolean {
  const setxattr = koffi
    .load(null)
    .func("int setxattr(const char *path, const char *name, void *value, size_t size, int flags)");
  const header = Buffer.from([3, 2, 4, 0x0a, 0x0b, 0x0c, 0x0d, signature.length >> 8, signature.length & 0xff]);
  const value = Buffer.concat([header, signature]);
  return setxattr(path, "security.ima", value, value.length, 0) === 0;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: "spki", format: "pem" }).toString();
}
