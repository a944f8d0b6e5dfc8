import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { isSignedBy, rawPublicOf, signBytes } from "./raw.ts";

test("of many signers each is known by its own bytes, however often and in whatever order they are asked about", () => {
  const message = Buffer.from("what is signed");
  const signers = Array.from({ length: 40 }, () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    return { raw: rawPublicOf("ed25519", publicKey), signature: signBytes(privateKey, message) };
  });
  for (let round = 0; round < 2; round++) {
    for (const [at, { raw, signature }] of signers.entries()) {
      assert.equal(isSignedBy(raw, message, signature), true);
      assert.equal(isSignedBy(raw, message, signers[(at + 1) % signers.length]?.signature ?? signature), false);
      assert.equal(isSignedBy(raw, Buffer.from("another"), signature), false);
    }
  }
});

test("bytes that change after they were asked about are another key, and bytes that are none sign nothing", () => {
  const message = Buffer.from("what is signed");
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = rawPublicOf("ed25519", publicKey);
  const signature = signBytes(privateKey, message);
  assert.equal(isSignedBy(raw, message, signature), true);
  raw[0] = (raw[0] ?? 0) ^ 1;
  assert.equal(isSignedBy(raw, message, signature), false);
  assert.equal(isSignedBy(Buffer.alloc(7), message, signature), false);
});
