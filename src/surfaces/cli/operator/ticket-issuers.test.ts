import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../../kernel/failure.ts";
import { encodeSshPublicKey } from "../../../kernel/ssh-key.ts";
import { rawPublicOf } from "../../../vault/keys.ts";
import { readIssuerKey } from "./ticket-issuers.ts";

const folder = mkdtempSync(join(tmpdir(), "gw-"));
after(() => rmSync(folder, { recursive: true }));
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const raw = rawPublicOf(publicKey);
const pem = publicKey.export({ format: "pem", type: "spki" }).toString();
const line = `ssh-ed25519 ${encodeSshPublicKey(publicKey)?.toString("base64")}`;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey;

function fileOf(content: string | Buffer): string {
  const path = join(folder, `key-${Math.abs(content.length)}-${content.slice(0, 4).toString().replaceAll(/\W/g, "")}`);
  writeFileSync(path, content);
  return path;
}

const refused = (error: unknown): boolean => error instanceof Denied && error.code === "ticket_issuer_invalid";

test("an issuer's key is one key, whichever of its three forms is given, as a file or in place", () => {
  for (const form of [pem, line, `${line} desk@tickets.example`, raw.toString("base64url")]) {
    assert.deepEqual(readIssuerKey(form), raw, form);
    assert.deepEqual(readIssuerKey(fileOf(`${form}\n`)), raw, form);
  }
});

test("a private key, another kind of key, a folder, a missing or an endless file is no issuer's key", () => {
  const bad: readonly string[] = [
    privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    fileOf(privateKey.export({ format: "pem", type: "pkcs8" })),
    fileOf(rsa.export({ format: "pem", type: "spki" })),
    generateKeyPairSync("x25519").publicKey.export({ format: "pem", type: "spki" }).toString(),
    `ssh-rsa ${encodeSshPublicKey(rsa)?.toString("base64")}`,
    line.replace("ssh-ed25519 AAAA", "ssh-ed25519 BBBB"),
    fileOf(raw.subarray(1)),
    fileOf(`${raw.toString("base64url").slice(0, -1)}`),
    folder,
    join(folder, "nowhere"),
    "/dev/zero",
    "",
  ];
  for (const given of bad) assert.throws(() => readIssuerKey(given), refused, given.slice(0, 60));
});

test("whatever a file holds is a key of 32 bytes or refused with the same code", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const path = join(folder, "any");
      writeFileSync(path, bytes);
      try {
        assert.equal(readIssuerKey(path).length, 32);
      } catch (error) {
        assert.ok(refused(error));
      }
    }),
    { numRuns: 100 },
  );
});
