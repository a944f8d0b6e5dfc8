import assert from "node:assert/strict";
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Denied } from "../../../kernel/failure.ts";
import { readImaKeyFile } from "./trust.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));
const spkiOf = (key: KeyObject): Buffer => key.export({ format: "der", type: "spki" });
let files = 0;

function fileOf(content: string | Buffer): string {
  const path = join(folder, `key${files++}`);
  writeFileSync(path, content);
  return path;
}

test("an IMA key is kept in one form, whether it came as PEM or DER", () => {
  for (const { publicKey } of [
    generateKeyPairSync("rsa", { modulusLength: 2048 }),
    generateKeyPairSync("ec", { namedCurve: "P-256" }),
    generateKeyPairSync("ec", { namedCurve: "P-521" }),
  ]) {
    assert.deepEqual(readImaKeyFile(fileOf(spkiOf(publicKey))), spkiOf(publicKey));
    assert.deepEqual(readImaKeyFile(fileOf(publicKey.export({ format: "pem", type: "spki" }))), spkiOf(publicKey));
  }
});

test("a private key, a weak key, a key of another kind and a file that is none are refused", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
  for (const path of [
    fileOf(rsa.privateKey.export({ format: "pem", type: "pkcs8" })),
    fileOf(spkiOf(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey)),
    fileOf(spkiOf(generateKeyPairSync("ed25519").publicKey)),
    fileOf(spkiOf(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey)),
    fileOf(Buffer.alloc(20_000)),
    fileOf(""),
    folder,
    "/dev/zero",
    join(folder, "nowhere"),
  ]) {
    assert.throws(
      () => readImaKeyFile(path),
      (error) => error instanceof Denied && error.code === "caller_signer_invalid",
      path,
    );
  }
});
