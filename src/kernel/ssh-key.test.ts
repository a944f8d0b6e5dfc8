import assert from "node:assert/strict";
import { createPrivateKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  chooseSshAlgorithm,
  decodeSshPublicKey,
  encodeSshPublicKey,
  readSshPublicLine,
  signSsh,
  sshFingerprint,
  verifySsh,
  writeSshPublicLine,
} from "./ssh-key.ts";
import { readSsh, sshMpint, sshString, sshU32 } from "./ssh-wire.ts";

interface Sample {
  readonly name: string;
  readonly key: KeyObject;
  readonly flags: readonly number[];
}

const samples: readonly Sample[] = [
  { name: "Ed25519", key: generateKeyPairSync("ed25519").privateKey, flags: [0] },
  { name: "P-256", key: generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey, flags: [0] },
  { name: "P-384", key: generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey, flags: [0] },
  { name: "P-521", key: generateKeyPairSync("ec", { namedCurve: "P-521" }).privateKey, flags: [0] },
  { name: "RSA", key: generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey, flags: [2, 4] },
];

function publicOf(key: KeyObject) {
  const blob = encodeSshPublicKey(key);
  assert.ok(blob);
  const decoded = decodeSshPublicKey(blob);
  assert.ok(decoded);
  return decoded;
}

for (const { name, key, flags } of samples) {
  test(`${name}: what the key signs verifies under its wire form, and nothing else does`, () => {
    const data = Buffer.from("session");
    const publicKey = publicOf(key);
    for (const flag of flags) {
      const signature = signSsh(key, data, flag);
      assert.ok(signature);
      assert.equal(verifySsh(publicKey, data, signature), true);
      assert.equal(verifySsh(publicKey, Buffer.from("sessioN"), signature), false);
      for (const other of samples) {
        if (other.key !== key) assert.equal(verifySsh(publicOf(other.key), data, signature), false);
      }
      for (let at = 0; at < signature.length; at += 3) {
        const bent: Buffer = Buffer.from(signature);
        bent[at] = (bent[at] ?? 0) ^ 1;
        assert.equal(verifySsh(publicKey, data, bent), false, `byte ${at}`);
      }
    }
  });

  test(`${name}: the public line reads back`, () => {
    const publicKey = publicOf(key);
    const line = writeSshPublicLine(publicKey);
    assert.deepEqual(readSshPublicLine(`${line} somebody@somewhere`)?.blob, publicKey.blob);
    assert.match(sshFingerprint(publicKey.blob), /^SHA256:[A-Za-z0-9+/]{43}$/);
  });
}

test("a SHA-1 signature and foreign flags have no algorithm", () => {
  assert.equal(chooseSshAlgorithm("ssh-rsa", 0), undefined);
  assert.equal(chooseSshAlgorithm("ssh-rsa", 1), undefined);
  assert.equal(chooseSshAlgorithm("ssh-rsa", 6), undefined);
  assert.equal(chooseSshAlgorithm("ssh-ed25519", 4), undefined);
});

test("a key of another kind or a small RSA key has no wire form here", () => {
  assert.equal(encodeSshPublicKey(generateKeyPairSync("x25519").publicKey), undefined);
  const small = encodeSshPublicKey(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey);
  assert.ok(small);
  assert.equal(decodeSshPublicKey(small), undefined);
});

test("a line whose type, base64 or point is not what it says is refused", () => {
  const ed = publicOf(createPrivateKey(samples[0]?.key.export({ type: "pkcs8", format: "pem" }) ?? ""));
  const base64 = ed.blob.toString("base64");
  assert.equal(readSshPublicLine(`ssh-rsa ${base64}`), undefined);
  assert.equal(readSshPublicLine(`ssh-ed25519 ${base64}=`), undefined);
  assert.equal(readSshPublicLine(`ssh-ed25519 ${base64.slice(0, -8)}`), undefined);
  assert.equal(readSshPublicLine("ssh-ed25519"), undefined);
  const off = Buffer.concat([Buffer.of(4), Buffer.alloc(64, 7)]);
  const blob = Buffer.concat([sshString("ecdsa-sha2-nistp256"), sshString("nistp256"), sshString(off)]);
  assert.equal(decodeSshPublicKey(blob), undefined);
});

test("reading is total: no bytes make a reader throw or pass the end", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      decodeSshPublicKey(Buffer.from(bytes));
      const text = readSsh(Buffer.from(bytes), (reader) => reader.string());
      if (text !== undefined) assert.equal(text.length, bytes.length - 4);
    }),
  );
});

test("integers keep their value and have one form", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 1n << 300n }), (value) => {
      const hex = value.toString(16);
      const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
      const read = readSsh(sshMpint(Buffer.concat([Buffer.alloc(3), bytes])), (reader) => reader.mpint());
      assert.equal(BigInt(`0x${read?.toString("hex") ?? ""}`), value);
    }),
  );
  assert.equal(
    readSsh(sshString(Buffer.of(0, 1)), (reader) => reader.mpint()),
    undefined,
  );
  assert.equal(
    readSsh(sshString(Buffer.of(0x80)), (reader) => reader.mpint()),
    undefined,
  );
  assert.equal(
    readSsh(Buffer.concat([sshU32(1), Buffer.of(7)]), (reader) => reader.text()),
    undefined,
  );
});
