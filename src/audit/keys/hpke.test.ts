import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { AEAD_AES_256_GCM, CipherSuite, KDF_HKDF_SHA256, KEM_DHKEM_X25519_HKDF_SHA256 } from "hpke";
import { openSealed, sealFor } from "./hpke.ts";
import { publicKeyOf, rawPublicOf, takePrivateKey } from "./raw.ts";

interface Vector {
  readonly mode: number;
  readonly kem_id: number;
  readonly kdf_id: number;
  readonly aead_id: number;
  readonly info: string;
  readonly skRm: string;
  readonly skEm: string;
  readonly pkRm: string;
  readonly enc: string;
  readonly encryptions: readonly { readonly aad: string; readonly ct: string; readonly pt: string }[];
}

const VECTORS = join(
  import.meta.dirname,
  "../../../../shared/vectors/hpke-rfc9180/hpke/testdata/vectors_rfc9180_5f503c5.json.gz",
);
const random = { bytes: (length: number) => randomBytes(length) };
const bytes = (hex: string): Buffer => Buffer.from(hex, "hex");

test("the vectors of RFC 9180 for this suite hold, sealing and opening", (t) => {
  if (!existsSync(VECTORS)) return t.skip("the public vectors are not beside the project");
  const all = JSON.parse(gunzipSync(readFileSync(VECTORS)).toString("utf8")) as Vector[];
  const ours = all.filter(
    ({ mode, kem_id, kdf_id, aead_id }) => mode === 0 && kem_id === 32 && kdf_id === 1 && aead_id === 2,
  );
  assert.equal(ours.length, 1);
  for (const { info, skRm, skEm, pkRm, enc, encryptions } of ours) {
    const [first] = encryptions;
    assert.ok(first);
    const recipient = publicKeyOf("x25519", bytes(pkRm));
    const sealed = sealFor(recipient, bytes(info), bytes(first.aad), bytes(first.pt), { bytes: () => bytes(skEm) });
    assert.equal(sealed.encapsulated.toString("hex"), enc);
    assert.equal(sealed.sealed.toString("hex"), first.ct);
    const key = takePrivateKey("x25519", bytes(skRm));
    assert.equal(openSealed(key, sealed, bytes(info), bytes(first.aad))?.toString("hex"), first.pt);
  }
});

test("an implementation that is not ours opens what we seal, and we open what it seals", async () => {
  const suite = new CipherSuite(KEM_DHKEM_X25519_HKDF_SHA256, KDF_HKDF_SHA256, AEAD_AES_256_GCM);
  const info = Buffer.from("info");
  const aad = Buffer.from("aad");
  const seed = randomBytes(32);
  const theirs = await suite.GenerateKeyPair(true);
  const theirRaw = Buffer.from(await suite.SerializePublicKey(theirs.publicKey));
  const sealed = sealFor(publicKeyOf("x25519", theirRaw), info, aad, seed, random);
  const opened = await suite.Open(theirs.privateKey, sealed.encapsulated, sealed.sealed, { info, aad });
  assert.deepEqual(Buffer.from(opened), seed);

  const mine = generateKeyPairSync("x25519");
  const recipient = await suite.DeserializePublicKey(rawPublicOf("x25519", mine.publicKey));
  const { encapsulatedSecret, ciphertext } = await suite.Seal(recipient, seed, { info, aad });
  const back = openSealed(
    mine.privateKey,
    { encapsulated: Buffer.from(encapsulatedSecret), sealed: Buffer.from(ciphertext) },
    info,
    aad,
  );
  assert.deepEqual(back, seed);
});

test("another key, another info, another aad or one changed bit opens nothing", () => {
  const mine = generateKeyPairSync("x25519");
  const other = generateKeyPairSync("x25519");
  const info = Buffer.from("info");
  const aad = Buffer.from("aad");
  const sealed = sealFor(mine.publicKey, info, aad, Buffer.alloc(32, 5), random);
  assert.ok(openSealed(mine.privateKey, sealed, info, aad));
  assert.equal(openSealed(other.privateKey, sealed, info, aad), undefined);
  assert.equal(openSealed(mine.privateKey, sealed, Buffer.from("x"), aad), undefined);
  assert.equal(openSealed(mine.privateKey, sealed, info, Buffer.from("x")), undefined);
  for (const part of ["encapsulated", "sealed"] as const) {
    const changed = { ...sealed, [part]: Buffer.from(sealed[part]) };
    changed[part].writeUInt8(changed[part].readUInt8(3) ^ 1, 3);
    assert.equal(openSealed(mine.privateKey, changed, info, aad), undefined);
  }
  assert.equal(openSealed(mine.privateKey, { ...sealed, sealed: Buffer.alloc(3) }, info, aad), undefined);
  assert.equal(openSealed(mine.privateKey, { ...sealed, encapsulated: Buffer.alloc(32) }, info, aad), undefined);
});

test("a private key that was taken is wiped where it came from", () => {
  const raw = randomBytes(32);
  const key = takePrivateKey("x25519", raw);
  assert.ok(raw.every((byte) => byte === 0));
  assert.equal(rawPublicOf("x25519", key).length, 32);
  assert.throws(() => rawPublicOf("ed25519", createPublicKey(key)));
});
