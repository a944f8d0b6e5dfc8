import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { Denied } from "../../kernel/failure.ts";
import { Secret } from "../../kernel/secret.ts";
import { encodeSshPublicKey, readSshPublicLine, verifySsh } from "../../kernel/ssh-key.ts";
import { readSsh, sshString, sshU32 } from "../../kernel/ssh-wire.ts";
import { addCredential } from "../credential.ts";
import { openService } from "../lend.ts";
import { founding, HOST_KEY, ports, refuses, refusesLater, secret } from "../testing/fixture.ts";
import { bcryptPbkdf } from "./bcrypt-pbkdf.ts";
import { freshBlowfish } from "./blowfish.ts";
import { importSshKey } from "./import-key.ts";

interface Made {
  readonly file: Buffer;
  readonly line: string;
}

/** Files that ssh-keygen wrote once, so that the tests need neither the program nor an account to run it under. */
const stored = JSON.parse(readFileSync(join(import.meta.dirname, "../testing/ssh-keys.json"), "utf8")) as {
  readonly keys: Readonly<Record<string, { readonly file: string; readonly line: string }>>;
};
const PHRASE = "phrase of the key";

function made(name: string): Made {
  const key = stored.keys[name];
  assert.ok(key, name);
  return { file: Buffer.from(key.file), line: key.line };
}

const take = (file: Buffer) => Secret.take(Buffer.from(file));
const armoured = (bytes: Buffer) =>
  Buffer.from(`-----BEGIN OPENSSH PRIVATE KEY-----\n${bytes.toString("base64")}\n-----END OPENSSH PRIVATE KEY-----\n`);
const unarmoured = (file: Buffer) => Buffer.from(file.toString("latin1").replace(/-----[^-]+-----/g, ""), "base64");

test("the tables of Blowfish are the fraction of pi", () => {
  const { p, s } = freshBlowfish();
  const hex = (word: number | undefined) => (word ?? 0).toString(16).padStart(8, "0");
  // 3.243f6a8885a308d3… in hex, and the published last words of each table.
  assert.deepEqual([...p.slice(0, 4)].map(hex), ["243f6a88", "85a308d3", "13198a2e", "03707344"]);
  assert.equal(hex(p[17]), "8979fb1b");
  assert.deepEqual(
    [hex(s[0]), hex(s[255]), hex(s[256]), hex(s[1023])],
    ["d1310ba6", "6e85076a", "4b7a70e9", "3ac372e6"],
  );
});

test("bcrypt-pbkdf is a function of each of its inputs", () => {
  const key = (phrase: string, salt: number, rounds: number, length: number) =>
    bcryptPbkdf(Buffer.from(phrase), Buffer.alloc(16, salt), rounds, length).toString("hex");
  const base = key("a", 1, 2, 48);
  assert.equal(key("a", 1, 2, 48), base);
  for (const other of [key("b", 1, 2, 48), key("a", 2, 2, 48), key("a", 1, 3, 48)]) assert.notEqual(other, base);
  assert.equal(key("a", 1, 2, 80).length, 160);
});

for (const kind of ["ed25519", "p256", "p384", "p521", "rsa"]) {
  test(`an OpenSSH ${kind} key is imported, its public half is the file's, and it signs`, async () => {
    const key = made(kind);
    const imported = await importSshKey(take(key.file), undefined);
    assert.equal(imported.publicKey, key.line);
    const { vault, operator } = await founding();
    const given = {
      label: "host",
      kind: "ssh",
      boundTo: [`${HOST_KEY} a comment`],
      eachUse: false,
      secret: take(key.file),
    } as const;
    const service = openService(await addCredential(vault, operator, given, ports), operator.serviceKey);
    const signer = service.lendSshSigner("host", HOST_KEY);
    const publicKey = readSshPublicLine(key.line);
    assert.ok(publicKey !== undefined && signer.publicKeyBlob.equals(publicKey.blob));
    const data = Buffer.from("session");
    for (const flags of kind === "rsa" ? [2, 4] : [0]) assert.ok(verifySsh(publicKey, data, signer.sign(data, flags)));
    if (kind === "rsa") refuses(() => signer.sign(data, 0), "ssh_signature_refused");
    signer.release();
    assert.throws(() => signer.sign(data, 0));
    refuses(() => service.lendSshSigner("host", made("ed25519").line), "credential_not_bound");
    refuses(() => service.lendHttp("host", HOST_KEY), "credential_not_bound");
  });
}

const ciphers = ["aes256-ctr", "aes256-cbc", "aes128-ctr", "aes256-gcm@openssh.com", "chacha20-poly1305@openssh.com"];
for (const cipher of ciphers) {
  test(`a key that ssh-keygen encrypted with ${cipher} opens with its passphrase alone`, async () => {
    const key = made(cipher);
    assert.equal((await importSshKey(take(key.file), secret(PHRASE))).publicKey, key.line);
    await refusesLater(importSshKey(take(key.file), undefined), "ssh_key_passphrase_needed");
    // All that have no tag of their own are told by the same two numbers.
    if (cipher !== ciphers[0] && !cipher.includes("@")) return;
    await refusesLater(importSshKey(take(key.file), secret("phrase of another")), "ssh_key_passphrase_wrong");
  });
}

for (const kind of ["ed25519", "p256", "rsa"]) {
  test(`a PKCS8 ${kind} key is imported, plain and encrypted`, async () => {
    const { privateKey } =
      kind === "ed25519"
        ? generateKeyPairSync("ed25519")
        : kind === "rsa"
          ? generateKeyPairSync("rsa", { modulusLength: 2_048 })
          : generateKeyPairSync("ec", { namedCurve: "P-256" });
    const expected = encodeSshPublicKey(createPublicKey(privateKey))?.toString("base64");
    const open = Buffer.from(privateKey.export({ format: "pem", type: "pkcs8" }));
    const locked = Buffer.from(
      privateKey.export({ format: "pem", type: "pkcs8", cipher: "aes-256-cbc", passphrase: PHRASE }),
    );
    assert.equal((await importSshKey(take(open), undefined)).publicKey.split(" ")[1], expected);
    assert.equal((await importSshKey(take(locked), secret(PHRASE))).publicKey.split(" ")[1], expected);
    await refusesLater(importSshKey(take(locked), secret("another")), "ssh_key_passphrase_wrong");
    await refusesLater(importSshKey(take(locked), undefined), "ssh_key_passphrase_needed");
  });
}

test("an RSA key below 2048 bits is too weak", async () => {
  await refusesLater(importSshKey(take(made("weak").file), undefined), "ssh_key_weak");
});

test("keys of kinds that SSH hosts do not take are refused", async () => {
  for (const { privateKey } of [
    generateKeyPairSync("x25519"),
    generateKeyPairSync("ed448"),
    generateKeyPairSync("ec", { namedCurve: "secp256k1" }),
  ]) {
    const pem = Buffer.from(privateKey.export({ format: "pem", type: "pkcs8" }));
    await refusesLater(importSshKey(take(pem), undefined), "ssh_key_unsupported");
  }
});

test("a public key, a certificate or plain text is no private key", async () => {
  for (const text of [
    made("ed25519").line,
    "hello",
    "",
    "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
  ]) {
    await refusesLater(importSshKey(secret(text), undefined), "ssh_key_malformed");
  }
});

test("a file whose public half is another key's is refused", async () => {
  const [mine, other] = [unarmoured(made("ed25519").file), unarmoured(made("other").file)];
  const blob = (bytes: Buffer) =>
    readSsh(bytes.subarray(15), (reader) => {
      const [cipher, kdf, options, count] = [reader.string(), reader.string(), reader.string(), reader.u32()];
      return { cipher, kdf, options, count, publicBlob: reader.string(), section: reader.string() };
    });
  const [left, right] = [blob(mine), blob(other)];
  assert.ok(left !== undefined && right !== undefined);
  const mixed = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    sshString(left.cipher),
    sshString(left.kdf),
    sshString(left.options),
    sshU32(1),
    sshString(right.publicBlob),
    sshString(left.section),
  ]);
  await refusesLater(importSshKey(take(armoured(mixed)), undefined), "ssh_key_mismatch");
});

test("a derivation with absurd rounds is refused before it starts", async () => {
  const options = Buffer.concat([sshString(Buffer.alloc(16)), sshU32(0xffffffff)]);
  const bytes = Buffer.concat([
    Buffer.from("openssh-key-v1\0"),
    sshString("aes256-ctr"),
    sshString("bcrypt"),
    sshString(options),
    sshU32(1),
    sshString("x"),
    sshString(Buffer.alloc(64)),
  ]);
  await refusesLater(importSshKey(take(armoured(bytes)), secret(PHRASE)), "ssh_key_unsupported");
});

test("a key file cut short, or with any byte changed, is the same key or a refusal", async () => {
  const { file, line } = made("p256");
  const bytes = unarmoured(file);
  for (let length = 0; length < bytes.length; length += 3) {
    await assert.rejects(importSshKey(take(armoured(bytes.subarray(0, length))), undefined), Denied);
  }
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: bytes.length - 1 }), fc.integer({ min: 1, max: 255 }), async (at, mask) => {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ mask, at);
      try {
        assert.equal((await importSshKey(take(armoured(changed)), undefined)).publicKey, line);
      } catch (error) {
        assert.ok(error instanceof Denied, String(error));
      }
    }),
    { numRuns: 250 },
  );
});

test("an imported RSA key with one changed private number does not pass its own signature", async () => {
  const { file } = made("rsa");
  const bytes = unarmoured(file);
  let refused = 0;
  for (let at = bytes.length - 700; at < bytes.length - 20; at += 40) {
    const changed = Buffer.from(bytes);
    changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
    await importSshKey(take(armoured(changed)), undefined).catch((error) => {
      assert.ok(error instanceof Denied, String(error));
      refused++;
    });
  }
  assert.ok(refused > 0);
});
